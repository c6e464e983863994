"""The cells of the live notebook, through the page that shows it; without one, as they were saved."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any, NoReturn

from ..notebook.live import (
    CellError,
    CellType,
    NoPage,
    NotebookCell,
    NotebookError,
    NotebookState,
    OpenDocuments,
    Output,
    RunResult,
    VariableSummary,
)
from ..undo.cells import CellLog
from .page_comm import Page
from .page_turn import Blocked, PageTurn
from .saved_notebook import folders_of_page, read_saved

BRIEF_CHARS = 4000
"""Of each text in an output, when the whole notebook is read."""
FULL_CHARS = 1_000_000
EXCERPT_CHARS = 30
"""Of the source of a deleted cell, beneath the answer."""
RESTART_SECONDS = 3.0
"""Within which the page restarts the kernel."""
NO_RESTART = "No open page shows this notebook, so the kernel cannot be restarted from here. Ask the user to do it."
NO_PYTHON = "This notebook has no Python variables, and its code cells are prompts to the agent: none can be run."


class NotebookCells:
    """A `LiveNotebook` without variables. `page` is None where the front end cannot have one.

    `asking` is the cell that asks; `started` is where the notebook was saved when the kernel began, and empty if that
    is unknown. `blocked`: see `PageTurn`.
    """

    has_variables = False

    def __init__(self, page: Page | None, *, asking: str, started: str, blocked: Blocked | None = None) -> None:
        self._page, self._asking, self._started = page, asking, started
        self.page_turn = PageTurn(page, asking, blocked)
        self._below = asking
        """The cell below which the next one is inserted."""
        self._touched: dict[str, list[str]] = {}
        self._deleted: list[tuple[str, str, str]] = []
        self.log = CellLog()
        """What the agent changed."""
        self._is_restarting = False

    @property
    def touched(self) -> tuple[str, ...]:
        """The cells that were changed or run, in the order of the first time."""
        return tuple(self._touched)

    def touched_among(self, cells: Sequence[NotebookCell]) -> list[tuple[str, str, str]]:
        """See `TurnNotebook`."""
        numbered = ((self._touched.get(cell.id), f"cell {at}", cell.id) for at, cell in enumerate(cells, 1))
        return [*((" and ".join(did), name, id) for did, name, id in numbered if did), *self._deleted]

    @property
    def paths(self) -> tuple[str, ...]:
        """See `TurnNotebook`."""
        path = self._page.path if self._page is not None else ""
        if path:
            return tuple(os.path.join(folder, path) for folder in folders_of_page(self._started, path))
        return (self._started,) if os.path.isfile(self._started) else ()

    async def saved_at(self) -> str:
        """See `TurnNotebook`."""
        if self._started and not self.paths and self._page is not None:
            await self._page.known()
        return next(iter(self.paths), "")

    # -- cells --------------------------------------------------------------------------------------------------------

    async def read(self, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
        """See `LiveNotebook`."""
        if self._page is None or not await self._page.known():
            saved = replace(read_saved(next(iter(self.paths), "")), asking=self._asking)
            return _selected(saved, ids, outputs=outputs)
        wanted = {} if ids is None else {"ids": list(ids)}
        limit = BRIEF_CHARS if ids is None else FULL_CHARS
        state = await self._page.call("read", **wanted, outputs=outputs, limit=limit)
        try:
            cells = tuple(_cell(each) for each in state["cells"])
        except (LookupError, TypeError, ValueError):
            raise NotebookError("The page's answer cannot be read.") from None
        return NotebookState(cells, path=self._page.path, asking=str(state.get("asking") or self._asking))

    async def insert(self, source: str, type: CellType, after: str | None) -> str:
        """See `LiveNotebook`."""
        below = after or self._below
        if not below:
            raise NotebookError("Say after which cell to insert: the cell that asks is not known.")
        result = await self._call("insert", source=source, type=type, after=below)
        self._below = id = str(result.get("id"))
        self.log.inserted(id, type, source)
        self._note("inserted", id)
        return id

    async def bring_back(self, cell: Mapping[str, Any], after: str | None) -> Sequence[str]:
        """See `LiveNotebook`."""
        reply = await self._call("insert", deleted=cell, after=after)
        return tuple(map(str, reply.get("left_out") or ()))

    async def edit(self, id: str, expected: str, source: str) -> None:
        """See `LiveNotebook`."""
        await self._call("edit", id=id, expected=expected, source=source)
        self.log.edited(id, expected, source)
        self._note("edited", id)

    async def delete(self, id: str, expected: str) -> None:
        """See `LiveNotebook`."""
        cells = (await self.read(None, outputs=False)).cells
        reply = await self._call("delete", id=id, expected=expected)
        at = next((at for at, cell in enumerate(cells) if cell.id == id), 0)
        self.log.deleted(cells[at], cells[at - 1].id if at else None, reply.get("cell") or {})
        if "inserted" not in self._touched.pop(id, ()):
            excerpt = f" ({shorten(cells[at].source, EXCERPT_CHARS, placeholder='…')})" if cells[at].source else ""
            self._deleted.append(("deleted", f"cell {at + 1}{excerpt}", ""))
        if self._below == id:
            self._below = self._asking

    async def move(self, id: str, expected: str, after: str | None) -> None:
        """See `LiveNotebook`."""
        await self._call("move", id=id, expected=expected, after=after)
        self._note("moved", id)

    async def clear_outputs(self, ids: Sequence[str]) -> None:
        """See `LiveNotebook`."""
        await self._call("clear", ids=list(ids))
        self._note("cleared the output of", *ids)

    async def restart_kernel(self) -> None:
        """See `LiveNotebook`."""
        if self._page is None or not await self._page.known():
            raise NoPage(NO_RESTART)
        await self._page.call("restart")
        self._is_restarting = True

    async def open_documents(self) -> OpenDocuments:
        """See `TurnNotebook`."""
        if self._page is None or not await self._page.known():
            return OpenDocuments(self.paths)
        try:
            paths = (await self._page.call("documents")).get("paths")
        except NotebookError:
            return OpenDocuments(self.paths)
        listed = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
        folders = folders_of_page(self._started, self._page.path)
        return OpenDocuments(self.paths, tuple(os.path.join(folder, path) for folder in folders for path in listed))

    def _note(self, did: str, *ids: str) -> None:
        """What was done to cells. A new cell counts as inserted, even if it is edited later."""
        for id in ids:
            known = self._touched.setdefault(id, [])
            if did not in known and not (did == "edited" and "inserted" in known):
                known.append(did)

    async def _call(self, op: str, **args: Any) -> dict[str, Any]:
        if self._page is None:
            raise NoPage("This front end does not let the agent change the notebook.")
        return await self._page.call(op, **args)

    # -- what only a Python notebook has ------------------------------------------------------------------------------

    async def list_variables(self, filter: str) -> Sequence[VariableSummary]:
        """There are none."""
        _no_python()

    async def inspect_variable(self, name: str, path: str, rows: int) -> str:
        """There are none."""
        _no_python()

    async def last_error(self) -> CellError | None:
        """There is none."""
        return None

    async def run_cell(self, id: str, expected: str) -> RunResult:
        """A prompt would wait for this turn."""
        _no_python()

    async def run_python(self, code: str) -> RunResult:
        """There is no Python."""
        _no_python()

    # -- the turn -----------------------------------------------------------------------------------------------------

    def begin(self, agent: Callable[[], str]) -> None:
        """A turn of the agent begins. `agent`: see `PageTurn`."""
        self.page_turn.begin(agent)

    async def end(self) -> None:
        """The turn has ended, and with it whatever runs."""
        if self._is_restarting:
            await asyncio.sleep(RESTART_SECONDS)  # if the cell ended before the kernel, the next one would still run
        self.page_turn.end(self.touched)


def _no_python() -> NoReturn:
    raise NotebookError(NO_PYTHON)


def _cell(cell: Any) -> NotebookCell:
    kind = cell["type"]
    if kind not in ("code", "markdown", "raw"):
        raise ValueError(kind)
    return NotebookCell(
        id=str(cell["id"]),
        type=kind,
        source=str(cell["source"]),
        execution_count=cell.get("execution_count"),
        outputs=tuple(map(as_it_is_now, cell.get("outputs") or ())),
        running=bool(cell.get("running")),
    )


def as_it_is_now(output: Output) -> Output:
    """A progress bar of widgets with its texts of now: as of `tqdm.notebook`, its plain text says how it began."""
    match output:
        case {"data": {"application/vnd.jupyter.widget-view+json": {"model_id": str(model)}}}:
            widgets = getattr(sys.modules.get("ipywidgets.widgets.widget"), "_instances", {})
            values = getattr(widgets.get(model), "_trait_values", {})  # no code of the user's runs
            parts = [child._trait_values for child in values.get("children", ())]
            if any(part["_model_name"].endswith("ProgressModel") for part in parts):
                texts = "".join(part["value"] for part in parts if part["_model_name"] == "HTMLModel")
                return {**output, "data": {"text/html": texts}}
    return output


def _selected(state: NotebookState, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
    cells = {cell.id: cell if outputs else replace(cell, outputs=()) for cell in state.cells}
    if ids is None:
        return replace(state, cells=tuple(cells.values()))
    if missing := [id for id in ids if id not in cells]:
        raise NotebookError(f"No cell {missing[0]!r} in the saved notebook.", "Save the notebook if it is new.")
    return replace(state, cells=tuple(cells[id] for id in ids))
