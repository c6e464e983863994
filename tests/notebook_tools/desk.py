"""A notebook in memory, its gate, and the tools on both."""

from typing import Any

import anyio
from copilot_kernel.notebook.calls import NotebookCalls
from copilot_kernel.tags import tagged

from ..limits import LIMIT
from .fakes import FakeGate, FakeNotebook

EDITED = {"id": "c1", "expected": "x = 1", "source": "x = 2"}

# A call that works, by tool.
CALLS: dict[str, dict[str, Any]] = {
    "list_variables": {"filter": "d"},
    "inspect_variable": {"name": "df", "path": ".columns", "rows": 3},
    "read_notebook": {"outputs": True},
    "search_notebook": {"pattern": "x", "regex": True},
    "read_cell": {"id": "c1"},
    "read_output": {"id": "c1", "offset": 0},
    "insert_cell": {"source": "y", "type": "code", "run": True},
    "edit_cell": EDITED,
    "delete_cell": {"id": "c1", "expected": "x = 1"},
    "move_cell": {"id": "c1", "expected": "x = 1", "after": "c2"},
    "run_cell": {"id": "c1"},
    "run_cells": {"ids": ["c1", "c2"]},
    "run_python": {"code": "df.describe()"},
    "clear_outputs": {"ids": ["c1"]},
    "restart_kernel": {},
}


class Desk:
    """A notebook of two cells, its gate, and the tools on both."""

    def __init__(self, *sources: str, refuses: str = "", **more: Any) -> None:
        self.notebook = FakeNotebook(*(sources or ("x = 1", "print(x)")), **more)
        self.gate = FakeGate(refuses)
        self.calls = NotebookCalls(self.notebook, self.gate, takes_images=True)

    async def call(self, name: str, /, **arguments: Any) -> str:
        """The text of the result, after `failed: ` if it failed."""
        with anyio.fail_after(LIMIT):
            result = await self.calls.call(name, arguments)
        return ("failed: " if result["isError"] else "") + str(result["content"][0]["text"])


def put_out(text: str, id: str, kind: str = "stdout") -> str:
    """What the agent reads of one output."""
    return tagged("cell-outputs", tagged("cell-output", text, kind=kind), id=id)
