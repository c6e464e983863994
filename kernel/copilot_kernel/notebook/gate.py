"""The gate between a tool and its act. It passes every call to whoever decides."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from ..acp.messages import ToolContent
from .tools import Tool


class Proposal(NamedTuple):
    """A call's effect, as the user is shown it. `runs`: it runs code, also where the tool is for editing.

    `cell_type` is that of a cell whose text changes. `path` is that of the notebook, as far as it is known.
    """

    title: str = ""
    content: tuple[ToolContent, ...] = ()
    path: str = ""
    runs: bool = False
    cell_type: str = ""


class GateDecision(NamedTuple):
    """`reason` tells the agent why not. `key` names the call to `Gate.finished`; empty if it is not shown."""

    allowed: bool
    reason: str = ""
    key: str = ""


class Gate(Protocol):
    """Decides about each call of one conversation's agent."""

    def turn(self) -> AbstractContextManager[object]:
        """Run the block in the turn; it is cancelled, without an error, when the turn ends. Raises NotebookError
        without a turn.
        """

    async def authorize(self, tool: Tool, arguments: dict[str, Any], proposal: Proposal) -> GateDecision:
        """Return True if `tool` may do what `proposal` says. `arguments` are as the agent passed them."""

    def finished(self, decision: GateDecision, *, ok: bool) -> None:
        """Show how an allowed call ended."""
