"""The end of a turn, as every front end shows it: what changed, and the record that a saved notebook keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..conversation.changes import TurnChanges, changes_of
from ..conversation.outcome import TurnOutcome
from ..notebook.live import LiveNotebook
from ..rendering.failure import render_failure
from ..rendering.footer import footer_bundles
from ..rendering.markup import Bundle
from ..rendering.report import Wording
from ..undo.cells import CellChange, CellLog
from .turn_record import metadata_of


class NotebookInTurn(LiveNotebook, Protocol):
    """The live notebook, as far as the end of a turn tells of it. `log` has what the agent has done to cells."""

    log: CellLog

    @property
    def paths(self) -> tuple[str, ...]:
        """Absolute paths where the notebook is saved, or may be."""

    async def touched_cells(self) -> Sequence[tuple[str, str, str]]:
        """What the agent has done to cells in the turn; see `footer_bundles`."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The outcome of a turn, and what it has changed. `cells`: see `footer_bundles`; `edits` are changes of cells.

    `undone` names what was restored since, and is no longer among `changes`, `cells` and `edits`.
    """

    outcome: TurnOutcome
    changes: TurnChanges
    cells: Sequence[tuple[str, str, str]] = ()
    edits: Sequence[CellChange] = ()
    undone: tuple[str, ...] = ()

    @classmethod
    def reported(cls, outcome: TurnOutcome, folder: str) -> TurnEnd:
        """The end with the changes that the calls report."""
        return cls(outcome, changes_of(outcome.tool_calls, folder))

    @property
    def changed_files(self) -> dict[str, str]:
        """Files that the turn has changed and that were not undone, also if it failed; each with its digest."""
        return {file.path: file.digest for file in self.changes.files}

    @property
    def answer(self) -> TurnOutcome | None:
        """The outcome; None if the turn has failed."""
        return None if self.outcome.failure else self.outcome

    def without(self, files: Sequence[str], cells: Sequence[str]) -> TurnEnd:
        """The end after these files were restored, and all cells that it changed, if they are named."""
        before = (*self.changes.files, *self.changes.also)
        left, also = ([each for each in of if each.path not in files] for of in (self.changes.files, self.changes.also))
        gone = [each.path for each in before if each.path in files]
        undone = tuple(dict.fromkeys((*self.undone, *gone, *cells)))
        still, edits = ((), ()) if cells else (self.cells, self.edits)
        outcome = self.outcome if left or also or still else replace(self.outcome, undo="")
        return TurnEnd(outcome, replace(self.changes, files=tuple(left), also=tuple(also)), still, edits, undone)

    def shown(self, wording: Wording, *, is_batch: bool) -> list[tuple[Bundle, dict[str, Any]]]:
        """What ends the cell, with the record as metadata of what comes first. A failure stands above the footer.

        `wording`: the front end's, for the advice about a failure.
        """
        # Another program's changes are not to be compared.
        changes = replace(self.changes, also=(), more=0) if is_batch else self.changes
        record = metadata_of(self.outcome, changes, is_batch=is_batch, cells=self.edits, undone=self.undone)
        failure = [render_failure(self.outcome.failure, wording)] if self.outcome.failure else []
        footer = footer_bundles(self.outcome, changes, timed=not is_batch, cells=self.cells, undone=self.undone)
        return [(each, {} if number else record) for number, each in enumerate((*failure, *footer))]

    def footer(self) -> str:
        """The footer as HTML, where nothing can be undone."""
        shown = footer_bundles(replace(self.outcome, undo=""), self.changes, timed=True)
        return "".join(each["text/html"] for each in shown)

    def changes_in_words(self) -> str | None:
        """What has changed, and what one should know; None if there is nothing."""
        of, calls = self.outcome, self.outcome.tool_calls
        done = TurnOutcome(of.number, "end_turn", "", calls, "", "", standing=of.standing)
        shown = footer_bundles(done, self.changes, timed=False)
        return shown[0]["text/plain"] if shown else None
