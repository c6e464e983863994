"""Copilot CLI's event log of a session: its lines as events, in bounded memory and without ever writing to it.

A rewind takes events back that Copilot CLI has logged before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from ..acp.lenient import as_list, as_str, load
from ..acp.messages import Json
from ..errors import CopilotError

MAX_LOG_LINE_BYTES = 32 * 2**20
"""A longer line counts as damaged."""

_REWIND = "session.snapshot_rewind"
# Copilot writes the type first, so that most lines need not be parsed at all.
_TYPE = re.compile(rb'\s*\{\s*"type"\s*:\s*"([\w.]{1,80})"')


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One line. `agent` is set for a sub-agent's event; `line` counts from 0, `size` is in bytes."""

    type: str
    data: Json
    id: str = ""
    agent: str = ""
    time: str = ""
    line: int = 0
    size: int = 0


@dataclass(slots=True)
class ReadStats:
    """Counts of the lines that were read, and of those that were unreadable."""

    lines: int = 0
    damaged: int = 0


def lines(path: Path) -> Generator[bytes | None, None, None]:
    """Each line with its end; None for one that is too long. Raises CopilotError."""
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LOG_LINE_BYTES):
                is_whole = len(line) < MAX_LOG_LINE_BYTES or line.endswith(b"\n")
                yield line if is_whole else None
                while line and not line.endswith(b"\n"):
                    line = file.readline(MAX_LOG_LINE_BYTES)
    except OSError as error:
        raise CopilotError(f"The log {path} cannot be read: {error.strerror or error}") from error


def events(path: Path, stats: ReadStats, wanted: Callable[[str], bool]) -> Generator[LogEvent, None, None]:
    """The events whose type is `wanted`, in order; unreadable lines are counted in `stats`. Raises CopilotError."""
    for number, line in enumerate(lines(path)):
        if line is not None and not line.strip():
            continue
        stats.lines += 1
        if line is None or not line.rstrip().endswith(b"}"):
            stats.damaged += 1
        elif (found := _TYPE.match(line)) and not wanted(found[1].decode()):
            continue
        elif (event := _parse(line, number)) is None:
            stats.damaged += 1
        elif wanted(event.type):
            yield event


def _parse(line: bytes, number: int) -> LogEvent | None:
    """The event in a line; None if it is damaged."""
    try:
        raw = load(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str) or not isinstance(raw.get("data"), dict):
        return None
    event_id, agent, time = (as_str(raw.get(key)) for key in ("id", "agentId", "timestamp"))
    return LogEvent(raw["type"], raw["data"], event_id, agent, time, number, len(line))


# -- rewinds ------------------------------------------------------------------------------------------------------


def rewound(path: Path) -> Callable[[LogEvent], bool]:
    """A predicate: whether an event of this log was taken back later. Raises CopilotError.

    A rewind names its first removed event: everything from there up to the rewind is gone, or only the events it lists.
    """
    if not any(line is not None and _REWIND.encode() in line for line in lines(path)):  # hardly any log has one
        return lambda event: False
    rewinds = list(events(path, ReadStats(), _REWIND.__eq__))
    listed = {name for event in rewinds for name in _listed(event)}
    spans = {str(event.data.get("upToEventId")): event.line for event in rewinds if not _listed(event)}
    starts = {event.id: event.line for event in events(path, ReadStats(), lambda kind: True) if event.id in spans}

    def is_rewound(event: LogEvent) -> bool:
        return event.id in listed or any(start <= event.line < spans[name] for name, start in starts.items())

    return is_rewound


def _listed(event: LogEvent) -> list[str]:
    return [name for name in as_list(event.data.get("eventIds")) if isinstance(name, str)]
