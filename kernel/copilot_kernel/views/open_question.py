"""One question to the user: what it shows, how its answer is read, its widgets, and that one answer.

For a moment after buttons appeared, or after something moved under the pointer, no click on a guarded answer counts: it
may have been meant for what stood there before. A no counts at once.

The kinds of questions are in `permission_question.py` and `other_questions.py`; `questions.py` asks them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Set
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager, suppress
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ..conversation.model import Notice
from ..rendering.markup import Bundle
from ..rendering.question import OPEN

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive

T = TypeVar("T")

CALM_SECONDS = 1.5
"""Time after a guard until what shifts the card guards it again; twice as long each time, so that it can be answered
even below an output that never stops.
"""

NOBODY = "no one can answer here"
_NO_ENTRY = count(-1, -1)  # ids of questions that are about no entry

AskLine = Callable[[str], Awaitable[str]]
"""Asks for a line of input with a prompt. Raises EOFError at the end of input."""


class CardCell(Protocol):
    """The cell of a card. What its widgets send inside `owning` belongs to the cell."""

    guard_seconds: float

    def owning(self) -> AbstractContextManager[None]: ...


class Card:
    """One question's widgets in `cell`."""

    def __init__(self, cell: CardCell, widget: Interactive) -> None:
        self.widget, self._cell = widget, cell
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._calm, self._calm_until = CALM_SECONDS, 0.0

    def guard(self) -> None:
        """Let no click on a guarded answer count for a moment."""
        self._stop_timer()
        with self._cell.owning():
            self.widget.hold()
        self._timer = self._loop.call_later(self._cell.guard_seconds, self._release)

    def shifted(self) -> None:
        """Guard it, but only so often that it can be answered."""
        now = self._loop.time()
        if now >= self._calm_until:
            self._calm_until = now + self._cell.guard_seconds + self._calm
            self._calm *= 2
            self.guard()

    async def is_drawn(self, seconds: float) -> bool:
        """Return whether a client draws it within that time."""
        drawn = asyncio.Event()
        with self._cell.owning():
            self.widget.probe(lambda: self._loop.call_soon_threadsafe(drawn.set))
        try:
            async with asyncio.timeout(seconds):
                return await drawn.wait()
        except TimeoutError:
            return False

    def close(self) -> None:
        """Take it out of the cell."""
        self._stop_timer()
        with self._cell.owning():
            self.widget.close()

    def _release(self) -> None:
        with self._cell.owning():
            self.widget.release()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class OpenQuestion(ABC, Generic[T]):
    """One question, which is asked once.

    `entry_id` is the entry that it is about, or else a negative number of its own. `key` names it to the page and
    cannot be guessed; `title` says on one line what is asked. While it is open, `bundle` is shown, and below it
    `buttons`, if they have a display of their own: in a notebook that was saved meanwhile they are dead. `card` has its
    widgets, where there are any. `shown` is set when the front end was sent it.
    """

    languages: Set[str] = frozenset()
    """Languages whose lexers are needed to draw it."""
    always_leaves_line = True
    """Say what became of it even if nobody could be asked: nothing else does."""

    def __init__(self, title: str, entry_id: int | None = None) -> None:
        self.entry_id = next(_NO_ENTRY) if entry_id is None else entry_id
        self.key, self.title, self.shown = token_hex(), title, asyncio.Event()
        self.answer: Future[T] = Future()
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
        """The question as a console prints it, without the remark for saved notebooks."""
        return {**self.static, "text/plain": self.static["text/plain"].rpartition(f"\n{OPEN}")[0]}

    @abstractmethod
    def make_widgets(self, on_move: Callable[[], object]) -> Interactive:
        """Make the widgets that settle it. `on_move` is to be called when buttons have moved to where others were."""

    @abstractmethod
    async def read_lines(self, ask: AskLine) -> T:
        """Read the answer line by line. Raises EOFError at the end of input."""

    @abstractmethod
    def unattended(self) -> T:
        """Return the answer where nobody can be asked."""

    @abstractmethod
    def unanswered(self, reason: str) -> T:
        """Return the answer if nobody gave one, for this reason."""

    @abstractmethod
    def closing_line(self, answer: T) -> Notice:
        """Return the line that says what was answered."""
