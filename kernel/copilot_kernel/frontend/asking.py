"""Ask for permission: buttons in the cell, or a line of input; in a batch run the request is rejected.

An answer that allows is guarded: for a moment after the buttons appeared, or after something moved under the pointer,
no click on it counts. A no counts at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..permissions import policy
from ..permissions.question import PermissionAnswer, Question
from ..rendering.answers import Choice, TextAnswer, answers_to
from ..rendering.permission_options import settings_for
from ..rendering.plain import visible_text
from ..rendering.question import headline, languages_in, question_html, question_text, render_question
from ..rendering.typed_answer import line_prompt, typed_answer
from .answering import MAX_ATTEMPTS, NOBODY, UNSEEN, AnswerWidgets, Show, answer_in_cell
from .cell import Bundle, Cell
from .lexers import load
from .page_turn import PageTurn
from .vs_code import boxed

if TYPE_CHECKING:
    from copilot_widgets.permission import AnswerButton, PermissionQuestion, TextEntry

GUARD_SECONDS = 0.7
"""Long enough to see that something else stands there now, shorter than reading it takes."""

CALM_SECONDS = 1.5
"""After a guard, until what shifts the card guards it again; twice as long each time, so that it can be answered even
below an output that never stops."""

NO_RULE = ", and no rule covers it; run the prompt in an open notebook, where you can answer"

# Characters that a narrow field shows whole.
_MAX_ONE_LINE = 36


class Asking:
    """The permission questions of one cell.

    `root` is the agent's folder, which is the project's; `guard_seconds` is given where clicks need no guard: in tests.
    `page` asks where code blocks the kernel.
    """

    def __init__(
        self, cell: Cell, root: str = "", guard_seconds: float | None = None, page: PageTurn | None = None
    ) -> None:
        self._cell, self._guard_seconds, self._page = cell, guard_seconds, page or PageTurn()
        self._root = root
        self._cards: list[Card] = []
        self._loading = asyncio.Lock()

    async def ask(self, question: Question, show: Show) -> PermissionAnswer:
        """The one answer to `question`. Cancelling it withdraws the question."""
        if not question.options:
            return PermissionAnswer(None, "cancel", "the agent offered no answer")
        if not self._cell.live:
            return rejected_unasked(question)
        async with self._loading:  # those that come together keep their order
            await load(languages_in(question))
        return await answer_in_cell(
            self._cell,
            show,
            static=self._static(question),
            make_widgets=lambda: Card(self._cell, question, self._root, self._cards, self._guard_seconds),
            typed=partial(self._typed, question),
            elsewhere=partial(self._page.ask, question, self._root),
            unseen=PermissionAnswer(None, "cancel", UNSEEN),
            undecided=PermissionAnswer(None, "cancel", "no answer was given"),
        )

    async def _typed(self, question: Question) -> PermissionAnswer | None:
        """None at the end of input."""
        asked = boxed(self._cell.cell_id, headline(question, self._root))
        for _ in range(MAX_ATTEMPTS):
            try:
                line = await self._cell.input(asked + line_prompt(question))
            except EOFError:
                return None
            if (answer := typed_answer(line, question)) is not None:
                return answer
        return None

    def _static(self, question: Question) -> Bundle:
        """A console prints it once, above the line of input."""
        if self._cell.cell_id is None:
            return {"text/plain": question_text(question, self._root), "text/html": question_html(question, self._root)}
        return render_question(question, self._root)


def rejected_unasked(question: Question) -> PermissionAnswer:
    """The answer in a batch run, with the narrowest settings that would allow it.

    Never the mode that allows everything: what is allowed here is done unseen.
    """
    ways = " or ".join(settings_for(question.rules))
    how = f"; to allow it, set {ways}" if ways else NO_RULE
    return PermissionAnswer(policy.reject(question.options), "none", f"{NOBODY}{how}")


class Card(AnswerWidgets[PermissionAnswer]):
    """The buttons of one question. `open_cards` are those of the cell; this one adds itself to them."""

    widget: PermissionQuestion

    def __init__(
        self, cell: Cell, question: Question, root: str, open_cards: list[Card], guard_seconds: float | None
    ) -> None:
        self._question, self._root, self._open_cards, self._seconds = question, root, open_cards, guard_seconds
        self._review = policy.RuleReview(question, root, os.path.expanduser("~"))
        self._timer: asyncio.TimerHandle | None = None
        self._calm, self._calm_until = CALM_SECONDS, 0.0
        super().__init__(cell, self._make)

    def opened(self) -> None:
        """Guard this card; when it is decided, the others move up, under a pointer that has just clicked."""

        def decided(_: object) -> None:
            self._open_cards.remove(self)
            self._guard_all()
            self._number_all()

        self._open_cards.append(self)
        self.answer.add_done_callback(decided)
        self.guard()
        self._number_all()

    def guard(self) -> None:
        """Let no click on an answer that allows count for a moment."""
        self._stop_timer()
        with self._cell.owning():
            self.widget.hold()
        self._timer = self._loop.call_later(self._guard_seconds, self._release)

    def shifted(self) -> None:
        """Guard it, but only so often that it can be answered."""
        now = self._loop.time()
        if now >= self._calm_until:
            self._calm_until = now + self._guard_seconds + self._calm
            self._calm *= 2
            self.guard()

    def close(self) -> None:
        """Take it out of the cell."""
        self._stop_timer()
        super().close()

    @property
    def _guard_seconds(self) -> float:
        return GUARD_SECONDS if self._seconds is None else self._seconds

    def _moved(self) -> None:
        self._loop.call_soon_threadsafe(self._guard_all)

    def _guard_all(self) -> None:
        for card in self._open_cards:
            card.guard()

    def _number_all(self) -> None:
        with self._cell.owning():
            for number, card in enumerate(self._open_cards, 1):
                card.widget.number(number, len(self._open_cards))

    def _release(self) -> None:
        with self._cell.owning():
            self.widget.release()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _make(self, settle: Callable[[PermissionAnswer], None]) -> PermissionQuestion:
        from copilot_widgets.permission import PermissionQuestion

        answers, options = answers_to(self._question, self._root), self._question.options
        under_rule = answers.rule.choices if answers.rule else ()
        choices = (*answers.choices, *under_rule, *answers.last)
        entries = []
        if answers.reason:
            entries.append(self._reason(answers.reason))
        if answers.rule:
            first = len(answers.choices)
            entries.append(self._rule(answers.rule, range(first, first + len(under_rule))))
        return PermissionQuestion(
            [_button(choice) for choice in choices],
            lambda number: settle(PermissionAnswer(options[choices[number].option], "you")),
            entries,
            self._moved,
        )

    def _rule(self, rule: TextAnswer, answers: Sequence[int]) -> TextEntry:
        from copilot_widgets.permission import AnswerButton, TextEntry

        def save(text: str, place: int) -> str:
            added = text.strip()
            complaint = self._review.complaint(added)
            if not complaint:
                option, keep = self._question.options[rule.option], rule.places[place].keep
                self.settle(PermissionAnswer(option, "you", rule=added, keep=keep))
            return visible_text(complaint)

        return TextEntry(
            opens=AnswerButton(rule.label, rule.hint, quiet=True),
            label=rule.field,
            submit=AnswerButton(rule.submit, rule.submit_hint, "primary", guarded=True),
            on_submit=save,
            hint=rule.note,
            value=rule.value,
            lines=1 if len(rule.value) <= _MAX_ONE_LINE else 2,
            places=tuple(place.label for place in rule.places),
            answers=tuple(answers),
        )

    def _reason(self, reason: TextAnswer) -> TextEntry:
        from copilot_widgets.permission import AnswerButton, TextEntry

        def send(text: str, _: int) -> str:
            if not text.strip():
                return reason.if_empty
            self.settle(PermissionAnswer(self._question.options[reason.option], "you", feedback=text.strip()))
            return ""

        return TextEntry(
            opens=AnswerButton(reason.label, reason.hint, quiet=True),
            label=reason.field,
            submit=AnswerButton(reason.submit, reason.submit_hint, "primary"),
            on_submit=send,
            hint=reason.note,
            lines=3,
        )


def _button(choice: Choice) -> AnswerButton:
    from copilot_widgets.permission import AnswerButton

    style = "primary" if choice.is_suggested else ""
    return AnswerButton(choice.label, choice.hint, style, guarded=choice.is_guarded, quiet=choice.is_remembered)
