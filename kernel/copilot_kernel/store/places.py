"""Where Copilot CLI keeps its sessions, and which ones are there.

Two layouts: `session-state/{id}/events.jsonl`, and before it `session-state/{id}.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = "session-state"
LOG = "events.jsonl"


@dataclass(frozen=True, slots=True)
class Stored:
    """One session's event log; `modified` in seconds since the epoch, `size` in bytes."""

    id: str
    path: Path
    modified: float
    size: int


def folders(environ: Mapping[str, str], config_dir: str = "") -> tuple[Path, ...]:
    """Where sessions may lie. A given folder is the only place; without one, versions differ in obeying XDG."""
    given = config_dir or environ.get("COPILOT_HOME", "")
    if given:
        return (Path(given).expanduser() / FOLDER,)
    homes = (Path(state) for state in [environ.get("XDG_STATE_HOME", "")] if state)
    return tuple(home / ".copilot" / FOLDER for home in (*homes, Path(environ.get("HOME") or Path.home())))


def stored(places: Iterable[Path]) -> list[Stored]:
    """Every session in `places`, the one that changed last first; of one id the newer layout, else the newer log."""
    found: dict[str, Stored] = {}
    for log in (log for place in places for log in _logs(place)):
        known = found.get(log.id)
        if known is None or _rank(log) > _rank(known):
            found[log.id] = log
    return sorted(found.values(), key=lambda log: (-log.modified, log.id))


def _rank(log: Stored) -> tuple[bool, float]:
    return log.path.name == LOG, log.modified


def _logs(place: Path) -> Iterator[Stored]:
    try:
        entries = [entry for entry in place.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return
    for entry in entries:
        if entry.suffix == ".jsonl":
            yield from _log(entry.stem, entry)
        else:
            yield from _log(entry.name, entry / LOG)


def _log(session: str, path: Path) -> Iterator[Stored]:
    """Only regular files: opening anything else might wait for ever."""
    try:
        if path.is_file():
            status = path.stat()
            yield Stored(session, path, status.st_mtime, status.st_size)
    except OSError:
        return
