"""`copilot-kernel sessions`, and the index of sessions behind it: those on disk, and those that the agent lists."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import anyio

from ..acp.messages import SessionInfo
from ..chat import Chat, open_chat
from ..chat.retry import Retry
from ..config import Settings
from ..config_reader import load_settings
from ..errors import AgentStartFailed, CopilotError, UsageError
from ..rendering.plain import clean, one_line, visible_line
from ..rendering.report import Report, render_report
from ..store.session_logs import LOG, StoredSession, folders, stored, summary
from .error_text import FAILED

MAX_TITLE_CHARS, MAX_FOLDER_CHARS = 60, 40
AMBIGUOUS = "{} session ids begin with {}."
LISTED = "`copilot-kernel sessions` lists all sessions."
HEAD = ("ID", "Last used", "Where", "Folder", "Title")
DISK, AGENT = "disk", "agent"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IndexedSession:
    """A session. `updated` is in seconds since the epoch, 0 if unknown; without a `log`, only the agent has it."""

    id: str
    title: str = ""
    cwd: str = ""
    updated: float = 0.0
    sources: tuple[str, ...] = ()
    log: StoredSession | None = None


def run(arguments: argparse.Namespace) -> int:
    """List the sessions; 1 if there is no store and the agent could not be asked."""
    settings = settings_with(arguments.agent)
    places = folders(settings.environment, arguments.config_dir)
    sessions, problem = session_index(stored(places), settings, ask=not arguments.offline, here=arguments.here)
    if arguments.here:
        sessions = [session for session in sessions if _is_in(session, settings.folder)]
    if arguments.json:
        print(json.dumps({"sessions": [*map(_json, sessions)], "looked_in": [*map(str, places)], "problem": problem}))
    else:
        _show(sessions, problem, places)
    return FAILED if problem and not any(map(Path.is_dir, places)) else 0


def settings_with(agent: str | None) -> Settings:
    """The settings, with `agent` instead of theirs if it is given."""
    settings = load_settings()
    return settings if agent is None else replace(settings, agent=agent.strip())


# -- the index ------------------------------------------------------------------------------------------------------


def session_index(
    logs: Iterable[StoredSession], settings: Settings, *, ask: bool, here: bool = False
) -> tuple[list[IndexedSession], str]:
    """The sessions, the most recently used first, and why the agent could not list its own, if it was to.

    The agent's title and folder take precedence. `ask`: list those of the agent, too; `here`: only of its folder.
    """
    found = {log.id: _from_disk(log) for log in logs}
    problem = ""
    try:
        infos = _listed(settings, here) if ask else ()
    except CopilotError as error:
        infos, problem = (), f"The agent could not list its sessions: {error}"
    for info in infos:
        known = found.get(info.id, IndexedSession(info.id))
        found[info.id] = replace(
            known,
            title=info.title or known.title,
            cwd=info.cwd or known.cwd,
            updated=max(_seconds(info.updated_at), known.updated),
            sources=(*known.sources, AGENT),
        )
    return sorted(found.values(), key=lambda session: (-session.updated, session.id)), problem


def find_session(sessions: Sequence[IndexedSession], typed: str, looked_in: str) -> IndexedSession:
    """The session whose id begins with `typed`, or the most recently used for `last`. Raises UsageError."""
    if not sessions:
        raise UsageError("No sessions found.", looked_in)
    if typed == "last":
        return sessions[0]
    exact = [session for session in sessions if session.id == typed]
    matching = exact or [session for session in sessions if session.id.startswith(typed)]
    if len(matching) > 1:
        raise UsageError(AMBIGUOUS.format(len(matching), typed), LISTED)
    if not matching:
        raise UsageError(f"Unknown session {typed}.", f"{LISTED} {looked_in}")
    return matching[0]


def where(places: Iterable[Path]) -> str:
    """A line that says where logs were looked for."""
    return f"Looked for {', '.join(str(place / '*' / LOG) for place in places)}"


def _from_disk(log: StoredSession) -> IndexedSession:
    head = summary(log.path)
    return IndexedSession(log.id, head.title, head.cwd, log.modified, (DISK,), log)


def _is_in(session: IndexedSession, folder: str) -> bool:
    """Return True if a session worked in this folder; an agent asked for those of a folder need not name it."""
    if not session.cwd:
        return AGENT in session.sources
    return os.path.realpath(session.cwd) == os.path.realpath(folder)


def _seconds(text: str) -> float:
    with suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return 0.0


# -- asking the agent -----------------------------------------------------------------------------------------------


def _listed(settings: Settings, here: bool) -> tuple[SessionInfo, ...]:
    late = f"it did not answer within {settings.start_timeout:g} s"
    return with_chat(settings, settings.start_timeout, late, lambda chat: chat.sessions(here))


def with_chat(settings: Settings, seconds: float, late: str, use: Callable[[Chat], Awaitable[T]]) -> T:
    """Start an agent of our own, return what `use` returns, and end it. Nothing is tried again.

    Raises CopilotError; AgentStartFailed with the text `late` after `seconds`.
    """

    # What is typed in a shell is the user's, and so is its environment.
    settings = replace(settings, agent_sharing="off", widened={})

    async def outcome() -> T:
        with anyio.move_on_after(seconds):
            async with open_chat(settings, retry=Retry(max_attempts=1)) as chat:
                return await use(chat)
        raise AgentStartFailed(late)

    return anyio.run(outcome)


# -- output ---------------------------------------------------------------------------------------------------------


def _show(sessions: Sequence[IndexedSession], problem: str, places: Sequence[Path]) -> None:
    if problem:
        print(clean(f"copilot-kernel: {problem}"), file=sys.stderr)
    if not sessions:
        print(clean(f"No sessions. {where(places)}"), file=sys.stderr)
        return
    print(render_report(Report("", HEAD, tuple(map(_row, sessions))))["text/plain"])


def _row(session: IndexedSession) -> tuple[str, ...]:
    at = datetime.fromtimestamp(session.updated).strftime("%Y-%m-%d %H:%M") if session.updated else ""
    title, folder = visible_line(session.title) or "(no title)", visible_line(session.cwd)
    if len(title) > MAX_TITLE_CHARS:
        title = f"{title[: MAX_TITLE_CHARS - 1]}…"
    if len(folder) > MAX_FOLDER_CHARS:
        folder = f"…{folder[1 - MAX_FOLDER_CHARS :]}"
    return one_line(session.id), at, "+".join(session.sources), folder, title


def _json(session: IndexedSession) -> dict[str, Any]:
    at = datetime.fromtimestamp(session.updated, UTC).isoformat(timespec="seconds") if session.updated else ""
    return {
        "id": session.id,
        "title": session.title,
        "cwd": session.cwd,
        "updated": at,
        "sources": [*session.sources],
        "path": str(session.log.path) if session.log else "",
        "size": session.log.size if session.log else None,
    }
