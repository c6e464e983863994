"""How a cell waits for the agent: awaited on the kernel's loop, or blocking its thread. Both can be interrupted."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from .cell import Errands, NotebookCell, ShellCell
from .door import Ended, MagicSession
from .front_end import attended, clicks_arrive


async def awaited(door: MagicSession, shell: Any, text: str, note: str) -> Ended:
    """In a cell that ipykernel runs as a coroutine: clicks arrive, and the user's tasks go on."""
    kernel = shell.kernel
    door.watch_parents(kernel, shell.events)
    cell = NotebookCell(kernel, door.widgets, asyncio.get_running_loop())
    _warn(cell, note)
    door.begin()
    with attended(kernel, cell.request, door.widgets.clients), _interrupts(door.interrupt):
        working = asyncio.wrap_future(door.engine.submit(door.run(cell, text)))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            door.interrupt()
            raise


def blocking(door: MagicSession, shell: Any, text: str, note: str, why: str) -> Ended:
    """Anywhere else: in a function, in a terminal, in another kernel. Questions are asked as text.

    `why` is told to who could have been asked with buttons.
    """
    errands: Errands = SimpleQueue()
    cell = _blocking_cell(door, shell, errands)
    _warn(cell, note)
    if why and isinstance(cell, NotebookCell) and cell.live and clicks_arrive(shell.kernel):
        _warn(cell, why)
    door.begin()
    working = door.engine.submit(door.run(cell, text))
    working.add_done_callback(lambda _: errands.put(None))
    while _go_on(errands, door.interrupt):
        pass
    return working.result()


def _go_on(errands: Errands, interrupt: Callable[[], None]) -> bool:
    try:
        errand = errands.get()
        if errand is not None:
            errand()
    except KeyboardInterrupt:
        interrupt()
        return True
    return errand is not None


def _blocking_cell(door: MagicSession, shell: Any, errands: Errands) -> NotebookCell | ShellCell:
    """In a notebook, unless what is shown is captured."""
    kernel = getattr(shell, "kernel", None)
    if kernel is not None and hasattr(shell.display_pub, "pub_socket"):
        return NotebookCell(kernel, door.widgets, None)
    live = kernel._allow_stdin if kernel is not None else sys.stdin is not None and sys.stdin.isatty()
    return ShellCell(shell, errands, live=bool(live))


def _warn(cell: NotebookCell | ShellCell, note: str) -> None:
    if note:
        cell.stream(note, "stderr")


@contextmanager
def _interrupts(interrupt: Callable[[], None]) -> Iterator[None]:
    """SIGINT calls `interrupt` inside, every time; ipykernel's own handler hears only the first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: interrupt())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
