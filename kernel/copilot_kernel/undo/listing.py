"""Changes of a conversation's turns, one by one: the rows of `%changes`, and `_copilot.changes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from ..rendering.plain import visible_line
from .cells import CellChange
from .record import ChangedFile, TurnFiles

UNCERTAIN = "may not be the agent's"
_MAX_NAMED = 5


class ListedChange(NamedTuple):
    """A file or cell that turn `turn` changed, a command that it ran, or a note about what is not known of it.

    `path` is empty unless it is a file; `what` is new, changed or deleted, and empty for the rest. `by` names the
    calls, or is the command or the note.
    """

    turn: int
    kind: Literal["file", "cell", "command", "note"]
    path: str
    what: str
    by: str


def listed(turns: Iterable[TurnFiles]) -> Iterator[ListedChange]:
    """Return changes in the order of `turns`; of each one files, then cells, commands and notes."""
    for turn in turns:
        for file in turn.files:
            by = named(file.calls) if file.is_certain else UNCERTAIN
            yield ListedChange(turn.number, "file", file.path, _what(file), by)
        for change in turn.cells.changes:
            yield ListedChange(turn.number, "cell", "", _what(change), "the agent's tools")
        for command in turn.commands:
            yield ListedChange(turn.number, "command", "", "", command)
        for note in turn.notes:
            yield ListedChange(turn.number, "note", "", "", note)


def is_new(change: ChangedFile | CellChange) -> bool:
    """True if it was not there before."""
    return change.before is None if isinstance(change, CellChange) else change.before.kind == "absent"


def is_deleted(change: ChangedFile | CellChange) -> bool:
    """True if it is not there any more."""
    return change.after is None if isinstance(change, CellChange) else change.after.kind == "absent"


def named(names: Iterable[str]) -> str:
    """The first few."""
    shown = [visible_line(name) for name in names]
    more = f" and {len(shown) - _MAX_NAMED} more" if len(shown) > _MAX_NAMED else ""
    return f"{', '.join(shown[:_MAX_NAMED])}{more}"


def _what(change: ChangedFile | CellChange) -> str:
    return "new" if is_new(change) else "deleted" if is_deleted(change) else "changed"
