"""Reports a turn to the page: who works, what is asked, how long it took. The page asks where buttons in cells cannot.

Those are widgets. Their clicks wait as long as code blocks the kernel, and they are not shown in the second of two
notebooks of a page that share a kernel; what the page itself shows does not need them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..rendering.plain import one_line, visible_text
from .page import Page

if TYPE_CHECKING:
    from ..views.open_question import OpenQuestion

MAX_TITLE_CHARS = 200

Blocked = Callable[[], Awaitable[None]]
"""Waits until code blocks the kernel."""


class PageReporter:
    """Reports the turn of one cell. Without a page, or where nothing can be `blocked`, it reports and asks nothing.

    `asks_all`: only the page can ask, and it asks whatever has buttons.
    """

    def __init__(
        self, page: Page | None = None, cell_id: str = "", blocked: Blocked | None = None, *, asks_all: bool = False
    ) -> None:
        self.page, self.cell_id, self._blocked, self._asks_all = page, cell_id, blocked, asks_all
        self._titles: dict[str, str] = {}
        """Titles of the open questions, by their keys."""
        self._began = 0.0
        self._agent: Callable[[], str] = str
        self._standing: Sequence[str] | None = None

    def begin(self, agent: Callable[[], str]) -> None:
        """The turn begins. `agent` returns the agent's title, empty as long as it is unknown."""
        self._began, self._agent = time.monotonic(), agent
        self._post("turn", state="working", agent=agent(), cell=self.cell_id)

    def end(self, touched: Sequence[str]) -> None:
        """The turn has ended, if it had begun. `touched` are the cells that were changed or run."""
        if not self._began:
            return
        self._titles.clear()
        self._post_questions()
        seconds = round(time.monotonic() - self._began, 1)
        self._post("turn", state="idle", agent=self._agent(), seconds=seconds, cells=list(touched))

    def report(self, standing: Sequence[str]) -> None:
        """Show `AgentCommands.standing` in the page, also between turns, until the next call."""
        if self._standing != standing:
            self._standing = standing
            self._post("standing", words=" · ".join(standing))

    async def follow(self, question: OpenQuestion[Any]) -> None:
        """Report that `question` waits, and have the page ask it where buttons in cells do not work.

        Ends when it is cancelled: then the page shows it no longer.
        """
        if self.page is None:
            return
        await self.page.arrives()
        can_ask = question.answers is not None
        waits = not can_ask or (self.page.has_widgets and not self._asks_all)
        if waits:
            await question.shown.wait()
        with self._listed(question):
            if waits:
                await (self._blocked() if self._blocked and can_ask else asyncio.Event().wait())
            await self.page.ask(question)

    @contextmanager
    def _listed(self, question: OpenQuestion[Any]) -> Iterator[None]:
        """Inside, it is one of the open questions."""
        self._titles[question.key] = visible_text(one_line(question.title)[:MAX_TITLE_CHARS])
        self._post_questions()
        try:
            yield
        finally:
            if self._titles.pop(question.key, None) is not None:
                is_answered = question.answer.done() and not question.answer.cancelled()
                words = question.closing_line(question.answer.result()).title if is_answered else ""
                self._post_questions({question.key: visible_text(words)})

    def _post_questions(self, answered: Mapping[str, str] | None = None) -> None:
        """Post the open questions, the answer to one by its key, and who asks.

        At the beginning of the turn, that may not have been known.
        """
        waiting = [{"key": key, "cell": self.cell_id, "title": title} for key, title in self._titles.items()]
        self._post("questions", waiting=waiting, answered=answered or {}, agent=self._agent())

    def _post(self, event: str, **more: object) -> None:
        if self.page is not None:
            self.page.post(event, **more)
