"""Ways in which a cell waits for the agent: awaited on the kernel's loop, or blocking its thread. Both can be
interrupted.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from ..output.cell import Cell
from .cell import Call, Calls, notebook_cell, shell_cell
from .cell_thread import AwaitingThread, BlockingThread
from .front_end import attended
from .magic_session import Ended, MagicSession


async def awaited(session: MagicSession, shell: Any, text: str, values: Mapping[str, str]) -> Ended:
    """Wait in a cell that ipykernel runs as a coroutine: clicks arrive, and the user's tasks keep running."""
    session.begin()
    kernel, loop = shell.kernel, asyncio.get_running_loop()
    cell = notebook_cell(kernel, session.widgets, loop)
    with attended(kernel, cell.request), _Interrupts(session.interrupt).handled():
        working = asyncio.wrap_future(session.start(cell, AwaitingThread(loop), text, values))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            session.interrupt()
            raise


def blocking(session: MagicSession, shell: Any, text: str, values: Mapping[str, str]) -> Ended:
    """Block the thread: in a function, in a terminal, in another kernel. Questions are lines of input."""
    session.begin()
    calls: Calls = SimpleQueue()
    cell = _blocking_cell(session, shell, calls)
    interrupts = _Interrupts(session.interrupt)
    with interrupts.handled():
        working = session.start(cell, BlockingThread(calls), text, values)
        working.add_done_callback(lambda _: calls.put(None))
        while (call := calls.get()) is not None:
            interrupts.run(call)
    return working.result()


def _blocking_cell(session: MagicSession, shell: Any, calls: Calls) -> Cell:
    """A cell for a notebook; for a terminal or captured output, one that prints through the shell."""
    kernel = getattr(shell, "kernel", None)
    if kernel is not None and hasattr(shell.display_pub, "pub_socket"):
        return notebook_cell(kernel, session.widgets, None)
    live = kernel._allow_stdin if kernel is not None else sys.stdin is not None and sys.stdin.isatty()
    return shell_cell(shell, calls, live=bool(live))


class _Interrupts:
    """Handle SIGINT by calling `interrupt`. ipykernel handles only the first one; Python raises at any point."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._raises = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Inside, each SIGINT calls `interrupt` and raises nothing."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_sigint)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def run(self, call: Call) -> None:
        """Do `call`; an interrupt raises inside it if it asks for that."""
        try:
            self._raises = call.raises
            call.function()
        except KeyboardInterrupt:
            self._interrupt()
        finally:
            self._raises = False

    def _on_sigint(self, *_: object) -> None:
        """Raise once for each call."""
        if self._raises:
            self._raises = False
            raise KeyboardInterrupt
        self._interrupt()
