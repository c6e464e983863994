"""The sessions that there are: what lies on disk beside what the agent lists, one line for each id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

import anyio
from anyio.lowlevel import checkpoint

from ..acp.messages import SessionInfo
from ..chat import Chat
from ..chat.retry import Retry
from ..config import Settings
from ..errors import AgentStartFailed, CopilotError, UsageError
from ..store.places import Stored
from ..store.summary import summary

LAST = "last"
MOST_NAMED = 5

DISK, AGENT = "disk", "agent"


@dataclass(frozen=True, slots=True)
class Shelved:
    """One session. `updated` in seconds since the epoch, 0 if nobody tells; without a `log`, only the agent has it."""

    id: str
    title: str = ""
    cwd: str = ""
    updated: float = 0.0
    sources: tuple[str, ...] = ()
    log: Stored | None = None


def merged(logs: Iterable[Stored], infos: Iterable[SessionInfo]) -> list[Shelved]:
    """By id, the one that was used last first; the agent's own words for title and folder."""
    found = {log.id: _from_disk(log) for log in logs}
    for info in infos:
        known = found.get(info.id, Shelved(info.id))
        found[info.id] = replace(
            known,
            title=info.title or known.title,
            cwd=info.cwd or known.cwd,
            updated=max(_seconds(info.updated_at), known.updated),
            sources=(*known.sources, AGENT),
        )
    return sorted(found.values(), key=lambda one: (-one.updated, one.id))


def found(sessions: Sequence[Shelved], typed: str, looked_in: str) -> Shelved:
    """The session whose id begins with `typed`; `last` is the one used last. Raises UsageError."""
    if not sessions:
        raise UsageError("There are no sessions.", looked_in)
    if typed == LAST:
        return sessions[0]
    exact = [one for one in sessions if one.id == typed]
    matching = exact or [one for one in sessions if one.id.startswith(typed)]
    if len(matching) > 1:
        raise UsageError(f"{len(matching)} sessions begin with {typed}:", _named(one.id for one in matching))
    if not matching:
        raise UsageError(f"There is no session {typed}.", _nearest(typed, sessions, looked_in))
    return matching[0]


def is_here(session: Shelved, folder: str) -> bool:
    """Whether it worked in this folder; an agent that was asked for those of a folder need not tell it."""
    if not session.cwd:
        return AGENT in session.sources
    return os.path.realpath(session.cwd) == os.path.realpath(folder)


def at_once() -> Retry:
    """Trying again without pauses: somebody sits before the terminal, and a log may do as well."""

    async def no_pause(seconds: float) -> None:
        await checkpoint()

    return Retry(sleep=no_pause)


async def listed(settings: Settings, here: bool) -> tuple[SessionInfo, ...] | CopilotError:
    """What the agent lists, within the time that it may take to start; the error as a value."""
    outcome: tuple[SessionInfo, ...] | CopilotError
    outcome = AgentStartFailed(f"The agent did not list its sessions within {settings.start_timeout:g} s.")
    with anyio.move_on_after(settings.start_timeout):
        async with Chat(settings, retry=at_once()) as chat:
            try:
                outcome = await chat.sessions(here)
            except CopilotError as error:
                outcome = error  # not raised here: a task group would wrap it in a group
    return outcome


def where(places: Iterable[Path]) -> str:
    """A line that says where logs were looked for."""
    return f"Looked in {', '.join(map(str, places))}"


def _from_disk(log: Stored) -> Shelved:
    told = summary(log.path)
    return Shelved(log.id, told.title, told.cwd, log.modified, (DISK,), log)


def _nearest(typed: str, sessions: Sequence[Shelved], looked_in: str) -> str:
    """Ids are too long to be mistyped as a whole: the beginnings are compared."""
    beginnings = {one.id[: max(len(typed), 4)]: one.id for one in reversed(sessions)}
    near = [beginnings[begin] for begin in get_close_matches(typed, beginnings, n=MOST_NAMED, cutoff=0.5)]
    if near:
        return f"Did you mean one of these?\n{_named(near)}"
    return f"The last ones are:\n{_named(one.id for one in sessions[:MOST_NAMED])}\n{looked_in}"


def _named(ids: Iterable[str]) -> str:
    names = [*ids]
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return "\n".join(f"  {name}" for name in [*names[:MOST_NAMED], *more])


def _seconds(text: str) -> float:
    with suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return 0.0
