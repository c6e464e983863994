"""The live notebook, through the page that shows it; without one, its cells as they were saved."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..notebook.live import NoPage, NotebookError, NotebookState, OpenDocuments
from ..output.cell import Cell
from ..places import notebook_at_start
from ..undo.cells import CellLog
from .page_cells import PageCells
from .page_comm import PageComms
from .page_reporter import Blocked, PageReporter
from .pages import Pages
from .saved_notebook import folders_of_page, read_saved

RESTART_SECONDS = 3.0
"""Within which the page restarts the kernel."""
NO_RESTART = "No open page shows this notebook, so the kernel cannot be restarted from here. Ask the user to do it."


class PageNotebook(PageCells):
    """The `LiveNotebook` of a kernel without variables. `kernel` is ipykernel's; None where no page can be reached.

    Between turns, `page` is the last one if it has answered: nothing waits for it.
    """

    _blocked: Blocked | None = None

    def __init__(self, kernel: Any = None) -> None:
        super().__init__()
        self._kernel = kernel
        self.pages = Pages(PageComms(kernel)) if kernel is not None else None
        self.reporter = PageReporter()
        self._is_restarting = False

    @asynccontextmanager
    async def asked_by(self, cell: Cell) -> AsyncIterator[None]:
        """Inside, `cell` waits for what is done in the notebook."""
        self.why_fixed = cell.traits.why_fixed
        self.page = await self.pages.claim(cell) if self.pages and not self.why_fixed else None
        self.asking = cell.saved_id
        self.reporter = PageReporter(self.page, self.asking, self._blocked, asks_all=cell.server_run)
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
        self.page = self.page if self.page and self.page.is_there else None
        self.reporter, self.log, self.asking, self._inserted = PageReporter(self.page), CellLog(), "", ""

    def cell_ended(self, cell: Cell) -> None:
        """Note that nothing more is shown in `cell`."""
        if self.pages:
            self.pages.ended(cell, self._count)

    def close(self) -> None:
        """Close the comms."""
        if self.pages:
            self.pages.close()

    @property
    def _count(self) -> int:
        """The prompt number of the cell that runs."""
        return int(self._kernel.execution_count)

    @cached_property
    def _started(self) -> str:
        """Path of the notebook when the kernel began; empty if that is unknown."""
        return notebook_at_start()

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths where the notebook is saved now, also if it has been renamed; see `OpenDocuments`."""
        path = self.page.path if self.page is not None else ""
        if path:
            return tuple(os.path.join(folder, path) for folder in folders_of_page(self._started, path))
        return (self._started,) if os.path.isfile(self._started) else ()

    async def saved_at(self) -> str:
        """The first of `paths`; empty if none is known. Waits for the page where the notebook has been renamed."""
        if self._started and not self.paths and self.page is not None:
            await self.page.known()
        return next(iter(self.paths), "")

    async def open_documents(self) -> OpenDocuments:
        """The notebook and what is open beside it, as far as they are known."""
        if self.page is None or not await self.page.known():
            return OpenDocuments(self.paths)
        try:
            paths = (await self.page.call("documents")).get("paths")
        except NotebookError:
            return OpenDocuments(self.paths)
        listed = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
        folders = folders_of_page(self._started, self.page.path)
        return OpenDocuments(self.paths, tuple(os.path.join(folder, path) for folder in folders for path in listed))

    async def open_notebooks(self) -> list[str]:
        """Return the open notebooks, as `LiveNotebook` says."""
        opened = await self.open_documents()
        started = self._started if os.path.isfile(self._started) else ""
        return [path for path in (started, *opened.notebook, *opened.beside) if path.endswith(".ipynb")]

    async def read(self, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
        """Read cells, as `LiveNotebook` says; without a page, as they were saved."""
        if self.page is not None and await self.page.known():
            return await super().read(ids, outputs=outputs)
        saved = read_saved(next(iter(self.paths), ""))
        return _selected(replace(saved, asking=self.asking), ids, outputs=outputs)

    async def restart_kernel(self) -> None:
        """Restart the kernel, as `LiveNotebook` says."""
        if self.page is None or not await self.page.known():
            raise NoPage(NO_RESTART)
        await self.page.call("restart")
        self._is_restarting = True


def _selected(state: NotebookState, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
    cells = {cell.id: cell if outputs else replace(cell, outputs=()) for cell in state.cells}
    if ids is None:
        return replace(state, cells=tuple(cells.values()))
    if missing := [id for id in ids if id not in cells]:
        raise NotebookError(f"No cell {missing[0]!r} in the saved notebook.", "Save the notebook if it is new.")
    return replace(state, cells=tuple(cells[id] for id in ids))
