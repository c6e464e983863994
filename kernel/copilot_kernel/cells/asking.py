"""A question is put to whoever can answer it: buttons in the cell, a line of input, or nobody, and then it is rejected.

Where the question stands in the cell, and what replaces it afterwards, is `display.py`'s business.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import anyio

from ..permissions import policy
from ..permissions.question import Answer, Question
from ..rendering.plain import visible_text
from ..rendering.question import question_html, question_text
from .cell import Bundle, Cell

T = TypeVar("T")

Show = Callable[[Bundle, Callable[[], None]], None]
"""Takes what is to stand in the cell while the question is open, and whom to call when it no longer does."""

ATTEMPTS = 10
"""So many answers may be none of the options before a typed question counts as not answered."""

_HINTS = {
    "allow_once": ("allows this once", "primary"),
    "allow_always": ("allows this and what the agent takes for the same from now on",),
    "reject_once": ("does not allow this",),
    "reject_always": ("does not allow this, nor what the agent takes for the same from now on",),
}
_NOT_ANSWERED = Answer(None, "cancel", "no answer was given")

_log = logging.getLogger(__name__)


class Asking:
    """The questions of one cell. `root` is the agent's folder, for saying which rule would allow a call."""

    def __init__(self, cell: Cell, root: str = "") -> None:
        self._cell = cell
        self._root = root or os.getcwd()

    async def ask(self, question: Question, show: Show) -> Answer:
        """The one answer to `question`. Cancelling it withdraws the question."""
        if not question.options:
            return Answer(None, "cancel", "the agent offered no answer")
        if not self._cell.live:
            return nobody(question, self._root)
        buttons = self._buttons(question, show) if self._cell.widgets else None
        if buttons is None:
            show(_static(question), _nothing)
            return await self._typed(question)
        if self._cell.widgets_seen:
            return await buttons
        return await first(buttons, self._typed(question), decides=lambda answer: answer.option is not None)

    def _buttons(self, question: Question, show: Show) -> asyncio.Future[Answer] | None:
        """Show the buttons: the future is the click. None where ipywidgets does not work."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()

        def choose(number: int) -> None:
            loop.call_soon_threadsafe(_settle, answer, Answer(question.options[number], "you"))

        try:
            bundle, close = self._widget(question, choose)
        except Exception:
            _log.exception("no buttons, the question is asked in words")
            return None
        show({**bundle, **_static(question)}, close)
        return answer

    def _widget(self, question: Question, choose: Callable[[int], None]) -> tuple[Bundle, Callable[[], None]]:
        from copilot_widgets.permission import Choice, PermissionQuestion

        def close() -> None:
            with self._cell.owning():
                widget.close()

        choices = [Choice(visible_text(option.name), *_HINTS.get(option.kind, ())) for option in question.options]
        with self._cell.owning():
            widget = PermissionQuestion(question_html(question), choices, choose)
        return widget.bundle(), close

    async def _typed(self, question: Question) -> Answer:
        """A number or a name; at the end of input the question counts as not answered."""
        names = [" ".join(visible_text(option.name).split()) for option in question.options]
        prompt = "  ".join(f"{number}) {name}" for number, name in enumerate(names, 1)) + ": "
        for _ in range(ATTEMPTS):
            try:
                typed = await self._cell.input(prompt)
            except EOFError:
                break
            if (option := named(typed, names, question.options)) is not None:
                return Answer(option, "you")
        return _NOT_ANSWERED


def nobody(question: Question, root: str) -> Answer:
    """The answer where nobody can be asked, with the settings that would allow it."""
    names = policy.rules_for(question.call, question.options, root)
    rules = (f"COPILOT_KERNEL_ALLOW='[\"{name}\"]'" for name in names)
    ways = " or ".join([*rules, "COPILOT_KERNEL_PERMISSION_MODE=bypassPermissions"])
    return Answer(policy.reject(question.options), "nobody", f"nobody can be asked here; to allow it, set {ways}")


async def first(*ways: Awaitable[T], decides: Callable[[T], bool]) -> T:
    """The first answer that decides; the other ways are withdrawn. A way that gives up leaves it to the others."""
    answers: list[T] = []

    async def go(way: Awaitable[T], rivals: anyio.CancelScope) -> None:
        answer = await way
        if not rivals.cancel_called:
            answers.append(answer)
        if decides(answer):
            rivals.cancel()

    async with anyio.create_task_group() as tasks:
        for way in ways:
            tasks.start_soon(go, way, tasks.cancel_scope)
    return answers[-1]


def _settle(answer: asyncio.Future[Answer], chosen: Answer) -> None:
    """Whatever is clicked, and however often: the first click is the answer."""
    if not answer.done():
        answer.set_result(chosen)


def named(typed: str, names: Sequence[str], options: Sequence[T]) -> T | None:
    """The option whose number or (unambiguous) name was typed."""
    word = " ".join(typed.split()).casefold()
    numbers = [str(number) for number in range(1, len(options) + 1)]
    if word in numbers:
        return options[numbers.index(word)]
    found = [option for name, option in zip(names, options, strict=True) if name.casefold() == word]
    return found[0] if len(found) == 1 else None


def _static(question: Question) -> dict[str, Any]:
    return {"text/plain": question_text(question), "text/html": question_html(question)}


def _nothing() -> None:
    """There are no widgets to close."""
