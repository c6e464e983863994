"""One turn: what shows it (`View`), how it ended (`Turn`), and how the user stops it (`Stop`)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import anyio

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..acp.messages import UsageUpdate
from ..conversation.model import Entry, ToolCall
from ..errors import CopilotError
from ..permissions import policy
from ..permissions.question import PermissionAnswer, Question

# Seconds after the first press of ■ in which another one counts as part of a double click.
DOUBLE_CLICK_SECONDS = 0.3
# The stop reason of a turn that an error has ended.
FAILED = "error"


class View(Protocol):
    """View of one turn in a front end. No method may raise; `show` and `status` must not block."""

    @property
    def attended(self) -> bool:
        """True if somebody is there to answer."""

    def show(self, entry: Entry) -> None:
        """Draw `entry`, which is new or changed. It belongs to this view's turn, but may come after the turn's end."""

    def status(self, words: str) -> None:
        """Replace the transient status line; an empty string removes it."""

    async def ask(self, question: Question) -> PermissionAnswer:
        """Put `question` to the user and return the one answer. Cancelled when the question is withdrawn."""

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Have the user fill in a form or agree to open a URL. Cancelled when the request is withdrawn."""


class Unattended:
    """A view that shows nothing and rejects every question, for `reason`."""

    attended = False

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def show(self, entry: Entry) -> None:
        """Show nothing."""

    def status(self, words: str) -> None:
        """Show nothing."""

    async def ask(self, question: Question) -> PermissionAnswer:
        """Reject."""
        return PermissionAnswer(policy.reject(question.options), "none", self._reason)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Decline."""
        return ElicitationAnswer("decline", reason=self._reason)


@dataclass(frozen=True, slots=True)
class Turn:
    """End of a turn. `stop_reason` is the protocol's, or one that this client does not know, or FAILED."""

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

    def joined(self, after: Turn) -> Turn:
        """This turn and the next one as one, for a cell that needed both."""
        return replace(
            after,
            text="\n\n".join(filter(None, (self.text, after.text))),
            tool_calls=(*self.tool_calls, *after.tool_calls),
            seconds=self.seconds + after.seconds,
        )


class Stop:
    """The user's ■ for one turn: the first press cancels the turn, a second one ends the agent.

    Work inside `scope()` is broken off by a press or by the end of the turn, also by one that came before it began.
    """

    def __init__(self) -> None:
        self.pressed = self.by_user = self._over = False
        self._pressed_at = 0.0
        # A second press that is part of a double click does not count.
        self.first_press, self.second_press = anyio.Event(), anyio.Event()
        self._scopes: set[anyio.CancelScope] = set()

    def press(self, at: float | None = None, *, by_user: bool = True) -> None:
        """Break off the open scopes and wake those who wait for this press.

        `at` is when the user pressed (`time.monotonic()`, by default now): a busy event loop may learn of it later.
        """
        at = time.monotonic() if at is None else at
        if not self.pressed:
            self.pressed, self.by_user, self._pressed_at = True, by_user, at
            self.first_press.set()
            self.end()
        elif at - self._pressed_at > DOUBLE_CLICK_SECONDS:
            self.second_press.set()

    def end(self) -> None:
        """End the turn without a press: break off all scopes, and those still to be opened."""
        self._over = True
        for scope in self._scopes:
            scope.cancel()

    @contextmanager
    def scope(self) -> Iterator[anyio.CancelScope]:
        """A stretch of work that ends, without an error, when the turn is stopped or over."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            if self._over:
                scope.cancel()
            try:
                yield scope
            finally:
                self._scopes.discard(scope)
