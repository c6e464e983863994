"""The live notebook, through the page that shows it; without one, its cells as they were saved."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from ..notebook.live import (
    CellType,
    LiveNotebook,
    NoPage,
    NotebookCell,
    NotebookError,
    NotebookState,
    OpenDocuments,
)
from ..output.cell import Cell
from ..output.vs_code import NO_CHANGES, is_cell
from ..places import notebook, notebook_at_start
from ..undo.cells import CellLog
from .page_comm import Page
from .page_reporter import Blocked, PageReporter
from .pages import Pages
from .saved_notebook import folders_of_page, read_saved

BRIEF_CHARS = 4000
"""Limit of each text in an output, when the whole notebook is read."""
FULL_CHARS = 1_000_000
MAX_ERROR_CHARS = 80
TYPES = ("code", "markdown", "raw")
RESTART_SECONDS = 3.0
"""Within which the page restarts the kernel."""
NO_RESTART = "No open page shows this notebook, so the kernel cannot be restarted from here. Ask the user to do it."


class PageNotebook(LiveNotebook):
    """The `LiveNotebook` of a kernel without variables. `kernel` is ipykernel's; None where no page can be reached."""

    _blocked: Blocked | None = None

    def __init__(self, kernel: Any = None) -> None:
        self._kernel, self._pages = kernel, Pages(kernel)
        self.reporter = PageReporter()
        """The cell that asks, and its page; between turns, the last page if it has answered: nothing waits for it."""
        self.log = CellLog()
        """Changes that the agent has made in the turn."""
        self._below = ""
        """The cell below which the next one is inserted."""
        self._is_restarting = False

    @asynccontextmanager
    async def asked_by(self, cell: Cell) -> AsyncIterator[None]:
        """Inside, `cell` waits for what is done in the notebook."""
        page = None
        self.why_fixed = NO_CHANGES if is_cell(cell.cell_id) else ""
        if cell.live and cell.cell_id and not self.why_fixed:
            page = self._pages.of(cell)
        self.reporter, self._below = PageReporter(page, cell.saved_id, self._blocked), cell.saved_id
        try:
            yield
        finally:
            await self._end()

    async def _end(self) -> None:
        """End whatever runs. What is done from now on is not the agent's."""
        if self._is_restarting:
            await asyncio.sleep(RESTART_SECONDS)  # if the cell ended before the kernel, the next one would still run
            self._is_restarting = False
        self.reporter.end(self.log.touched)
        page = self._page if self._page is not None and self._page.is_there else None
        self.reporter, self.log, self._below = PageReporter(page), CellLog(), ""

    def cell_ended(self, cell: Cell) -> None:
        """Note that nothing more is shown in `cell`."""
        if self._kernel is not None:
            self._pages.ended(cell, self._count)

    def close(self) -> None:
        """Close the comms."""
        self._pages.close()

    @property
    def _page(self) -> Page | None:
        return self.reporter.page

    @property
    def _count(self) -> int:
        """The prompt number of the cell that runs."""
        return int(self._kernel.execution_count)

    @property
    def _started(self) -> str:
        """Path of the notebook when the kernel began; empty if that is unknown."""
        return notebook_at_start()

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths where the notebook is saved now, also if it has been renamed; see `OpenDocuments`."""
        path = self._page.path if self._page is not None else ""
        if path:
            return tuple(os.path.join(folder, path) for folder in folders_of_page(self._started, path))
        return (self._started,) if os.path.isfile(self._started) else ()

    async def saved_at(self) -> str:
        """The first of `paths`; empty if none is known. Waits for the page where the notebook has been renamed."""
        if self._started and not self.paths and self._page is not None:
            await self._page.known()
        return next(iter(self.paths), "")

    async def open_documents(self) -> OpenDocuments:
        """The notebook and what is open beside it, as far as they are known."""
        if self._page is None or not await self._page.known():
            return OpenDocuments(self.paths)
        try:
            paths = (await self._page.call("documents")).get("paths")
        except NotebookError:
            return OpenDocuments(self.paths)
        listed = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
        folders = folders_of_page(self._started, self._page.path)
        return OpenDocuments(self.paths, tuple(os.path.join(folder, path) for folder in folders for path in listed))

    async def open_notebooks(self) -> list[str]:
        """Return the open notebooks, as `LiveNotebook` says."""
        opened = await self.open_documents()
        return [path for path in (notebook(), *opened.notebook, *opened.beside) if path.endswith(".ipynb")]

    async def snapshot(self) -> NotebookState:
        """Return the cells, as `LiveNotebook` says."""
        with suppress(NotebookError):
            return await self.read(None, outputs=False)
        return NotebookState((), asking=self.reporter.cell_id)

    async def touched_cells(self) -> list[tuple[str, str, str]]:
        """Return what the agent has done to cells, in the order of the notebook; see `footer_bundles`."""
        if self.log.touched or self.log.changes:
            with suppress(NotebookError):
                self.log.cells = (await self.read(None, outputs=False)).cells
                return self.log.summary(self.log.cells)
        return []

    # -- cells --------------------------------------------------------------------------------------------------------

    async def read(self, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
        """Read cells, as `LiveNotebook` says."""
        if self._page is None or not await self._page.known():
            saved = replace(read_saved(next(iter(self.paths), "")), asking=self.reporter.cell_id)
            return _selected(saved, ids, outputs=outputs)
        wanted = {} if ids is None else {"ids": list(ids)}
        limit = BRIEF_CHARS if ids is None else FULL_CHARS
        state = await self._page.call("read", **wanted, outputs=outputs, limit=limit)
        try:
            cells = tuple(_cell(each) for each in state["cells"])
        except (LookupError, TypeError, ValueError):
            raise NotebookError("The page's answer cannot be read.") from None
        return NotebookState(cells, path=self._page.path, asking=str(state.get("asking") or self.reporter.cell_id))

    async def insert(self, source: str, type: CellType, after: str | None) -> str:
        """Insert a cell, as `LiveNotebook` says."""
        below = after or self._below
        if not below:
            raise NotebookError("Say after which cell to insert: the cell that asks is not known.")
        result = await self._call("insert", source=source, type=type, after=below)
        self._below = id = str(result.get("id"))
        self.log.inserted(id, type, source)
        return id

    async def bring_back(self, cell: Mapping[str, Any], after: str | None) -> Sequence[str]:
        """Bring a cell back, as `LiveNotebook` says."""
        reply = await self._call("insert", deleted=cell, after=after)
        return tuple(map(str, reply.get("left_out") or ()))

    async def edit(self, id: str, expected: str, source: str, type: CellType | None = None) -> None:
        """Edit a cell, as `LiveNotebook` says."""
        wanted = {"type": type} if type else {}
        reply = await self._call("edit", id=id, expected=expected, source=source, **wanted)
        was = reply.get("was")
        self.log.edited(id, expected, source, (was, type) if type and was in TYPES else None)

    async def delete(self, id: str, expected: str) -> None:
        """Delete a cell, as `LiveNotebook` says."""
        cells = (await self.read(None, outputs=False)).cells
        reply = await self._call("delete", id=id, expected=expected)
        self.log.deleted(id, cells, reply.get("cell") or {})
        if self._below == id:
            self._below = self.reporter.cell_id

    async def move(self, id: str, expected: str, after: str | None) -> None:
        """Move a cell, as `LiveNotebook` says."""
        await self._call("move", id=id, expected=expected, after=after)
        self.log.note("moved", id)

    async def clear_outputs(self, ids: Sequence[str]) -> None:
        """Clear outputs, as `LiveNotebook` says."""
        await self._call("clear", ids=list(ids))
        self.log.note("cleared the output of", *ids)

    async def restart_kernel(self) -> None:
        """Restart the kernel, as `LiveNotebook` says."""
        if self._page is None or not await self._page.known():
            raise NoPage(NO_RESTART)
        await self._page.call("restart")
        self._is_restarting = True

    async def _call(self, op: str, **args: Any) -> dict[str, Any]:
        if self._page is None:
            raise NoPage("This front end does not let the agent change the notebook.")
        return await self._page.call(op, **args)


def _cell(cell: Any) -> NotebookCell:
    kind = cell["type"]
    if kind not in TYPES:
        raise ValueError(kind)
    return NotebookCell(
        id=str(cell["id"]),
        type=kind,
        source=str(cell["source"]),
        execution_count=cell.get("execution_count"),
        outputs=tuple(cell.get("outputs") or ()),
        running=bool(cell.get("running")),
        error=str(cell.get("error") or "")[:MAX_ERROR_CHARS],
    )


def _selected(state: NotebookState, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
    cells = {cell.id: cell if outputs else replace(cell, outputs=()) for cell in state.cells}
    if ids is None:
        return replace(state, cells=tuple(cells.values()))
    if missing := [id for id in ids if id not in cells]:
        raise NotebookError(f"No cell {missing[0]!r} in the saved notebook.", "Save the notebook if it is new.")
    return replace(state, cells=tuple(cells[id] for id in ids))
