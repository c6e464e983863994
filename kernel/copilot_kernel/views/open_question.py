"""One question to the user: what it shows, how its answer is read, its widgets, and that one answer.

The kinds of questions are in `permission_question.py` and `other_questions.py`; `output/questions.py` asks them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Set
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from copilot_widgets.answers import Answers, Reply
from msgspec import to_builtins

from ..conversation.model import Notice
from ..rendering.markup import Bundle
from ..rendering.question import OPEN

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive

T = TypeVar("T")

NOBODY = "no one can answer here"
_NO_ENTRY = count(-1, -1)  # ids of questions that are about no entry

AskLine = Callable[[str], Awaitable[str]]
"""Asks for a line of input with a prompt. Raises EOFError at the end of input."""


class OpenQuestion(ABC, Generic[T]):
    """One question, which is asked once.

    `entry_id` is the entry that it is about, or else a negative number of its own. `key` names it to the page and
    cannot be guessed; `title` says on one line what is asked. `shown` is set when the front end
    was sent it.
    """

    languages: Set[str] = frozenset()
    """Languages whose lexers are needed to draw it."""
    always_leaves_line = True
    """Say what became of it even if nobody could be asked: nothing else does."""

    def __init__(self, title: str, entry_id: int | None = None) -> None:
        self.entry_id = next(_NO_ENTRY) if entry_id is None else entry_id
        self.key, self.title, self.shown = token_hex(), title, asyncio.Event()
        self.answer: Future[T] = Future()

    def settle(self, answer: T) -> None:
        """Give the answer, unless there is one or the question was withdrawn. May be called on any thread."""
        with suppress(InvalidStateError):
            self.answer.set_result(answer)

    @property
    @abstractmethod
    def static(self) -> Bundle:
        """The question without its buttons, as it is kept in a notebook."""

    @property
    def answers(self) -> Answers | None:
        """Buttons and fields of the question; None if it is a form."""
        return None

    @property
    def for_page(self) -> dict[str, Any]:
        """Data with which a page asks it, if it has `answers`."""
        return {"title": self.title, "html": self.static["text/html"], "answers": to_builtins(self.answers)}

    def reply(self, reply: Reply) -> str:
        """Answer it with one of `answers`. Return what is wrong with that, if anything is; then it stays open."""
        return ""

    @property
    def printed(self) -> Bundle:
        """The question as a console prints it, without the remark for saved notebooks."""
        return {**self.static, "text/plain": self.static["text/plain"].rpartition(f"\n{OPEN}")[0]}

    @abstractmethod
    def make_widgets(self, on_move: Callable[[], object]) -> Interactive:
        """Make the widgets that settle it. `on_move` is to be called when buttons have moved to where others were."""

    @abstractmethod
    async def read_lines(self, ask: AskLine) -> T:
        """Read the answer line by line. Raises EOFError at the end of input."""

    @abstractmethod
    def unattended(self, reason: str = NOBODY) -> T:
        """Return the answer where nobody can be asked, for this reason."""

    @abstractmethod
    def unanswered(self, reason: str) -> T:
        """Return the answer if nobody gave one, for this reason."""

    @abstractmethod
    def closing_line(self, answer: T) -> Notice:
        """Return the line that says what was answered."""
