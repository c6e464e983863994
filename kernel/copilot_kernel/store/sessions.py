"""The sessions that Copilot CLI keeps on disk: where their logs are, and a summary of each from its beginning.

Two layouts: `session-state/{id}/events.jsonl`, and before it `session-state/{id}.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..acp.lenient import as_dict, as_str
from ..errors import CopilotError
from .log import LogEvent, ReadStats, events

FOLDER = "session-state"
LOG = "events.jsonl"
NOTES = "workspace.yaml"
_MAX_HEAD_EVENTS = 20
_MAX_NOTES_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One session's event log; `modified` in seconds since the epoch, `size` in bytes."""

    id: str
    path: Path
    modified: float
    size: int


def folders(environ: Mapping[str, str], config_dir: str = "") -> tuple[Path, ...]:
    """Return folders that may hold sessions: the given one; else several, as not all versions obey XDG."""
    given = config_dir or environ.get("COPILOT_HOME", "")
    if given:
        return (Path(given).expanduser() / FOLDER,)
    homes = (environ.get("XDG_STATE_HOME"), environ.get("HOME") or Path.home())
    return tuple(Path(home, ".copilot", FOLDER) for home in homes if home)


def stored(places: Iterable[Path]) -> list[StoredSession]:
    """Every session in these folders, the latest first; of one id the newer layout, else the newer log."""
    logs = sorted(
        (log for place in places for log in _logs(place)), key=lambda log: (log.path.name == LOG, log.modified)
    )
    found = {log.id: log for log in logs}
    return sorted(found.values(), key=lambda log: (-log.modified, log.id))


def _logs(place: Path) -> Iterator[StoredSession]:
    """Regular files only: opening anything else might block."""
    with suppress(OSError):
        for entry in sorted(place.iterdir()):
            session, path = (entry.stem, entry) if entry.suffix == ".jsonl" else (entry.name, entry / LOG)
            with suppress(OSError):
                if path.is_file() and not entry.name.startswith("."):
                    status = path.stat()
                    yield StoredSession(session, path, status.st_mtime, status.st_size)


# -- summaries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """`cwd` is the folder that the session worked in; `title` is its name, or the first line of its first prompt."""

    cwd: str = ""
    title: str = ""


def summary(path: Path) -> SessionSummary:
    """Summarize the log at `path` without reading all of it; empty if nothing can be read."""
    head = list(_head(path))
    start = next((event.data for event in head if event.type == "session.start"), {})
    prompt = next((as_str(event.data.get("content")) for event in head if event.type == "user.message"), "")
    cwd = as_str(as_dict(start.get("context")).get("cwd")) or as_str(start.get("cwd"))
    name = _name(path.parent / NOTES) if path.parent.name == start.get("sessionId") else ""
    return SessionSummary(cwd, name or prompt.strip().partition("\n")[0].strip())


def _head(path: Path) -> Iterator[LogEvent]:
    """The events up to the first prompt."""
    found = events(path, ReadStats(), frozenset({"session.start", "user.message"}).__contains__)
    with suppress(CopilotError), closing(found):
        for event in islice(found, _MAX_HEAD_EVENTS):
            yield event
            if event.type == "user.message":
                return


def _name(path: Path) -> str:
    """`name` in the session's notes; the first line of a block."""
    try:
        with path.open("rb") as file:
            lines = iter(file.read(_MAX_NOTES_BYTES).decode("utf-8", "replace").splitlines())
    except OSError:
        return ""
    value = next((line.removeprefix("name:").strip() for line in lines if line.startswith("name:")), "")
    if value[:1] in ("|", ">"):
        value = next(lines, "").strip()
    return value.strip("\"'")
