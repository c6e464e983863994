"""The open questions of a cell: asks them and waits for their answers.

The user answers with a click, in a line of input, or in the page's own card.

For a moment after buttons appeared, or after something moved under the pointer, no click on a guarded answer counts: it
may have been meant for what stood there before. A no counts at once.

VS Code handles no message while it asks for a line of input, so the kernel asks for one only if no button
appears there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
from copilot_widgets.answers import CALM_SECONDS

from ..conversation.model import Entry, Notice
from ..rendering.question import NO_BUTTONS
from ..views.lexers import load
from ..views.open_question import OpenQuestion
from .cell import Bundle, Cell

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive

T = TypeVar("T")

MAX_QUESTIONS = 6
"""Questions that stand in a cell at once; `Slots` keeps two slots for each when the others are used up."""

ACTIVITY_SECONDS = 60.0
"""Time between two signs of activity. Cullers look for minutes without a message from the kernel."""

QUESTION_WITHDRAWN = "withdrawn"
NOT_ANSWERED = "no answer was given"
NO_FORM = "a cell that a server runs shows no form; fill it in where JupyterLab runs the cells itself"

_log = logging.getLogger(__name__)


class Card:
    """One question's widgets in `cell`."""

    def __init__(self, cell: Cell, widget: Interactive) -> None:
        self.widget, self._cell = widget, cell
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._calm, self._calm_until = CALM_SECONDS, 0.0

    def guard(self) -> None:
        """Let no click on a guarded answer count for a moment."""
        self._stop_timer()
        with self._cell.owning():
            self.widget.guard(holds=True)
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
            self.widget.guard(holds=False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


@dataclass(eq=False, slots=True)
class ShownQuestion:
    """An open question as a cell shows it: `bundle`, and below it `buttons`, if they have a display of their own.

    In a notebook that was saved meanwhile, the buttons are dead. `shown` is set when the front end was sent it.
    """

    entry_id: int
    shown: asyncio.Event
    bundle: Bundle
    buttons: Bundle | None = None
    card: Card | None = None


class TurnOutput(Protocol):
    """What one cell shows of a turn. By default, nothing passes, is asked or can be changed once it is shown."""

    def put(self, entry: Entry) -> None:
        """Show `entry`, new or changed, now or later."""

    def status(self, words: str) -> None:
        """Show a passing line, where it can be taken away again."""
        return

    def open_question(self, shown: ShownQuestion) -> Callable[[Notice], None]:
        """Show a question; return the function that closes it, with a line that says what was answered."""
        return self.put

    async def drawn(self) -> None:
        """Draw what waits, in steps between which the event loop does other things; `settle` does it in one."""
        return

    def settle(self) -> None:
        """Show everything that waits: probably nothing follows."""

    def add(self, bundle: Bundle, metadata: dict[str, Any]) -> str:
        """Show one more display, at the end; return the id by which it can be updated, empty if it cannot."""


class Reporter(Protocol):
    """Reports of open questions."""

    async def follow(self, question: OpenQuestion[Any]) -> None:
        """Report that `question` waits, until this is cancelled. It may be answered by whoever reads the report."""


class Questions:
    """The open questions of one cell, which are shown in `output`.

    `reporter` gets reports of them, and has the page ask them while code blocks the kernel. `activity_timeout`: seconds
    for which a question counts as activity of the kernel.
    """

    def __init__(self, cell: Cell, output: TurnOutput, reporter: Reporter, activity_timeout: float = 0.0) -> None:
        self._cell, self._output, self._reporter = cell, output, reporter
        self._activity_timeout = activity_timeout
        self._seats = anyio.Semaphore(MAX_QUESTIONS)
        self._drawing = asyncio.Lock()
        self._cards: list[Card] = []

    async def ask(self, question: OpenQuestion[T]) -> T:
        """Ask `question` and return its answer. Cancelling the call withdraws the question."""
        close: Callable[[Notice], None] | None = self._output.put if question.always_leaves_line else None
        answer, card = question.unanswered(QUESTION_WITHDRAWN), None
        async with self._seats:
            try:
                if not self._cell.live:
                    answer = question.unattended()
                    return answer
                if self._cell.server_run and question.answers is None:
                    answer = question.unattended(NO_FORM)
                    return answer
                async with self._drawing:  # simultaneous questions keep their order
                    await load({*question.languages})
                    if self._cell.widgets:
                        await self._cell.front_end.known()
                shown = self._shown(question)
                close, card = self._output.open_question(shown), shown.card
                if card is not None:
                    self._cards.append(card)
                    card.guard()
                    self._number_all()
                answer = await self._answer(question, card)
                return answer
            finally:
                self._remove(card)
                if close is not None:
                    close(question.closing_line(answer))

    def _shown(self, question: OpenQuestion[T]) -> ShownQuestion:
        """The question as it is shown, with buttons if possible."""
        cell = self._cell
        bundle = question.printed if cell.cell_id is None else question.static
        shown = ShownQuestion(question.entry_id, question.shown, bundle)
        if cell.widgets and not (cell.traits.draw_seconds and cell.front_end.undrawn):
            self._add_buttons(question, shown)
        return shown

    def _add_buttons(self, question: OpenQuestion[T], shown: ShownQuestion) -> None:
        """Make the buttons, if ipywidgets works."""
        loop = asyncio.get_running_loop()
        try:
            with self._cell.owning():
                widget = question.make_widgets(lambda: loop.call_soon_threadsafe(self._guard_all))
                if self._cell.traits.boxed:
                    widget.say(str(shown.bundle["text/html"]))
                    shown.bundle = {**shown.bundle, **widget.bundle()}
                else:
                    shown.buttons = {**widget.bundle(), "text/plain": NO_BUTTONS}
        except Exception:
            _log.exception("widgets failed; the question is asked as text")
        else:
            shown.card = Card(self._cell, widget)

    async def _answer(self, question: OpenQuestion[T], card: Card | None) -> T:
        """Return the first answer, and end the other ways to answer."""
        async with anyio.create_task_group() as ways:
            ways.start_soon(self._keep_active)
            ways.start_soon(self._ask_line, question, card)
            ways.start_soon(self._reporter.follow, question)
            answer = await asyncio.wrap_future(question.answer)
            ways.cancel_scope.cancel()
        return answer

    async def _keep_active(self) -> None:
        """Send signs of activity for `activity_timeout` seconds, so that no culler ends the kernel."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._activity_timeout
        while loop.time() + ACTIVITY_SECONDS < end:
            await asyncio.sleep(ACTIVITY_SECONDS)
            self._cell.busy()

    async def _ask_line(self, question: OpenQuestion[Any], card: Card | None) -> None:
        """Ask for lines of input, unless the buttons work. At the end of input, the buttons can still answer."""
        cell, traits = self._cell, self._cell.traits
        if cell.server_run:
            return
        if traits.draw_seconds:
            await question.shown.wait()
            if card is not None and await card.is_drawn(traits.draw_seconds):
                return
            cell.front_end.undrawn |= card is not None
        elif card is not None and cell.front_end.widgets_seen:
            return
        try:
            title = f"{question.title} " if traits.asks_apart else ""
            answer = await question.read_lines(lambda prompt: cell.input(title + prompt))
        except EOFError:
            if traits.draw_seconds or card is None:
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
