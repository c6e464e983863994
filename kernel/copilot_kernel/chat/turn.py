"""One turn while it runs (`Turn`): what shows it (`View`), and how the user stops it (`Stop`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import anyio

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..conversation.model import Entry
from ..permissions import policy
from ..permissions.question import PermissionAnswer, Question
from ..undo.history import Recording

# Why what the agent asks between turns is rejected.
NO_TURN = "no cell is running that could ask"
# Seconds after the first press of ■ in which another one counts as part of a double click.
DOUBLE_CLICK_SECONDS = 0.3


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


TurnKind = Literal["prompt", "replay"]


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What belongs to one turn, from its first to its last moment; `ConversationState.begin` makes it.

    Of the kind `replay`, it shows an earlier conversation again, and the agent does nothing. `number` counts the turns
    of the conversation. `recording` sees the calls for undo, unless that is off.
    """

    kind: TurnKind
    number: int
    view: View
    recording: Recording | None = None
    stop: Stop = field(default_factory=Stop)
    # What the user says to the agent meanwhile: it goes to the agent after the turn.
    follow_ups: list[str] = field(default_factory=list)
