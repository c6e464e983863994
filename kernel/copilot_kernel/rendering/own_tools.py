"""Sentences for the agent's calls of our notebook tools, regardless of how the agent names them. Display only."""

from __future__ import annotations

from collections.abc import Iterable

from ..acp.lenient import as_dict, as_str
from ..conversation import inputs
from ..conversation.model import ToolCall
from ..mcp_config import OWN_SERVER
from .plain import one_line

RUN_PYTHON = "run_python"
NOTICE_OF_READS = "what the agent sees"
"""Subject of the notice that goes with the first of them."""
_READS = {
    "read_notebook": "Read this notebook",
    "search_notebook": "Searched this notebook",
    "read_cell": "Read a cell",
    "read_output": "Read the output of a cell",
    "list_variables": "Looked at your variables",
    "inspect_variable": "Looked at {}",
}
_SENTENCES = _READS | {
    "insert_cell": "Insert a cell",
    "edit_cell": "Edit a cell",
    "delete_cell": "Delete a cell",
    "move_cell": "Move a cell",
    "run_cell": "Run a cell",
    "run_cells": "Run cells",
    RUN_PYTHON: "Run Python code",
    "clear_outputs": "Clear the outputs of cells",
    "restart_kernel": "Restart the kernel",
}


def own_tool(call: ToolCall) -> str:
    """The tool that a call of the agent's names; empty for any other call, also for those that we show in its place."""
    server, name = inputs.mcp_tool(call) or call.best_title.partition("-")[::2]
    return name if server == OWN_SERVER and name in _SENTENCES and not inputs.is_of_notebook(call) else ""


def is_own_read(call: ToolCall) -> bool:
    """Return True if a call only reads the notebook."""
    return own_tool(call) in _READS


def sentence(call: ToolCall) -> str:
    """Return the words of a row; empty unless it is a call of an own tool."""
    given = as_dict(call.raw_input)
    variable = one_line(f"{as_str(given.get('name'))}{as_str(given.get('path'))}")
    return _SENTENCES.get(own_tool(call), "").format(variable or "a variable")


def looked_at(calls: Iterable[ToolCall]) -> str:
    """Say what reads have looked at, such as `looked at the notebook and your variables`; empty if there are none."""
    seen = {"your variables" if "variable" in own_tool(call) else "the notebook" for call in calls}
    return f"looked at {' and '.join(sorted(seen))}" if seen else ""
