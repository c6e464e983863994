"""The open questions of a cell: asks them and waits for their answers.

The user answers with a click, in a line of input, or in the page's own card.

VS Code handles no message while it asks for a line of input, so the kernel asks for one only if no button
appears there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio

from ..conversation.model import Notice
from ..rendering.question import NO_BUTTONS
from ..views.lexers import load
from ..views.open_question import Card, OpenQuestion
from . import vs_code
from .batch import Batch
from .cell import Cell
from .slots import MAX_QUESTIONS

if TYPE_CHECKING:
    from .console import Console
    from .output_area import OutputArea

T = TypeVar("T")

ACTIVITY_SECONDS = 60.0
"""Time between two signs of activity. Cullers look for minutes without a message from the kernel."""

QUESTION_WITHDRAWN = "withdrawn"
NOT_ANSWERED = "no answer was given"

_log = logging.getLogger(__name__)


class Reporter(Protocol):
    """Reports of open questions."""

    async def follow(self, question: OpenQuestion[Any]) -> None:
        """Report that `question` waits, until this is cancelled. It may be answered by whoever reads the report."""


class Questions:
    """The open questions of one cell, which are shown in `output`.

    `reporter` gets reports of them, and has the page ask them while code blocks the kernel. `activity_timeout`: seconds
    for which a question counts as activity of the kernel.
    """

    def __init__(
        self, cell: Cell, output: Batch | Console | OutputArea, reporter: Reporter, activity_timeout: float = 0.0
    ) -> None:
        self._cell, self._output, self._reporter = cell, output, reporter
        self._is_vs_code = vs_code.is_cell(cell.cell_id)
        self._loop, self._activity_timeout = asyncio.get_running_loop(), activity_timeout
        self._seats = anyio.Semaphore(MAX_QUESTIONS)
        self._drawing = asyncio.Lock()
        self._cards: list[Card] = []

    async def ask(self, question: OpenQuestion[T]) -> T:
        """Ask `question` and return its answer. Cancelling the call withdraws the question."""
        close: Callable[[Notice], None] | None = self._output.put if question.always_leaves_line else None
        answer = question.unanswered(QUESTION_WITHDRAWN)
        async with self._seats:
            try:
                if not self._cell.live:
                    answer = question.unattended()
                    return answer
                async with self._drawing:  # simultaneous questions keep their order
                    await load({*question.languages})
                    await self._cell.widgets_known()
                close = self._show(question)
                answer = await self._answer(question)
                return answer
            finally:
                self._remove(question.card)
                if close is not None:
                    close(question.closing_line(answer))

    def _show(self, question: OpenQuestion[T]) -> Callable[[Notice], None]:
        """Show the question, with buttons if possible; return the function that closes it."""
        cell = self._cell
        assert not isinstance(self._output, Batch), "nobody is asked in a batch run"
        question.bundle = question.printed if cell.cell_id is None else question.static
        if cell.widgets and not (self._is_vs_code and cell.front_end.undrawn):
            self._add_buttons(question)
        close = self._output.open_question(question)
        if question.card is not None:
            self._cards.append(question.card)
            question.card.guard()
            self._number_all()
        return close

    def _add_buttons(self, question: OpenQuestion[T]) -> None:
        """Make the buttons, if ipywidgets works. In VS Code, question and buttons share one box."""
        try:
            with self._cell.owning():
                widget = question.make_widgets(lambda: self._loop.call_soon_threadsafe(self._guard_all))
                if self._is_vs_code:
                    widget.say(str(question.bundle["text/html"]))
                    question.bundle = {**question.bundle, **widget.bundle()}
                else:
                    question.buttons = {**widget.bundle(), "text/plain": NO_BUTTONS}
        except Exception:
            _log.exception("widgets failed; the question is asked as text")
        else:
            question.card = Card(self._cell, widget)

    async def _answer(self, question: OpenQuestion[T]) -> T:
        """Return the first answer, and end the other ways to answer."""
        async with anyio.create_task_group() as ways:
            ways.start_soon(self._keep_active)
            for way in (self._ask_line, self._reporter.follow):
                ways.start_soon(way, question)
            answer = await asyncio.wrap_future(question.answer)
            ways.cancel_scope.cancel()
        return answer

    async def _keep_active(self) -> None:
        """Send signs of activity for `activity_timeout` seconds, so that no culler ends the kernel."""
        end = self._loop.time() + self._activity_timeout
        while self._loop.time() + ACTIVITY_SECONDS < end:
            await asyncio.sleep(ACTIVITY_SECONDS)
            self._cell.busy()

    async def _ask_line(self, question: OpenQuestion[Any]) -> None:
        """Ask for lines of input, unless the buttons work. At the end of input, the buttons can still answer."""
        cell, card, is_vs_code = self._cell, question.card, self._is_vs_code
        if is_vs_code:
            await question.shown.wait()
            if card is not None and await card.is_drawn(vs_code.DRAW_SECONDS):
                return
            cell.front_end.undrawn |= card is not None
        elif card is not None and cell.front_end.widgets_seen:
            return
        try:
            # VS Code asks apart from the cell, at the top of its window.
            title = f"{question.title} " if is_vs_code else ""
            answer = await question.read_lines(lambda prompt: cell.input(title + prompt))
        except EOFError:
            if is_vs_code or card is None:
                question.settle(question.unanswered(NOT_ANSWERED))
        else:
            question.settle(answer)

    def _remove(self, card: Card | None) -> None:
        """Remove `card`. Guard the others: they move up, under a pointer that has just clicked."""
        if card in self._cards:
            self._cards.remove(card)
            self._guard_all()
            self._number_all()

    def _guard_all(self) -> None:
        for card in self._cards:
            card.guard()

    def _number_all(self) -> None:
        with self._cell.owning():
            for number, card in enumerate(self._cards, 1):
                card.widget.number(number, len(self._cards))
