"""One conversation behind a Python notebook or a terminal: what is typed becomes a turn or a command.

How a cell waits for it is `waiting.py`'s business.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import CopilotError
from ..frontend import commands
from ..frontend.cell import Cell
from ..frontend.chat_runner import BREAK_LIMIT, CLOSE_LIMIT
from ..frontend.context import show
from ..frontend.kernel_session import KernelSession
from ..frontend.parse import Command, Prompt
from .engine import LoopThread
from .failing import REPORT, Cancelled, brief
from .front_end import Parents, Widgets
from .turn import Turn

if TYPE_CHECKING:
    from ..chat import Handover

Ended = asyncio.Task[Turn | None]

USAGE = (
    "%copilot PROMPT asks the agent, and so does %%copilot with the prompt below it. "
    "%copilot %help lists the commands. {expression} and $name are filled in; _copilot is the last answer."
)


class MagicSession:
    """Made at first use. Members with a leading underscore run on the loop thread. `before`: see `KernelSession`."""

    def __init__(self, before: Handover | None = None) -> None:
        self.engine, self.widgets = LoopThread(), Widgets()
        self.kernel_session = KernelSession(before)
        self._process = os.getpid()
        self._task: Ended | None = None
        self.interrupted = False
        """Since the last `begin`."""
        self._parents: Parents | None = None

    def begin(self) -> None:
        """A cell is about to wait for `run`; called on its thread."""
        self.interrupted = False

    async def run(self, cell: Cell, text: str) -> Ended:
        """What `text` asks for, until it is over, however it ends. On the engine's loop."""
        self.kernel_session.watched = cell.live
        self._task = task = asyncio.create_task(self._run(cell, text))
        await asyncio.wait({task})
        return task

    def interrupt(self) -> None:
        """Cancel at the agent, a second time end it; or cancel whatever else the cell waits for."""
        self.interrupted = True
        self.engine.call(partial(self._interrupt, time.monotonic()))

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
            self.engine.submit(work).result(BREAK_LIMIT + CLOSE_LIMIT + 1)

    async def _close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        await self.kernel_session.home.close(CLOSE_LIMIT)

    def _interrupt(self, at: float) -> None:
        if not self.kernel_session.home.cancel(at) and self._task is not None:
            self._task.cancel()

    async def _run(self, cell: Cell, text: str) -> Turn | None:
        if not text.strip():
            self._show_usage(cell)
        turn = None
        self.widgets.probe(cell)
        try:
            for step in await commands.read(self.kernel_session.command_context, text):
                match step:
                    case Command():
                        await self.widgets.known()
                        await commands.run(self.kernel_session.command_context, cell, step)
                    case Prompt(prompt):
                        turn = await self._prompt(cell, prompt)
        except CopilotError as error:
            self._show_failure(cell, error)
            raise
        finally:
            self.kernel_session.tell_notices(cell)
        return turn

    async def _prompt(self, cell: Cell, text: str) -> Turn:
        from .display import PatientDisplay

        return Turn(await self.kernel_session.prompt(cell, text, partial(PatientDisplay, widgets=self.widgets)))

    def _show_usage(self, cell: Cell) -> None:
        from ..frontend.report import Report

        show(cell, Report("%copilot", note=USAGE))

    def _show_failure(self, cell: Cell, error: CopilotError) -> None:
        from ..rendering.failure import render_failure

        cell.display(render_failure(error))


def outcome(ended: Ended, *, interrupted: bool) -> tuple[Turn | None, BaseException | None]:
    """The turn, if there is one, and what the cell ends with, if it did not end well.

    `interrupted`: an interrupt before the cell's end cancels it, also one that came while the answer was being drawn.
    """
    if ended.cancelled():
        return None, Cancelled()
    error = ended.exception()
    if isinstance(error, CopilotError):
        return None, brief(error)
    if error is not None:
        error.add_note(REPORT)
        return None, error
    turn = ended.result()
    if turn and interrupted:
        turn = turn.cancelled()
    return turn, Cancelled() if interrupted or (turn and turn.stop_reason == "cancelled") else None
