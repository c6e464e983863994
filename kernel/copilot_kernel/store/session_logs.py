"""The sessions that Copilot CLI keeps on disk: where their logs are, what is in one, and a summary from its beginning.

A log is `session-state/{id}/events.jsonl`. Copilot imports logs of the layout before this one when it resumes them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..acp.lenient import as_dict, as_str, load
from ..acp.messages import Json
from ..environment import HOME, Environment
from ..errors import CopilotError

FOLDER = "session-state"
LOG = "events.jsonl"
START, PROMPT = "session.start", "user.message"
DAMAGED = "damaged"
"""The type of the event that takes the place of a line that cannot be read."""
_MAX_HEAD_EVENTS = 20


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One session's event log; `modified` in seconds since the epoch, `size` in bytes."""

    id: str
    path: Path
    modified: float
    size: int


def folders(environment: Environment, config_dir: str = "") -> tuple[Path, ...]:
    """Return folders that may hold sessions: the given one; else several, as not all versions obey XDG."""
    environ = environment.variables()
    if given := config_dir or environ.get("COPILOT_HOME", ""):
        return (Path(environment.expanded(given), FOLDER),)
    homes = (environ.get("XDG_STATE_HOME"), environ[HOME])
    return tuple(Path(home, ".copilot", FOLDER) for home in homes if home)


def stored(places: Iterable[Path]) -> list[StoredSession]:
    """Every session in these folders, the latest first; of two logs of one id, the newer one."""
    logs = sorted((log for place in places for log in _logs(place)), key=lambda log: log.modified)
    found = {log.id: log for log in logs}
    return sorted(found.values(), key=lambda log: (-log.modified, log.id))


def _logs(place: Path) -> Iterator[StoredSession]:
    """Regular files only: opening anything else might block."""
    for path in place.glob(f"[!.]*/{LOG}"):
        with suppress(OSError):
            if path.is_file():
                status = path.stat()
                yield StoredSession(path.parent.name, path, status.st_mtime, status.st_size)


# -- events -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One line of a log. `agent` is set for a sub-agent's event."""

    type: str
    data: Json
    agent: str = ""
    time: str = ""


def events(path: Path) -> Generator[LogEvent, None, None]:
    """The events of a log, in order. Raises CopilotError."""
    try:
        with path.open("rb") as lines:
            for line in lines:
                if line.strip():
                    yield _event(line)
    except OSError as error:
        raise CopilotError(f"The log {path} cannot be read: {error.strerror or error}") from error


def _event(line: bytes) -> LogEvent:
    try:
        raw = as_dict(load(line))
    except (ValueError, RecursionError):
        raw = {}
    kind, data = raw.get("type"), raw.get("data")
    if not isinstance(kind, str) or not isinstance(data, dict):
        return LogEvent(DAMAGED, {})
    return LogEvent(kind, data, as_str(raw.get("agentId")), as_str(raw.get("timestamp")))


# -- summaries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """`cwd` is the folder that the session worked in, `title` the first line of its first prompt."""

    cwd: str = ""
    title: str = ""


def summary(path: Path) -> SessionSummary:
    """Summarize the log at `path` without reading all of it; empty if nothing can be read."""
    cwd = ""
    with suppress(CopilotError), closing(events(path)) as found:
        for event in islice(found, _MAX_HEAD_EVENTS):
            if event.type == START:
                cwd = as_str(as_dict(event.data.get("context")).get("cwd"))
            elif event.type == PROMPT:
                return SessionSummary(cwd, as_str(event.data.get("content")).strip().partition("\n")[0].strip())
    return SessionSummary(cwd)
