"""What stands beneath the answer of a turn, and what it becomes when changes of the turn are undone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..chat.turn import Turn
from ..chat.turn_record import endings, metadata_of
from ..rendering.changes import TurnChanges
from ..rendering.failure import render_failure
from ..rendering.footer import TouchedCell
from .cell import Bundle


@dataclass(frozen=True, slots=True)
class Ending:
    """`undone` names what was restored, which is not among `changes` and `cells` any more. `live`: see `Cell`."""

    turn: Turn
    changes: TurnChanges
    cells: Sequence[TouchedCell]
    live: bool
    undone: Sequence[str] = ()

    def outputs(self) -> Iterator[tuple[Bundle, dict[str, Any]]]:
        """Each with its metadata: the first has the record. What a failed turn has changed stands below the error."""
        record = metadata_of(self.turn, self.changes, is_batch=not self.live, undone=self.undone)
        failure = [render_failure(self.turn.failure)] if self.turn.failure is not None else []
        shown = endings(self.turn, self.changes, timed=self.live, cells=self.cells, undone=self.undone)
        yield from ((each, {} if number else record) for number, each in enumerate((*failure, *shown)))

    def without(self, files: Sequence[str], cells: Sequence[str]) -> Ending:
        """These files were restored, and all of its cells, if they are named."""
        changes = self.changes
        left, also = ([each for each in group if each.path not in files] for group in (changes.files, changes.also))
        known = {each.path for each in (*changes.files, *changes.also)}
        undone = dict.fromkeys((*self.undone, *(path for path in files if path in known), *cells))
        touched = () if cells else self.cells
        is_left = left or also or touched
        return replace(
            self,
            turn=self.turn if is_left else replace(self.turn, undo=""),
            changes=replace(changes, files=tuple(left), also=tuple(also)),
            cells=touched,
            undone=tuple(undone),
        )
