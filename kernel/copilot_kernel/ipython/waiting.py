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

from .cell import Errand, Errands, NotebookCell, ShellCell
from .door import MagicSession, Ended
from .front_end import attended, clicks_arrive


async def awaited(door: MagicSession, shell: Any, text: str, note: str) -> Ended:
    """In a cell that ipykernel runs as a coroutine: clicks arrive, and the user's tasks go on."""
    kernel = shell.kernel
    door.watch_parents(kernel, shell.events)
    cell = NotebookCell(kernel, door.widgets, asyncio.get_running_loop())
    _warn(cell, note)
    door.begin()
    with attended(kernel, cell.request, door.widgets.clients), _Interrupts(door.interrupt).heard():
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
    interrupts = _Interrupts(door.interrupt)
    with interrupts.heard():
        working = door.engine.submit(door.run(cell, text))
        working.add_done_callback(lambda _: errands.put(None))
        while (errand := errands.get()) is not None:
            interrupts.end(errand)
    return working.result()


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


class _Interrupts:
    """SIGINT calls `interrupt`. ipykernel's handler hears only the first one, Python's raises between any two steps."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._raises = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Every time, inside. Nothing is raised."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._hear)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def end(self, errand: Errand) -> None:
        """Do `errand`, which an interrupt ends: nothing else would end `input`."""
        try:
            self._raises = True
            errand()
        except KeyboardInterrupt:
            self._interrupt()
        finally:
            self._raises = False

    def _hear(self, *_: object) -> None:
        """Raises once for each errand."""
        if self._raises:
            self._raises = False
            raise KeyboardInterrupt
        self._interrupt()
