"""What came of one turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..acp.messages import UsageUpdate
from ..errors import CopilotError
from .model import ToolCall

# The stop reason of a turn that an error has ended.
FAILED = "error"


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """Outcome of a turn. `stop_reason` is the protocol's, or one that this client does not know, or FAILED."""

    number: int
    stop_reason: str
    # All that the agent said, as Markdown, messages separated by a blank line.
    text: str
    tool_calls: tuple[ToolCall, ...]
    session_id: str
    # The agent's own name, model and mode, for the footer.
    agent: str
    model: str = ""
    mode: str = ""
    # Tokens used in the turn and in the context, if the agent reports them.
    usage: dict[str, Any] | None = None
    context: UsageUpdate | None = None
    # See `AgentCommands.standing`.
    standing: Sequence[str] = ()
    # Our own mode at the end of the turn.
    permission_mode: str = "default"
    seconds: float = 0.0
    agent_version: str = ""
    # It was cancelled, and by the user.
    stopped_by_user: bool = False
    # What `%undo` takes for it, where a front end offers that.
    undo: str = ""
    # What ended it, if it has failed.
    failure: CopilotError | None = None

    @property
    def unasked_calls(self) -> tuple[ToolCall, ...]:
        """The calls that ran without being asked about, or against the answer, and that nothing covers."""
        return tuple(call for call in self.tool_calls if call.unasked is not None and not call.unasked.covered)

    def joined(self, after: TurnOutcome) -> TurnOutcome:
        """This turn and the next one as one, for a cell that needed both."""
        return replace(
            after,
            text="\n\n".join(filter(None, (self.text, after.text))),
            tool_calls=(*self.tool_calls, *after.tool_calls),
            seconds=self.seconds + after.seconds,
        )
