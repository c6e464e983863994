"""Runs of the agent's code within a cell that waits, wherever their output goes.

One runs at a time. Afterwards, the cell gets back what the run used, such as its number and interrupts.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import CodeType, FrameType
from typing import Any, TypeVar

import anyio

from ..system.processes import interrupt
from .cell_thread import CellThread, Work, call

T = TypeVar("T")

RUN_END_SECONDS = 5.0
"""Seconds for stopped code to end, and for the last output of finished code to arrive."""
AWAITS = "Code that awaits something cannot be run here, because the cell blocks the kernel."


class Runs:
    """Runs for one waiting cell, of whose thread `thread` is the other end. `execute` calls the user's code."""

    def __init__(self, shell: Any, thread: CellThread, counts: ExecutionCounts, execute: Callable[..., Any]) -> None:
        self._shell, self._thread, self._counts = shell, thread, counts
        self._one = asyncio.Lock()
        self._interrupts = RunInterrupts(execute.__code__)
        # Mark of the run that began last.
        self._mark = ""
        self.active = False
        """A run is in progress."""

    async def close(self) -> None:
        """End what runs, in bounded time: it would outlive its cell."""
        self._interrupts.stop(self._mark)
        with suppress(TimeoutError):
            async with asyncio.timeout(RUN_END_SECONDS), self._one:
                pass

    async def _on_thread(self, work: Work[T]) -> T:
        """Return the result of the run `work`. If cancelled, stop the run or keep it from starting."""
        running = asyncio.create_task(call(self._thread, work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self._interrupts.stop(self._mark)
            with anyio.CancelScope(shield=True):  # the end of the turn would cancel this wait, too
                if self.active:
                    await asyncio.wait({running}, timeout=RUN_END_SECONDS)
            running.cancel()
            raise


class ExecutionCounts:
    """Runs are numbered after the cell that waits, and the next cell after them.

    IPython counts one up when a cell begins, and ipykernel's reply takes the count at its end.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        # The number that is free after the runs of this cell; 0: there were none.
        self._next = 0

    @contextmanager
    def next(self) -> Iterator[int]:
        """Inside, IPython's count is the next free number; afterwards it is the waiting cell's again."""
        shell = self._shell
        if not self._next:
            shell.events.register("post_run_cell", self._leave)
        own, shell.execution_count = shell.execution_count, max(self._next, shell.execution_count)
        try:
            yield shell.execution_count
        finally:
            self._next = max(self._next, shell.execution_count)
            shell.execution_count = own

    def _leave(self, result: Any = None) -> None:
        """Advance the count past the runs, after the reply of the waiting cell."""
        shell = self._shell
        if shell.display_trap.is_active:
            return  # that was a run, or another cell within the cell
        shell.events.unregister("post_run_cell", self._leave)
        free, self._next = self._next, 0
        advance = partial(setattr, shell, "execution_count", free)
        with suppress(RuntimeError):
            asyncio.get_running_loop().call_soon(advance)
            return
        advance()


class RunInterrupts:
    """Handles SIGINT during runs on the main thread. `code` is on the stack while the user's code executes."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._signalling = threading.Lock()
        # Thread that may be signalled.
        self._thread: int | None = None
        self._run = self._stopped = ""
        self._is_stop = False
        self.interrupted = False
        """Since the run began."""

    @contextmanager
    def handled(self, run: str, cancel: Callable[[], object]) -> Iterator[None]:
        """Inside, SIGINT raises KeyboardInterrupt in the run if that executes, and calls `cancel` if it waits."""
        self._run, self.interrupted, self._is_stop = run, False, False
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_sigint(number: int, frame: FrameType | None) -> None:
            self.interrupted = True
            if not self._is_stop and callable(before):
                before(number, frame)
            self._is_stop = False
            if self._executes(frame):
                raise KeyboardInterrupt
            cancel()

        before: Any = signal.signal(signal.SIGINT, on_sigint)
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            with self._signalling:
                self._thread = None
            signal.signal(signal.SIGINT, before)  # handles first what is pending

    def check(self, run: str) -> None:
        """Called by the run, inside `handled`: raises KeyboardInterrupt if it has been stopped already."""
        if self._stopped == run:
            raise KeyboardInterrupt

    def stop(self, run: str) -> None:
        """End the run like ■, but not the turn; if it has not begun, it does not begin. Called from another thread."""
        self._stopped = run
        with self._signalling:
            if self._thread is not None and self._run == run and not self.interrupted:
                self._is_stop = True
                interrupt(self._thread)

    def _executes(self, frame: FrameType | None) -> bool:
        """Raising anywhere else, as in the event loop itself, would end the kernel."""
        while frame is not None:
            if frame.f_code is self._code:
                return True
            frame = frame.f_back
        return False


@contextmanager
def kept(owner: Any, name: str) -> Iterator[None]:
    """Inside, the attribute may be changed."""
    value = getattr(owner, name, None)
    try:
        yield
    finally:
        setattr(owner, name, value)


@contextmanager
def exit_refused(shell: Any) -> Iterator[None]:
    """Inside, `exit()` and all that asks IPython to end is like `sys.exit()`: it ends the code, not the kernel."""
    with kept(shell, "ask_exit"), kept(shell, "keepkernel_on_exit"), kept(shell.history_manager, "_exit_re"):
        shell.ask_exit = lambda: sys.exit("code that the agent runs cannot end the kernel")
        shell.history_manager._exit_re = re.compile("(?!)")  # what it matches is not in `In`, whose places would shift
        yield
