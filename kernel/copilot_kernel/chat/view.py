"""What a door gives to a turn (`View`), and what it gets back (`Turn`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..acp.messages import UsageUpdate
from ..conversation.model import Entry, ToolCall
from ..permissions.question import Answer, Question


class View(Protocol):
    """What a door shows of one turn. No method may raise; `show` must not block."""

    def show(self, entry: Entry) -> None:
        """`entry` is new or changed. It belongs to this view's turn; it may come after the turn's end."""

    def status(self, words: str) -> None:
        """A passing line in the place of the one before; empty: nothing is to be said any more. Must not block."""

    async def ask(self, question: Question) -> Answer:
        """Put `question` to a person and return the one answer; cancelled when the question is withdrawn."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Have a person fill in a form or agree to visit an address; cancelled when the request is withdrawn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """How a turn ended. `stop_reason` is the protocol's, or one that this client does not know."""

    number: int
    stop_reason: str
    text: str
    """All that the agent said, as markdown; its messages are separated by a blank line."""
    tool_calls: tuple[ToolCall, ...]
    session_id: str
    agent: str
    """The agent's own name, for the footer."""
    model: str = ""
    mode: str = ""
    usage: dict[str, Any] | None = None
    """Tokens, as the agent told them with the end of the turn."""
    context: UsageUpdate | None = None
    """The context in use, in tokens, if the agent tells it."""
    permission_mode: str = "default"
    """Our own, at the end of the turn."""
    seconds: float = 0.0

    @property
    def unasked(self) -> int:
        """How many calls went on without a question, or against the answer, and nothing of the user's covers them."""
        return sum(call.unasked is not None and not call.unasked.covered for call in self.tool_calls)

    def joined(self, after: Turn) -> Turn:
        """This turn and the one `after` it as one, for a cell that needed both."""
        return replace(
            after,
            text="\n\n".join(filter(None, (self.text, after.text))),
            tool_calls=(*self.tool_calls, *after.tool_calls),
            seconds=self.seconds + after.seconds,
        )
