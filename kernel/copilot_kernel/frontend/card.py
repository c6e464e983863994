"""The buttons of a question's card: what a click means, and when it counts.

An answer that allows is guarded: for a moment after the card appeared, or after something moved under the pointer, no
click on it counts. A no counts at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..acp.messages import Option
from ..permissions import policy
from ..permissions.question import Answer, Question
from ..rendering.plain import visible_text
from ..rendering.question import is_alarming
from ..rendering.reasons import STANDING, remark
from .cell import Bundle, Cell

if TYPE_CHECKING:
    from copilot_widgets.button import Choice
    from copilot_widgets.entry import Entry

GUARD_SECONDS = 0.7
"""Long enough to see that something else stands there now, shorter than reading it takes."""

CALM_SECONDS = 1.5
"""After a guard, until what shifts the card guards it again; twice as long each time, so that it can be answered even
below an output that never stops."""

_HINTS = {
    "allow_once": "allows this once",
    "allow_always": "allows this and what the agent takes for the same from now on",
    "reject_once": "does not allow this",
    "reject_always": "does not allow this, nor what the agent takes for the same from now on",
}
_SAVE = "Save & allow"
_ONE_LINE = 36
"""Characters that a narrow field shows whole."""
_KEEP = ("for this notebook's session", "in my settings")


class Card:
    """One question. `answer` is what was clicked first; what is clicked later is nothing.

    `moved` is called, on the loop, when the card became higher or lower.
    """

    def __init__(self, cell: Cell, question: Question, root: str, moved: Callable[[], None]) -> None:
        from copilot_widgets.permission import PermissionQuestion

        self._cell, self._question, self._root, self._on_moved = cell, question, root, moved
        self._doubted = ""
        """The rule that was doubted last; pressed again, it is saved."""
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._calm, self._calm_until = CALM_SECONDS, 0.0
        self.answer: asyncio.Future[Answer] = self._loop.create_future()
        primary = "" if is_alarming(question, root) else "primary"
        choices = [_choice(option, primary) for option in question.options]
        with cell.owning():
            self._widget = PermissionQuestion(choices, self._choose, list(self._entries()), self._moved)

    def bundle(self) -> Bundle:
        """The buttons and fields, where there are widgets; what is asked stands above them."""
        return self._widget.bundle()

    def probe(self, on_drawn: Callable[[], None]) -> None:
        """Find out whether a client draws the buttons; `on_drawn` may be called on another thread."""
        self._widget.probe(on_drawn)

    def guard(self) -> None:
        """It has just appeared, or moved."""
        self._stop_timer()
        with self._cell.owning():
            self._widget.hold()
        self._timer = self._loop.call_later(GUARD_SECONDS, self._release)

    def shifted(self) -> None:
        """What stands above it is about to become higher or lower."""
        now = self._loop.time()
        if now >= self._calm_until:
            self._calm_until = now + GUARD_SECONDS + self._calm
            self._calm *= 2
            self.guard()

    def close(self) -> None:
        """Take it out of the cell."""
        self._stop_timer()
        with self._cell.owning():
            self._widget.close()

    def _release(self) -> None:
        with self._cell.owning():
            self._widget.release()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _moved(self) -> None:
        self._loop.call_soon_threadsafe(self._on_moved)

    def _choose(self, number: int) -> None:
        self._settle(Answer(self._question.options[number], "you"))

    def _settle(self, answer: Answer) -> None:
        self._loop.call_soon_threadsafe(lambda: None if self.answer.done() else self.answer.set_result(answer))

    def _entries(self) -> list[Entry]:
        """The ways to answer that take some text."""
        question = self._question
        allow = next((option for option in question.options if option.kind == "allow_once"), None)
        reject = policy.reject(question.options)
        rule = [self._rule(allow)] if allow and question.suggestion else []
        return [*rule, self._reason(reject)] if reject else rule

    def _rule(self, allow: Option) -> Entry:
        from copilot_widgets.button import Choice
        from copilot_widgets.entry import Entry

        def save(text: str, place: int) -> str:
            rule = text.strip()
            complaint = self._complaint(rule)
            if not complaint:
                self._settle(Answer(allow, "you", rule=rule, keep="settings" if place else "session"))
            return visible_text(complaint)

        return Entry(
            opens=Choice(
                "Always allow by a rule…", "a rule of yours, which you can change before it is saved", quiet=True
            ),
            label="Rule",
            submit=Choice(_SAVE, "saves the rule, and allows this once", "primary", guarded=True),
            on_submit=save,
            hint="Calls that it covers are no longer asked about.",
            value=visible_text(self._question.suggestion),
            lines=1 if len(self._question.suggestion) <= _ONE_LINE else 2,
            places=_KEEP,
        )

    def _complaint(self, rule: str) -> str:
        """What is no rule is never taken; a rule that is doubted is taken when it is sent again."""
        if problem := policy.rule_problem(rule):
            return problem
        doubt = policy.rule_doubt(rule, self._question, self._root, os.path.expanduser("~"))
        if not doubt or rule == self._doubted:
            return ""
        self._doubted = rule
        return f"{doubt} Press “{_SAVE}” again to save it all the same."

    def _reason(self, reject: Option) -> Entry:
        from copilot_widgets.button import Choice
        from copilot_widgets.entry import Entry

        def tell(text: str, _: int) -> str:
            if not text.strip():
                return "Write a reason, or go back and reject without one."
            self._settle(Answer(reject, "you", feedback=text.strip()))
            return ""

        return Entry(
            opens=Choice("Reject with a reason…", "does not allow this, and tells the agent why", quiet=True),
            label="Tell the agent why",
            submit=Choice("Reject & tell", "does not allow this, and tells the agent why"),
            on_submit=tell,
            hint="It is sent as your next prompt.",
            lines=3,
        )


def _choice(option: Option, primary: str) -> Choice:
    """Whatever is not a no is guarded: an unknown kind may allow. What the agent keeps stands back."""
    from copilot_widgets.button import Choice

    return Choice(
        name=visible_text(option.name),
        hint=_HINTS.get(option.kind, ""),
        style=primary if option.kind == "allow_once" else "",
        guarded=option.kind not in ("reject_once", "reject_always"),
        quiet=option.kind in STANDING,
        remark=remark(option),
    )
