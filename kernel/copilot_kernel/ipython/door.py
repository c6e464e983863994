"""One conversation behind a Python notebook or a terminal: what is typed becomes a turn or a command.

How a cell waits for it is `waiting.py`'s business.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..cells.cell import Cell
from ..commands.parse import Command, Prompt
from ..desk import commands
from ..desk.desk import Desk, show
from ..desk.home import CLOSE_LIMIT, Home
from ..errors import CopilotError
from .engine import Engine
from .failing import REPORT, Cancelled, brief
from .front_end import Parents, Widgets
from .turn import Turn

if TYPE_CHECKING:
    from ..chat import Chat
    from ..config import Settings

Ended = asyncio.Task[Turn | None]

USAGE = (
    "%copilot PROMPT asks the agent, and so does %%copilot with the prompt below it. "
    "%copilot %help lists the commands. {expression} and $name are filled in; _copilot is the last answer."
)


class Door:
    """Made at first use. Everything with a leading underscore happens on the engine's loop."""

    def __init__(self) -> None:
        self.engine, self.widgets = Engine(), Widgets()
        self.home = Home(self._make_chat)
        self.desk = Desk(self.home, self._load_settings)
        self._process = os.getpid()
        self._watched = False
        self._notices: list[str] = []
        self._warnings: list[str] = []
        """Rules that mean more than they seem to: told where somebody watches."""
        self._task: Ended | None = None
        self._parents: Parents | None = None

    async def run(self, cell: Cell, text: str) -> Ended:
        """What `text` asks for, until it is over, however it ends. On the engine's loop."""
        self._watched = cell.live
        self._task = task = asyncio.create_task(self._run(cell, text))
        await asyncio.wait({task})
        return task

    def interrupt(self) -> None:
        """Cancel at the agent, a second time end it; or cancel whatever else the cell waits for."""
        self.engine.call(self._interrupt)

    def watch_parents(self, kernel: Any, events: Any) -> None:
        """See `Parents`; `kernel` is ipykernel's."""
        if self._parents is None:
            self._parents = Parents(kernel, events)
            self._parents.watch()

    def close(self) -> None:
        """End the agent, in bounded time. A child process that was forked off leaves the agent to its parent."""
        if os.getpid() != self._process:
            return
        if self._parents is not None:
            self._parents.leave()
            self._parents = None
        if self.engine.runs:
            self._bounded(self._close())
        self.engine.stop()

    def _bounded(self, work: Coroutine[Any, Any, None]) -> None:
        with suppress(TimeoutError):
            self.engine.submit(work).result(CLOSE_LIMIT + 1)

    async def _close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        await self.home.close(CLOSE_LIMIT)

    def _interrupt(self) -> None:
        if not self.home.cancel() and self._task is not None:
            self._task.cancel()

    async def _run(self, cell: Cell, text: str) -> Turn | None:
        if not text.strip():
            self._show_usage(cell)
        turn = None
        self.widgets.probe(cell)
        try:
            for step in await commands.read(self.desk, text):
                match step:
                    case Command():
                        await self.widgets.known()
                        await commands.run(self.desk, cell, step)
                    case Prompt(prompt):
                        turn = await self._prompt(cell, prompt)
        except CopilotError as error:
            self._show_failure(cell, error)
            raise
        finally:
            self._tell_notices(cell)
        return turn

    async def _prompt(self, cell: Cell, text: str) -> Turn:
        from ..acp.messages import Text
        from ..cells.asking import Asking
        from ..chat.attachments import mentions
        from .display import PatientDisplay

        folder = self.desk.settings.folder
        self._tell_notices(cell)
        display = PatientDisplay(cell, Asking(cell, folder), self.widgets, cwd=folder)
        try:
            turn = await self.home.ask([Text(text), *mentions(text, folder)], display)
            display.finish(turn)
        finally:
            display.close()
        return Turn(turn)

    def _make_chat(self) -> Chat:
        from ..chat import Chat
        from ..config import notebook

        return Chat(self.desk.settings, notebook() if self._watched else "")

    def _load_settings(self) -> Settings:
        from .. import config
        from ..permissions.rulebook import Rulebook

        settings = config.load()
        book = Rulebook.of(settings)
        self._notices += [f"Setting ignored: {problem}\n" for problem in (*settings.problems, *book.problems)]
        self._warnings += [f"Careful: {warning}\n" for warning in book.warnings]
        return settings

    def _tell_notices(self, cell: Cell) -> None:
        notices, self._notices = self._notices, []
        if cell.live:
            notices, self._warnings = [*notices, *self._warnings], []
        for notice in notices:
            cell.stream(notice, "stderr")

    def _show_usage(self, cell: Cell) -> None:
        from ..commands.report import Report

        show(cell, Report("%copilot", note=USAGE))

    def _show_failure(self, cell: Cell, error: CopilotError) -> None:
        from ..rendering.failure import render_failure

        cell.display(render_failure(error))


def outcome(ended: Ended) -> tuple[Turn | None, BaseException | None]:
    """The turn, if there is one, and what the cell ends with, if it did not end well."""
    if ended.cancelled():
        return None, Cancelled()
    error = ended.exception()
    if isinstance(error, CopilotError):
        return None, brief(error)
    if error is not None:
        error.add_note(REPORT)
        return None, error
    turn = ended.result()
    return turn, Cancelled() if turn and turn.stop_reason == "cancelled" else None
