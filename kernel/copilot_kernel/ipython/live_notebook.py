"""The live Python notebook: its cells through the page, its variables and runs on the thread of the waiting cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from traceback import format_exception
from typing import Any, TypeVar
from uuid import uuid4

from ..errors import CopilotError
from ..notebook.live import CellError, ChangedMeanwhile, NoPage, NotebookState, RunResult, VariableSummary
from ..output.cell import Cell
from ..pages.page import ABSENT
from ..pages.page_notebook import PageNotebook
from ..places import notebook_at_start
from ..rendering.plain import clean
from .cell_thread import CellThread, blocked, call
from .front_end import ParentTracker
from .nested_run import NotebookRuns, TerminalRuns
from .progress_bars import with_bars
from .runs import ExecutionCounts
from .variables import inspect_variable, list_variables

T = TypeVar("T")

VS_CODE = "__vsc_ipynb_file__"
"""The variable in which VS Code tells where the notebook is."""


class PythonNotebook(PageNotebook):
    """Live notebook of a Python kernel. Its variables and runs are on the thread of the cell that waits."""

    has_variables = True
    _thread: CellThread

    def __init__(self, shell: Any) -> None:
        super().__init__(getattr(shell, "kernel", None))
        self._shell, self._counts = shell, ExecutionCounts(shell)
        self._runs: NotebookRuns | TerminalRuns | None = None
        self._parents: ParentTracker | None = None
        # What the cell before the asking one failed with.
        self._error: CellError | None = None

    def wait_in(self, cell: Cell, thread: CellThread) -> None:
        """Let `cell` be the one that waits. Called on its thread, before `asked_by`."""
        if thread.awaits and self._parents is None:
            self._parents = ParentTracker(self._shell.kernel, self._shell.events)
        copilot = self._shell.copilot
        self._error = last_error(copilot.last_result, copilot.last_traceback, self._error)
        self._thread, self._blocked = thread, partial(blocked, thread)
        if cell.session:
            self._runs = NotebookRuns(self._shell, cell.request, thread, self._counts, self._parents)
        else:
            self._runs = TerminalRuns(self._shell, thread, self._counts)

    def leave(self) -> None:
        """Unregister from IPython's events."""
        if self._parents is not None:
            self._parents.leave()
            self._parents = None

    @property
    def is_running(self) -> bool:
        """Code of the agent's runs."""
        return self._runs is not None and self._runs.active

    @property
    def _count(self) -> int:
        return int(self._shell.execution_count) - 1  # IPython has counted on when the cell began

    @property
    def _started(self) -> str:
        return started_at(self._shell.user_ns)

    async def read(self, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
        """Read cells, as `LiveNotebook` says; progress bars as they are now."""
        state = await super().read(ids, outputs=outputs)
        return replace(state, cells=tuple(replace(each, outputs=with_bars(each.outputs)) for each in state.cells))

    async def list_variables(self, filter: str) -> Sequence[VariableSummary]:
        """List variables, as `LiveNotebook` says."""
        shell = self._shell
        return await self._on_thread(lambda: list_variables(shell.user_ns, shell.user_ns_hidden, filter))

    async def inspect_variable(self, name: str, path: str, rows: int) -> str:
        """Describe a variable, as `LiveNotebook` says."""
        return await self._on_thread(lambda: inspect_variable(self._shell.user_ns, name, path, rows))

    async def last_error(self) -> CellError | None:
        """Return the last error, as `LiveNotebook` says."""
        return self._error

    async def run_cell(self, id: str, expected: str) -> RunResult:
        """Run a cell, as `LiveNotebook` says. The code that runs is `expected`."""
        if self.page is None or self._runs is None:
            raise NoPage(ABSENT)
        request, code = await self.page.run(id, expected, uuid4().hex)
        self.log.note("ran", id)
        count = None
        try:
            if code != expected:
                raise ChangedMeanwhile("The cell has changed in the meantime.")
            result = await self._runs.run(expected, request, id)
            count = result.execution_count
        finally:
            self.page.post("ran", id=id, execution_count=count)
        return result

    async def run_python(self, code: str) -> RunResult:
        """Run code, as `LiveNotebook` says."""
        assert self._runs is not None
        return await self._runs.run(code)

    async def _end(self) -> None:
        if self._runs is not None:
            await self._runs.close()
        await super()._end()

    async def _on_thread(self, function: Callable[[], T]) -> T:
        async def work() -> T:
            return function()

        return await call(self._thread, work)


def started_at(names: dict[str, Any]) -> str:
    """Return where the notebook was saved when the kernel began; empty if that is unknown."""
    path = names.get(VS_CODE)
    return path if isinstance(path, str) else notebook_at_start()


def last_error(result: Any, traceback: list[str] | None, before: CellError | None = None) -> CellError | None:
    """Return the error of the last cell, by its result and what was shown of it; if it was one of ours, `before`."""
    error = result and (result.error_before_exec or result.error_in_exec)
    if not error:
        return None
    if isinstance(error, CopilotError) or type(error).__module__.startswith(f"{__package__}."):
        return before
    lines = traceback or [line.rstrip("\n") for line in format_exception(error)]
    return CellError(result.info.raw_cell, clean("\n".join(lines)), result.info.cell_id or "")
