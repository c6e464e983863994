"""The conversation behind `%copilot`: what the user typed becomes a turn or a command.

The agent lives on an event loop in a thread of its own. The user's loop stays the user's, and a magic in a function, a
cell that computes for minutes or the loop of another library cannot keep the agent waiting. `waiting.py` is how a cell
waits.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from ..commands.chat_runner import BREAK_LIMIT, CLOSE_LIMIT
from ..errors import REPORT_BUG, SEE_ABOVE, CopilotError, UsageError
from ..output.cell import Cell
from ..prompts.kernel_session import KernelSession
from ..rendering.plain import visible_line
from ..system.processes import keep_apart
from .front_end import WidgetSupport
from .turn_value import Turn

if TYPE_CHECKING:
    from .cell_thread import CellThread
    from .live_notebook import PythonNotebook


Ended = asyncio.Task[Turn | None]

USAGE = (
    "%copilot PROMPT asks the agent, and so does %%copilot with the prompt below it. "
    "%copilot %help lists the commands. The values of $name and {name} in its line go along with the prompt. "
    "_copilot is the last answer."
)

T = TypeVar("T")


_JOIN_SECONDS = 2.0


class MagicSession:
    """The session of one shell. Private methods run on the loop thread. `started_in`: see `KernelSession`."""

    def __init__(self, notebook: PythonNotebook, started_in: str = "") -> None:
        self.loop_thread, self.widgets = LoopThread(), WidgetSupport()
        self._notebook = notebook
        at_start = psutil.Process().environ()  # what a cell sets later changes no setting
        self.kernel_session = KernelSession(notebook=notebook, environ=at_start, started_in=started_in)
        self._process = os.getpid()
        self._task: Ended | None = None
        self.interrupted = False
        """Since the last `begin`."""

    def begin(self) -> None:
        """Forget earlier interrupts: a cell is about to wait for `run`. Called on the cell's thread.

        Raises UsageError in code that the agent runs: it would wait for the agent, which waits for it.
        """
        if self._notebook.is_running:
            raise UsageError("In code that the agent runs, %copilot can neither be used nor unloaded.")
        self.interrupted = False

    def start(self, cell: Cell, thread: CellThread, text: str, values: Mapping[str, str]) -> Future[Ended]:
        """Do what `text` asks for; the result is the finished task, however it ended. Called on the cell's thread."""
        self._notebook.wait_in(cell, thread)
        return self.loop_thread.submit(self._ended(cell, text, values))

    async def _ended(self, cell: Cell, text: str, values: Mapping[str, str]) -> Ended:
        self._task = task = asyncio.create_task(self._run(cell, text, values))
        await asyncio.wait({task})
        if task.cancelled():
            from ..rendering.footer import render_stopped

            cell.display(render_stopped(by_user=self.interrupted))
        elif isinstance(error := task.exception(), CopilotError):
            # IPython shows one line; it says why where the card may not be seen: in a batch run, or captured.
            why = f"{type(error).__name__}: {visible_line(error.title)}"
            line = SEE_ABOVE if cell.session and cell.live else why
            error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]
        self._notebook.cell_ended(cell)
        return task

    def interrupt(self) -> None:
        """Cancel the turn, or whatever else the cell waits for; a second interrupt ends the agent."""
        self.interrupted = True
        self.loop_thread.call(partial(self._interrupt, time.monotonic()))

    def close(self) -> None:
        """End the agent, in bounded time. A child process that was forked off leaves the agent to its parent."""
        if os.getpid() != self._process:
            return
        self._notebook.leave()
        with suppress(TimeoutError):
            self.loop_thread.submit(self._close()).result(BREAK_LIMIT + CLOSE_LIMIT + 1)
        self.loop_thread.stop()

    async def _close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._notebook.close()
        await self.kernel_session.runner.close()

    def _interrupt(self, at: float) -> None:
        if not self.kernel_session.runner.cancel(at) and self._task is not None:
            self._task.cancel()

    async def _run(self, cell: Cell, text: str, values: Mapping[str, str]) -> Turn | None:
        if not text.strip():
            from ..rendering.report import Report, render_report

            cell.display(render_report(Report("%copilot", note=USAGE)))
        self.widgets.probe(cell)
        if cell.traits.interrupts_children:
            keep_apart()
        turn = await self.kernel_session.run(cell, text.strip(), values)
        chat = self.kernel_session.runner.chat
        return Turn(turn, chat.undo.changes if chat else ()) if turn else None


def outcome(ended: Ended, *, interrupted: bool) -> tuple[Turn | None, BaseException | None]:
    """The turn, if any, and the exception that the cell ends with, if any.

    `interrupted`: an interrupt cancels the cell even if it arrived while the answer was being drawn.
    """
    if ended.cancelled():
        return None, Cancelled()
    error = ended.exception()
    if isinstance(error, CopilotError):
        return None, error.with_traceback(None)
    if error is not None:
        error.add_note(REPORT_BUG)
        return None, error
    turn = ended.result()
    if turn and interrupted:
        turn = turn.cancelled()
    return turn, Cancelled() if interrupted or (turn and turn.stop_reason == "cancelled") else None


class LoopThread:
    """An event loop in a thread of its own. Call its methods from any other thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name="Copilot", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run `work` on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[[], object]) -> None:
        """Call `function` on the loop soon. Safe in signal handlers."""
        self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        """Stop the loop and join its thread, in bounded time; pending work is cancelled."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_SECONDS)

    def _live(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            asyncio.set_event_loop(runner.get_loop())
            self._loop.run_forever()


class Cancelled(KeyboardInterrupt):
    """The turn was cancelled. Like any KeyboardInterrupt, it ends the cell, and queued cells do not run."""

    def __init__(self) -> None:
        super().__init__("Stopped.")

    def _render_traceback_(self) -> list[str]:
        """Show one word instead of a traceback (IPython calls this)."""
        return [str(self)]
