"""The live notebook of the turn that runs, from its beginning to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from ..config import notebook
from ..notebook.live import LiveNotebook, NotebookCell, NotebookError, NotebookState, OpenDocuments
from ..undo.cells import CellLog
from .page_turn import PageTurn
from .saved_notebook import read_saved


class TurnNotebook(LiveNotebook, Protocol):
    """A live notebook that also knows of the turn."""

    has_variables: bool
    """Whether there is a namespace."""

    @property
    def page_turn(self) -> PageTurn:
        """Reports the turn to the page."""

    @property
    def touched(self) -> Sequence[str]:
        """The cells that the agent has changed or run."""

    def touched_among(self, cells: Sequence[NotebookCell]) -> list[tuple[str, str, str]]:
        """What it has done to `cells`, in their order, and what it has deleted; see `Footer.cells`."""

    log: CellLog
    """What the agent has changed in cells."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the notebook is saved now, also if it has been renamed; see `OpenDocuments`."""

    async def saved_at(self) -> str:
        """The first of `paths`; empty if none is known. Waits for the page where the notebook has been renamed."""

    async def open_documents(self) -> OpenDocuments:
        """The notebook and what is open beside it, as far as they are known."""

    def begin(self, agent: Callable[[], str]) -> None:
        """The turn begins. `agent`: see `PageTurn`."""

    async def end(self) -> None:
        """The turn has ended, and with it whatever runs."""


MakeNotebook = Callable[[], TurnNotebook]


class CurrentNotebook:
    """A `NotebookSource` for a conversation, which outlives its turns. Belongs to the agent's loop."""

    def __init__(self, *, has_variables: bool) -> None:
        self.has_variables = has_variables
        self._notebook: TurnNotebook | None = None

    def current(self) -> LiveNotebook:
        """See `NotebookSource`."""
        if self._notebook is None:
            raise NotebookError("No cell waits for the agent, so nothing can be done in the notebook.")
        return self._notebook

    async def open_notebooks(self) -> list[str]:
        """See `NotebookSource`."""
        opened = await self._notebook.open_documents() if self._notebook else OpenDocuments()
        return [path for path in (notebook(), *opened.notebook, *opened.beside) if path.endswith(".ipynb")]

    async def snapshot(self) -> NotebookState:
        """See `NotebookSource`."""
        with suppress(NotebookError):
            return await self._notebook.read(None, outputs=False) if self._notebook else read_saved(notebook())
        return NotebookState((), asking=self._notebook.page_turn.cell_id if self._notebook else "")

    async def touched_cells(self) -> list[tuple[str, str, str]]:
        """What the agent has done to cells, in the order of the notebook."""
        notebook = self._notebook
        if notebook is None or not (notebook.touched or notebook.log.changes):
            return []
        with suppress(NotebookError):
            cells = notebook.log.left = (await notebook.read(None, outputs=False)).cells
            return notebook.touched_among(cells)
        return []

    @asynccontextmanager
    async def turn(self, notebook: TurnNotebook, agent: Callable[[], str]) -> AsyncIterator[None]:
        """Inside, `notebook` is the current one. `agent`: see `PageTurn`."""
        notebook.begin(agent)
        self._notebook = notebook
        try:
            yield
        finally:
            self._notebook = None
            await notebook.end()
