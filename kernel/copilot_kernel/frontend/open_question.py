"""One question to the user: what it shows, how its answer is read, and that one answer.

The kinds are in `permission_question.py` and `other_questions.py`; `questions.py` asks them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Set
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from ..conversation.model import Notice
from .cell import Bundle

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive

    from .card import Card

T = TypeVar("T")

NOBODY = "no one can answer here"

AskLine = Callable[[str], Awaitable[str]]
"""Asks for a line of input with a prompt. Raises EOFError at the end of input."""


class OpenQuestion(ABC, Generic[T]):
    """One question, which is asked once.

    `entry_id` is the entry that it is about, negative if none; `key` names it to the page, and `title` says on one line
    what is asked. While it is open, `bundle` is shown, and below it `buttons`, if they have a display of their own: in
    a notebook that was saved meanwhile they are dead. `card` has its widgets, where there are any. `shown` is set when
    the front end was sent it.
    """

    languages: Set[str] = frozenset()
    """Languages whose lexers are needed to draw it."""
    always_leaves_line = True
    """Say what became of it even if nobody could be asked: nothing else does."""

    def __init__(self, entry_id: int, key: str, title: str) -> None:
        self.entry_id, self.key, self.title = entry_id, key, title
        self.answer: Future[T] = Future()
        self.shown = asyncio.Event()
        self.bundle: Bundle = {}
        self.buttons: Bundle | None = None
        self.card: Card | None = None

    def settle(self, answer: T) -> None:
        """Give the answer, unless there is one or the question was withdrawn. May be called on any thread."""
        with suppress(InvalidStateError):
            self.answer.set_result(answer)

    @property
    @abstractmethod
    def static(self) -> Bundle:
        """The question without its buttons, as it is kept in a notebook."""

    @property
    def printed(self) -> Bundle:
        """The question as a console prints it, once, above the line of input."""
        return self.static

    @abstractmethod
    def make_widgets(self, on_move: Callable[[], object]) -> Interactive:
        """Make the widgets that settle it. `on_move` is to be called when buttons have moved to where others were."""

    @abstractmethod
    async def read_lines(self, ask: AskLine) -> T:
        """Read the answer line by line. Raises EOFError at the end of input."""

    @abstractmethod
    def unattended(self) -> T:
        """The answer where nobody can be asked."""

    @abstractmethod
    def unanswered(self, reason: str) -> T:
        """The answer if nobody gave one, for this reason."""

    @abstractmethod
    def closing_line(self, answer: T) -> Notice | None:
        """The line that says what was answered."""
