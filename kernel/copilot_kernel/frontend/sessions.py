"""Sessions that the agent keeps, named by the beginnings of their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..acp.messages import SessionInfo
from ..errors import UsageError

SHORTEST = 8
"""Characters of an id that are shown, if they tell it from the others."""
LAST = "last"

_LISTS = "%sessions lists those of this folder, %sessions all lists all."


def short_ids(sessions: Iterable[SessionInfo]) -> dict[str, str]:
    """The beginning of each id, long enough to tell them apart."""
    ids = {session.id for session in sessions}
    length = SHORTEST
    while len({id[:length] for id in ids}) < len(ids):
        length += 1
    return {id: id[:length] for id in ids}


def newest_first(sessions: Iterable[SessionInfo]) -> tuple[SessionInfo, ...]:
    """By their time, as far as the agent tells it."""
    return tuple(sorted(sessions, key=lambda session: session.updated_at, reverse=True))


def find_session(sessions: Sequence[SessionInfo], typed: str, current: str = "") -> SessionInfo:
    """The session whose id begins with what was typed; `last` is the one used last beside `current`. UsageError."""
    if typed == LAST:
        return _last([session for session in sessions if session.id != current])
    found = [session for session in sessions if session.id == typed]
    found = found or [session for session in sessions if session.id.startswith(typed)]
    if len(found) > 1:
        raise UsageError(f"{len(found)} sessions begin with {typed}.", f"Type more of the ID. {_LISTS}")
    if not found:
        raise UsageError(f"There is no session {typed}.", _LISTS)
    return found[0]


def _last(sessions: Sequence[SessionInfo]) -> SessionInfo:
    if not sessions:
        raise UsageError("There is no earlier session in this folder.", _LISTS)
    return newest_first(sessions)[0]
