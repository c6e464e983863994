"""A question that waits keeps its kernel active, as Jupyter sees it, so that no culler ends the kernel meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

INTERVAL = 60.0
"""Seconds. Cullers look for minutes without a message from the kernel."""


class Busy(Protocol):
    """What can say so."""

    def busy(self) -> None:
        """Send the kernel's status once more."""


@contextmanager
def kept_active(cell: Busy, loop: asyncio.AbstractEventLoop, seconds: float) -> Iterator[None]:
    """Until the end of the block, or for so many seconds."""
    end = loop.time() + seconds
    timer: asyncio.TimerHandle

    def beat() -> None:
        nonlocal timer
        if loop.time() < end:
            cell.busy()
            timer = loop.call_at(loop.time() + INTERVAL, beat)

    timer = loop.call_at(loop.time() + INTERVAL, beat)
    try:
        yield
    finally:
        timer.cancel()
