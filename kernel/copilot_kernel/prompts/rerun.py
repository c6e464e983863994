"""Running a prompt again whose last turn changed files: what that turn was, and whether the prompt is sent.

Known are the turns of this kernel, and those of the notebook as it was saved when the kernel got its first prompt: a
cell that waits behind a running one has lost its outputs on the page, and soon on disk. Where cells have no names
(consoles, nbclient, papermill), a prompt has no last turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import places
from ..acp.lenient import as_dict, as_dicts, as_str
from ..chat import TurnOutcome
from ..chat.net_changes import unchanged
from ..chat.turn_record import METADATA_KEY, SCHEMA_MEMBER, SCHEMA_VERSION
from ..config import Settings
from ..conversation.outcome import FAILED
from ..notebook.live import NotebookError
from ..output.cell import Cell, Output
from ..output.display import ask
from ..pages.page_notebook import PageNotebook
from ..pages.page_reporter import PageReporter
from ..pages.saved_notebook import read_saved
from ..rendering.rerun import changed_words, render_kept, render_saved, render_sent
from ..views.other_questions import Confirmation

UNREAD = "what a newer Copilot Kernel has recorded (this one reads version {} of the record)"


@dataclass(eq=False, slots=True)
class OldTurn:
    """A turn of a cell. Without `outputs`, the answer is not recorded; `turn` is None if it failed.

    `prompt` is what was written, and the values that went with it. `files`: see `TurnEnd.changed_files`.
    `is_saved`: it is known from the saved notebook, where the turn and its exact `prompt` are not.
    """

    prompt: str
    files: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[Output, ...] = ()
    turn: TurnOutcome | None = None
    is_saved: bool = False

    @property
    def answer(self) -> TurnOutcome | None:
        """The outcome of a cell that shows it again: a stop was then, not now."""
        return None if self.turn is None or self.turn.stop_reason == "cancelled" else self.turn


@dataclass(slots=True)
class _Run:
    """One execution of a cell: the turns of its prompts, and those of the run before it."""

    request_id: str
    source: str
    turns: list[OldTurn] = field(default_factory=list)
    before: Sequence[OldTurn] = ()


class Reruns:
    """The last run of each cell. A Python cell may have several prompts: they are compared in their order."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] | None = None

    async def begin(
        self, cell: Cell, prompt: str, settings: Settings, notebook: PageNotebook | None, reporter: PageReporter
    ) -> OldTurn | None:
        """The last turn of the cell's next prompt, now shown again, if the prompt is not to be sent; None if it is."""
        if self._runs is None:
            path = await notebook.saved_at() if notebook else places.notebook()
            self._runs = await asyncio.to_thread(_saved_runs, path)
        old = _last_turn(self._runs, cell, cell.cell_id, prompt) if cell.cell_id else None
        if old is None or await _is_sent_again(cell, reporter, old, settings):
            return None
        for data, metadata in old.outputs:
            cell.display(render_saved(data) if old.is_saved else data, metadata=metadata)
        return old

    def end(self, cell: Cell, turn: OldTurn) -> None:
        """`turn` of the prompt that began last is over."""
        run = (self._runs or {}).get(cell.cell_id or "")
        if run is not None and run.request_id == cell.request_id:
            run.turns[-1] = turn if turn.files else OldTurn(turn.prompt)


def _last_turn(runs: dict[str, _Run], cell: Cell, name: str, prompt: str) -> OldTurn | None:
    """Return the last turn of the cell `name`, if its source was the same and the turn changed files.

    It stays the last until `Reruns.end`.
    """
    if cell.saved_id != name and (saved := runs.pop(cell.saved_id, None)):
        runs.setdefault(name, saved)
    run = runs.get(name)
    if run is None or run.request_id != cell.request_id:
        before = run.turns if run and run.source == cell.source else ()
        run = runs[name] = _Run(cell.request_id, cell.source, before=before)
    old = next(iter(run.before[len(run.turns) :]), None)
    if old is None or not (old.is_saved or old.prompt == prompt):
        old = OldTurn(prompt)
    run.turns.append(old)
    return old if old.files else None


async def _is_sent_again(cell: Cell, reporter: PageReporter, old: OldTurn, settings: Settings) -> bool:
    """Return True if the prompt is sent again, and say so in the cell."""
    if settings.rerun == "run":
        if same := await unchanged(old.files, settings.folder):
            cell.display(render_sent(same))
        return True
    if settings.rerun == "ask" and cell.live:
        names = ("Run again", "Keep the answer" if old.outputs else "Don't run")
        question = Confirmation(f"{changed_words([*old.files])}. Run it again?", names)
        return (await ask(cell, reporter, question, settings.activity_timeout)).action == "accept"
    if cell.live or settings.rerun == "ask" or not old.outputs:  # else a batch run gives what it gave
        nobody = ", and no one can answer here" if settings.rerun == "ask" else ""
        cell.display(render_kept([*old.files], f"rerun = {settings.rerun}{nobody}", is_recorded=bool(old.outputs)))
    return False


# -- the saved notebook ----------------------------------------------------------------------------------------------


def _saved_runs(path: str) -> dict[str, _Run]:
    try:
        cells = read_saved(path).cells
    except NotebookError:
        return {}
    return {cell.id: _Run("", cell.source, list(_saved_turns(cell.outputs))) for cell in cells if cell.outputs}


def _saved_turns(outputs: Iterable[Any]) -> Iterator[OldTurn]:
    """Each ends with the output that has its record; what a stopped or failed turn shows below that is left out."""
    shown = list[Output]()
    for output in outputs:
        if output.get("output_type") != "display_data":
            continue
        record = as_dict(as_dict(output.get("metadata")).get(METADATA_KEY))
        shown.append((as_dict(output.get("data")), {METADATA_KEY: record} if record else {}))
        if record:
            changes = as_dicts(record.get("changes"))
            files = {path: as_str(each.get("digest")) for each in changes if (path := as_str(each.get("path")))}
            is_known = record.get(SCHEMA_MEMBER, SCHEMA_VERSION) == SCHEMA_VERSION
            files = files if is_known else {UNREAD.format(SCHEMA_VERSION): ""}
            is_answer = bool(files) and record.get("stop_reason") != FAILED
            yield OldTurn("", files, tuple(shown) if is_answer else (), is_saved=True)
            shown = []
