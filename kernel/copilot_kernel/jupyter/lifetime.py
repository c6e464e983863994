"""Ends of the kernel's process: signals, and the death of the process that started it.

ipykernel's own watch over the parent leaves with `os._exit`, which would leave the agent behind; this one calls `end`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

EXIT_LIMIT = 5.0
"""Seconds after which the process is gone, whatever hangs."""
_WATCH_SECONDS = 0.5


def listen(loop: asyncio.AbstractEventLoop, interrupt: Callable[[], None], end: Callable[[], None]) -> None:
    """Call `interrupt` on SIGINT and `end` on SIGTERM, on `loop`. Does nothing outside the main thread."""
    with suppress(ValueError, RuntimeError, NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, interrupt)
        loop.add_signal_handler(signal.SIGTERM, end)


def has_parent(environ: Mapping[str, str]) -> bool:
    """Return True if the kernel ends with the process that started it: `JPY_PARENT_PID` is neither unset, 0 nor 1.

    Its number is not looked at: in a container it may be of another machine, and behind a wrapper it is not our parent.
    """
    pid = environ.get("JPY_PARENT_PID", "")
    return pid.isdecimal() and int(pid) > 1


def watch_parent(parent: int, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    """Call `end` on `loop` when `parent`, the value of `os.getppid()` at the start, is our parent no more.

    Process 1 never goes away: a child of it, as in a container, has no parent to watch.
    """
    if parent > 1:
        threading.Thread(target=_watch, args=(parent, loop, end), name="Parent watch", daemon=True).start()


def _watch(parent: int, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    with suppress(RuntimeError):  # the loop is closed: the process is ending already
        loop.call_soon_threadsafe(end)


def exit_within(seconds: float) -> None:
    """End the process hard if it still lives after `seconds`."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()
