"""How the agent's calls of the notebook's own tools read: as sentences, whatever the agent calls them. Display only."""

from __future__ import annotations

from collections.abc import Sequence

from ..acp.lenient import as_dict, as_str
from ..conversation.model import ToolCall
from ..mcp_config import OWN_SERVER
from ..permissions import inputs
from .plain import one_line

LIST_VARIABLES, INSPECT_VARIABLE, RUN_PYTHON = "list_variables", "inspect_variable", "run_python"
NOTICE_OF_READS = "what the agent sees"
"""What the notice is about that goes with the first of them."""
_READS = {
    "read_notebook": "Read this notebook",
    "read_cell": "Read a cell",
    "read_output": "Read the output of a cell",
    LIST_VARIABLES: "Looked at your variables",
    INSPECT_VARIABLE: "Looked at {}",
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
    """Whether it only reads the notebook."""
    return own_tool(call) in _READS


def sentence(call: ToolCall) -> str:
    """What the row says; empty unless it is a call of an own tool."""
    return _SENTENCES.get(own_tool(call), "").format(_variable(call) or "a variable")


def looked_at(calls: Sequence[ToolCall]) -> str:
    """What reads have looked at, such as `looked at the notebook and 2 variables`; empty if there are none."""
    tools = {own_tool(call) for call in calls}
    count = len({_variable(call) for call in calls if own_tool(call) == INSPECT_VARIABLE})
    variables = "your variables" if LIST_VARIABLES in tools else f"{count} variable{'s' * (count > 1)}" * bool(count)
    notebook = "the notebook" if tools - {LIST_VARIABLES, INSPECT_VARIABLE, ""} else ""
    return "looked at " * bool(calls) + " and ".join(filter(None, (notebook, variables)))


def _variable(call: ToolCall) -> str:
    given = as_dict(call.raw_input)
    return one_line(f"{as_str(given.get('name'))}{as_str(given.get('path'))}")
