"""A notebook in memory, and a gate that allows what the test says."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import anyio
from copilot_kernel.notebook.live import (
    CellError,
    CellType,
    ChangedMeanwhile,
    NotebookCell,
    NotebookError,
    NotebookState,
    RunResult,
    VariableSummary,
)
from copilot_kernel.notebook.tools import GateDecision, Proposal, Tool
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.undo.cells import CellLog

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGNgYPgPRwgWAFKXBfsAAAAASUVORK5CYII="
"""3×2 pixels."""


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def value(**data: Any) -> dict[str, Any]:
    """An `execute_result`; `text_plain` stands for `text/plain`."""
    return {"output_type": "execute_result", "data": {name.replace("_", "/", 1): each for name, each in data.items()}}


def raised(*lines: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": list(lines)}


class FakeNotebook:
    """A `NotebookInTurn`. `run` says what running a source gives; `done` holds what was done, in order."""

    has_variables = True
    why_fixed = ""
    paths: tuple[str, ...] = ()
    reporter = PageReporter()
    pages = None

    def __init__(self, *sources: str, **more: Any) -> None:
        cells = [NotebookCell(f"c{number}", "code", source) for number, source in enumerate(sources, 1)]
        self.state = NotebookState(tuple(cells), path="a.ipynb", **more)
        self.run: Callable[[str], RunResult] = lambda source: RunResult(7, True, (stream(f"ran {source}\n"),))
        self.done: list[tuple[Any, ...]] = []
        self.opened: list[str] = []
        self.log = CellLog()
        self.blocks: anyio.Event | None = None
        self.error: CellError | None = None

    async def snapshot(self) -> NotebookState:
        return self.state

    async def open_notebooks(self) -> list[str]:
        return self.opened

    @asynccontextmanager
    async def asked_by(self, cell: Any) -> AsyncIterator[None]:
        """It is open for every cell."""
        yield

    async def touched_cells(self) -> list[tuple[str, str, str]]:
        return []

    async def saved_at(self) -> str:
        """Nowhere."""
        return ""

    def put(self, id: str, **more: Any) -> None:
        """Change a cell as the user would."""
        cells = (replace(cell, **more) if cell.id == id else cell for cell in self.state.cells)
        self.state = replace(self.state, cells=tuple(cells))

    def _check(self, id: str, expected: str) -> None:
        if next(cell.source for cell in self.state.cells if cell.id == id) != expected:
            raise ChangedMeanwhile("changed meanwhile")

    async def last_error(self) -> CellError | None:
        return self.error

    async def list_variables(self, filter: str) -> Sequence[VariableSummary]:
        found = (VariableSummary("df", "DataFrame", "3×2", ""), VariableSummary("n", "int", "", "5"))
        return [each for each in found if filter in each.name]

    async def inspect_variable(self, name: str, path: str, rows: int) -> str:
        if self.blocks is not None:
            self.blocks.set()
            await anyio.sleep_forever()
        return f"{name}{path} with {rows} rows"

    async def read(self, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
        cells = self.state.cells if ids is None else tuple(c for c in self.state.cells if c.id in ids)
        if ids is not None and len(cells) < len(ids):
            raise NotebookError("no such cell")
        return replace(self.state, cells=cells if outputs else tuple(replace(c, outputs=()) for c in cells))

    async def insert(self, source: str, type: CellType, after: str | None) -> str:
        self.done.append(("insert", source, type, after))
        self.state = replace(self.state, cells=(*self.state.cells, NotebookCell("new", type, source)))
        return "new"

    async def bring_back(self, id: str, source: str, type: CellType, after: str | None) -> None:
        raise NotImplementedError

    async def edit(self, id: str, expected: str, source: str, type: CellType | None = None) -> None:
        self._check(id, expected)
        self.done.append(("edit", id, source, *filter(None, (type,))))

    async def delete(self, id: str, expected: str) -> None:
        self._check(id, expected)
        self.done.append(("delete", id))

    async def move(self, id: str, expected: str, after: str | None) -> None:
        self._check(id, expected)
        self.done.append(("move", id, after))

    async def clear_outputs(self, ids: Sequence[str]) -> None:
        self.done.append(("clear", *ids))

    async def run_cell(self, id: str, expected: str) -> RunResult:
        self._check(id, expected)
        self.done.append(("run", id))
        return self.run(expected)

    async def run_python(self, code: str) -> RunResult:
        self.done.append(("python", code))
        return self.run(code)

    async def restart_kernel(self) -> None:
        self.done.append(("restart",))


class FakeGate:
    """Remembers what it was asked, and how it ended. `meanwhile` happens while the user thinks."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses, self.has_turn = refuses, True
        self.asked: list[tuple[str, Proposal]] = []
        self.given: list[dict[str, Any]] = []
        self.ended: list[bool] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.scope = anyio.CancelScope()

    @contextmanager
    def turn(self) -> Iterator[object]:
        if not self.has_turn:
            raise NotebookError("No turn is running.")
        with anyio.CancelScope() as self.scope:
            yield self.scope

    async def authorize(self, tool: Tool, arguments: dict[str, Any], proposal: Proposal) -> GateDecision:
        self.asked.append((tool.name, proposal))
        self.given.append(arguments)
        self.meanwhile()
        return GateDecision(not self.refuses, self.refuses, "key")

    def finished(self, decision: GateDecision, *, ok: bool) -> None:
        self.ended.append(ok)
