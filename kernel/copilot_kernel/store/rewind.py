"""What the user took back: events that a `session.snapshot_rewind` later in the log removed.

A rewind names its first removed event; everything from there up to the rewind is gone, or only the events it lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from .lines import Event, Tally, events, lines

_REWIND = "session.snapshot_rewind"


def dropped(path: Path) -> Callable[[Event], bool]:
    """Whether an event of this log was taken back later. Raises CopilotError."""
    rewinds = list(events(path, Tally(), _REWIND.__eq__)) if _has_rewinds(path) else []
    listed = frozenset(name for event in rewinds for name in _listed(event))
    firsts = {str(event.data.get("upToEventId")) for event in rewinds}
    starts = _lines_of(path, firsts) if firsts else {}
    spans = [(starts.get(str(event.data.get("upToEventId"))), event.line) for event in rewinds if not _listed(event)]

    def is_dropped(event: Event) -> bool:
        return event.id in listed or any(start is not None and start <= event.line < end for start, end in spans)

    return is_dropped


def _has_rewinds(path: Path) -> bool:
    """Without parsing: hardly any log has one."""
    return any(line is not None and _REWIND.encode() in line for line in lines(path))


def _listed(event: Event) -> list[str]:
    names = event.data.get("eventIds")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _lines_of(path: Path, wanted: set[str]) -> dict[str, int]:
    return {event.id: event.line for event in _naming(path, wanted)}


def _naming(path: Path, wanted: set[str]) -> Iterator[Event]:
    return (event for event in events(path, Tally(), lambda kind: True) if event.id in wanted)
