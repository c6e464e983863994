"""A question is put to whoever can answer it: buttons in the cell, a line of input, or nobody, and then it is rejected.

Where the question stands in the cell, and what replaces it afterwards, is `display.py`'s business.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

from ..permissions import policy
from ..permissions.question import Answer, Question
from ..rendering.question import question_html, question_text, render_question
from ..rendering.reasons import NO_BUTTONS, settings_for
from ..rendering.typed import prompt, typed_answer
from .card import Card
from .cell import Bundle, Cell
from .first import first
from .presence import UNSEEN, while_shown
from .slots import OpenQuestion

Show = Callable[[OpenQuestion], None]
"""Takes what is to stand in the cell while a question is open."""


ATTEMPTS = 10
"""So many answers may be none of the options before a typed question counts as not answered."""

NO_RULE = ", and no rule covers it; run the prompt in an open notebook, where you can answer"

_NOT_ANSWERED = Answer(None, "cancel", "no answer was given")

_log = logging.getLogger(__name__)


class Asking:
    """The questions of one cell. `root` is the agent's folder, which is the project's."""

    def __init__(self, cell: Cell, root: str = "") -> None:
        self._cell = cell
        self._root = root or os.getcwd()
        self._cards: set[Card] = set()

    async def ask(self, question: Question, show: Show) -> Answer:
        """The one answer to `question`. Cancelling it withdraws the question."""
        if not question.options:
            return Answer(None, "cancel", "the agent offered no answer")
        if not self._cell.live:
            return nobody(question)
        card = self._card(question) if self._cell.widgets else None
        if card is None:
            show(OpenQuestion(self._static(question), _nothing))
            return await self._typed(question)
        buttons = {**card.bundle(), "text/plain": NO_BUTTONS}
        show(OpenQuestion(self._static(question), card.close, buttons, card.shifted))
        self._opened(card)
        answer = while_shown(self._cell, card, card.answer, Answer(None, "cancel", UNSEEN))
        if self._cell.widgets_seen:
            return await answer
        return await first(answer, self._typed(question), decides=_decides)

    def _card(self, question: Question) -> Card | None:
        """None where ipywidgets does not work."""
        try:
            return Card(self._cell, question, self._root, self._guard)
        except Exception:
            _log.exception("no buttons, the question is asked in words")
            return None

    def _opened(self, card: Card) -> None:
        """When it is decided the others move up, under a pointer that has just clicked."""

        def decided(_: object) -> None:
            self._cards.discard(card)
            self._guard()

        self._cards.add(card)
        card.answer.add_done_callback(decided)
        card.guard()

    def _guard(self) -> None:
        for card in self._cards:
            card.guard()

    async def _typed(self, question: Question) -> Answer:
        """At the end of input the question counts as not answered."""
        for _ in range(ATTEMPTS):
            try:
                line = await self._cell.input(prompt(question))
            except EOFError:
                break
            if (answer := typed_answer(line, question)) is not None:
                return answer
        return _NOT_ANSWERED

    def _static(self, question: Question) -> Bundle:
        """A console prints it once, above the line of input."""
        if self._cell.cell_id is None:
            return {"text/plain": question_text(question, self._root), "text/html": question_html(question, self._root)}
        return render_question(question, self._root)


def nobody(question: Question) -> Answer:
    """The answer where nobody can be asked, with the narrowest settings that would allow it.

    Never the mode that allows everything: what is allowed here, nobody sees before it is done.
    """
    ways = " or ".join(settings_for(question.rules))
    how = f"; to allow it, set {ways}" if ways else NO_RULE
    return Answer(policy.reject(question.options), "nobody", f"nobody can be asked here{how}")


def _decides(answer: Answer) -> bool:
    """Not the end of input: the buttons are still there."""
    return answer is not _NOT_ANSWERED


def _nothing() -> None:
    """There are no widgets to close."""
