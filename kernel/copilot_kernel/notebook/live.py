"""The live notebook as the agent's tools see it. Front ends implement `LiveNotebook`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from ..errors import CopilotError

CellType = Literal["code", "markdown", "raw"]

NO_PYTHON = "This notebook has no Python variables, and its code cells are prompts to the agent: none can be run."

Output = Mapping[str, Any]
"""An output as nbformat 4 defines it: `output_type` and what belongs to it."""


class NotebookError(CopilotError):
    """A tool could not do what was asked; the message is sent to the agent."""


class ChangedMeanwhile(NotebookError):
    """The cell no longer holds the source that the agent expects. Nothing was changed."""


class NoPage(NotebookError):
    """No front end shows the notebook, or it has gone; cells cannot be changed."""


class KernelBusy(NotebookError):
    """The kernel's main thread did not become free in time."""


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """A cell of the document. `outputs` is empty if they were not asked for; `error` names what it failed with."""

    id: str
    type: CellType
    source: str
    execution_count: int | None = None
    outputs: tuple[Output, ...] = ()
    running: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class NotebookState:
    """The cells in order. `asking` is the id of the cell whose turn runs; `saved`: read from the file, not a page."""

    cells: tuple[NotebookCell, ...]
    path: str = ""
    asking: str = ""
    saved: bool = False


class OpenDocuments(NamedTuple):
    """Absolute paths of the documents that the user has open in the page.

    `notebook` has more than one where it is not certain which it is, and none where that is unknown.
    """

    notebook: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class RunResult(NamedTuple):
    """Result of running code."""

    execution_count: int | None
    ok: bool
    outputs: tuple[Output, ...]


class CellError(NamedTuple):
    """Why the cell that was executed last failed. `cell_id` is empty where the front end does not name cells."""

    source: str
    traceback: str
    cell_id: str = ""


class VariableSummary(NamedTuple):
    """One variable: `type` without module, `shape` or length as text, and a short value (redacted, bounded)."""

    name: str
    type: str
    size: str
    value: str


class LiveNotebook(Protocol):
    """The notebook of a kernel, as it is open. It outlives the turns; all methods belong to the agent's event loop.

    Where nothing else is said, a method is called only while a cell waits for the agent, and raises NotebookError with
    what the agent may read. By default, there is no Python: no variables, and no code to run.
    """

    has_variables: bool = False
    """True if there is a namespace: tools for variables and code are offered only then."""
    why_fixed: str = ""
    """Why its cells cannot be changed, for the agent; empty if they can. It decides which tools are offered."""

    async def open_notebooks(self) -> Sequence[str]:
        """Absolute paths of the notebooks that the user has open, as far as they are known. Raises nothing."""

    async def open_documents(self) -> OpenDocuments:
        """The notebook and what is open beside it, as far as they are known. Raises nothing."""
        return OpenDocuments()

    async def snapshot(self) -> NotebookState:
        """The notebook without outputs, at any time; empty if it cannot be read. Raises nothing."""

    async def last_error(self) -> CellError | None:
        """The error of the cell that was executed before the asking one, if it failed; None also where it is unknown.

        Errors of `%copilot` itself do not count.
        """
        return None

    async def list_variables(self, filter: str) -> Sequence[VariableSummary]:
        """The user's variables whose name contains `filter`, in the order of their definition."""
        raise NotebookError(NO_PYTHON)

    async def inspect_variable(self, name: str, path: str, rows: int) -> str:
        """A bounded description of `name`, or of what is at `path` in it (such as `.columns` or `[0]`)."""
        raise NotebookError(NO_PYTHON)

    async def read(self, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
        """The cells (all: None). Raises NotebookError for an unknown id."""

    async def insert(self, source: str, type: CellType, after: str | None) -> str:
        """Insert a cell after another, by default below what was inserted last or the asking cell; return its id."""

    async def bring_back(self, cell: Mapping[str, Any], after: str | None) -> Sequence[str]:
        """Insert a deleted cell, as nbformat defines it, with the id that it had; at the top if `after` is None.

        Returns which parts of it are missing. Raises ChangedMeanwhile if a cell has that id: so none comes back twice.
        """

    async def edit(self, id: str, expected: str, source: str, type: CellType | None = None) -> None:
        """Replace the source of a cell, and its type unless that is None. Raises ChangedMeanwhile."""

    async def delete(self, id: str, expected: str) -> None:
        """Delete a cell. Raises ChangedMeanwhile."""

    async def move(self, id: str, expected: str, after: str | None) -> None:
        """Move a cell after another; to the top if None. Raises ChangedMeanwhile."""

    async def clear_outputs(self, ids: Sequence[str]) -> None:
        """Clear the outputs of cells."""

    async def run_cell(self, id: str, expected: str) -> RunResult:
        """Run a cell if it still holds `expected`. Raises ChangedMeanwhile."""
        raise NotebookError(NO_PYTHON)

    async def run_python(self, code: str) -> RunResult:
        """Run code in the user's namespace; its outputs are shown in the asking cell."""
        raise NotebookError(NO_PYTHON)

    async def restart_kernel(self) -> None:
        """Restart the kernel, which ends the turn."""
