"""What a cell shows of its turn: entries go to its page, questions to whoever can answer them.

A page is a notebook's (`page.py`: slots that are drawn again), a console's (`console.py`: lines that are printed) or
that of a run without a reader (`batch.py`: slots that are sent once).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

import anyio

from ..acp.elicitation import Elicitation, ElicitationAnswer
from ..conversation.model import Attachment, Entry, Message, Notice
from ..errors import trace
from ..permissions.question import Answer, Question
from ..rendering.elicitation import answer_line
from ..rendering.footer import render_footer
from ..rendering.plain import one_line, visible_line, visible_text
from .activity import kept_active
from .asking import Asking
from .batch import Batch
from .cell import Cell
from .console import Console
from .eliciting import Eliciting
from .output_area import Page
from .presence import UNSEEN
from .slots import MOST_QUESTIONS, OpenQuestion

if TYPE_CHECKING:
    from ..chat import Turn

_LONGEST_TITLE = 200

_log = logging.getLogger(__name__)


class Display:
    """The `View` of one cell. Paths inside the agent's folder `cwd` are shown relative to it.

    `replays`: the cell shows what was said before, by both. `activity_timeout`: so many seconds a question counts as
    activity.
    """

    def __init__(
        self,
        cell: Cell,
        asking: Asking,
        *,
        cwd: str = "",
        replays: bool = False,
        activity_timeout: float = 0.0,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._replays = replays
        self._cell, self._asking, self._eliciting = cell, asking, Eliciting(cell)
        self._loop, self._activity_timeout = loop or asyncio.get_running_loop(), activity_timeout
        self._page = _page(cell, self._loop, cwd or os.getcwd())
        self._seats = anyio.Semaphore(MOST_QUESTIONS)
        self._places = count(-1, -1)
        """What is no entry of the conversation has a negative number."""
        self.unseen: list[str] = []
        """What was asked in questions that were cancelled because no client showed them."""

    def show(self, entry: Entry) -> None:
        """`entry` is new or changed; what the user said is the cell itself, but for a replay."""
        if isinstance(entry, Message | Attachment) and entry.speaker == "user" and not self._replays:
            return
        try:
            self._page.put(entry)
        # A bug in drawing one entry must not end the turn, nor the connection that the entry came by.
        except Exception as error:
            _log.error("an entry could not be shown: %s %d: %s", type(entry).__name__, entry.id, trace(error))

    def status(self, words: str) -> None:
        """A passing line, for whoever watches."""
        self._page.status(words)

    async def ask(self, question: Question) -> Answer:
        """The one answer to `question`; if this is cancelled, the question is withdrawn."""
        async with self._seats:
            with kept_active(self._cell, self._loop, self._activity_timeout):
                return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        answer = Answer(None, "cancel", "withdrawn")
        closing: list[Callable[[Notice], None]] = []

        def put(opened: OpenQuestion) -> None:
            closing.append(self._page.open_question(question.call.id, opened))

        try:
            answer = await self._asking.ask(question, put)
            return answer
        finally:
            self._check(answer.reason, question.call.best_title)
            line = Notice(
                -question.key, question.call.turn, "info", answer.words, visible_line(question.call.best_title)
            )
            for close in closing:
                close(line)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """What the user fills in or agrees to; if this is cancelled, the request is withdrawn."""
        async with self._seats:
            with kept_active(self._cell, self._loop, self._activity_timeout):
                return await self._elicit(request)

    async def _elicit(self, request: Elicitation) -> ElicitationAnswer:
        answer, place = ElicitationAnswer("cancel", reason="withdrawn"), next(self._places)
        closing: list[Callable[[Notice], None]] = []

        def put(opened: OpenQuestion) -> None:
            closing.append(self._page.open_question(place, opened))

        try:
            answer = await self._eliciting.elicit(request, put)
            return answer
        finally:
            self._check(answer.reason, request.message)
            line = Notice(place, 0, "info", answer_line(request, answer), request.message)
            for close in closing or [self._page.put]:
                close(line)

    def _check(self, reason: str, title: str) -> None:
        if reason == UNSEEN:
            self.unseen.append(visible_text(one_line(title)[:_LONGEST_TITLE]))

    def finish(self, turn: Turn) -> None:
        """The turn is over: send what waits, and the footer, if there is anything to say."""
        self._page.settle()
        used, size = (turn.context.used, turn.context.size) if turn.context else (None, None)
        footer = render_footer(
            agent=turn.agent,
            model=turn.model,
            mode=turn.mode,
            permission_mode=turn.permission_mode,
            unasked=turn.unasked,
            stop_reason=turn.stop_reason,
            used=used,
            size=size,
            seconds=turn.seconds,
            person_present=self._cell.live,
        )
        if footer is not None:
            self._page.add(footer, {"part": "footer"})

    def close(self) -> None:
        """Send what waits, also if the turn failed. What comes later is still drawn, as long as the kernel lives."""
        self._page.settle()


def _page(cell: Cell, loop: asyncio.AbstractEventLoop, cwd: str) -> Batch | Console | Page:
    if not cell.live:
        return Batch(cell, cwd)
    return Console(cell, loop, cwd) if cell.cell_id is None else Page(cell, loop, cwd)
