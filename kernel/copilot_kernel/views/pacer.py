"""Pacer of redraws: soon if something is small, later if it is large or slow to draw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

MAX_PER_SECOND = 20
SECONDS_PER_CHARACTER = 4e-6
"""Bounds what is sent per byte of the agent's text."""
REST_PER_WORK = 4.0
"""Seconds without drawing for each second that drawing took."""


class Pacer:
    """Calls `draw` when it is due. The time is that of `loop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, draw: Callable[[], None], next_at: float = 0.0) -> None:
        self._loop, self._draw = loop, draw
        self._timer: asyncio.TimerHandle | None = None
        self.next_at = next_at
        """Time before which nothing is drawn."""

    def wake(self, at: float = 0.0) -> None:
        """Draw at that time, or as soon as possible after it, unless a sooner time was set."""
        at = max(at, self.next_at)
        if self._timer is None or at < self._timer.when():
            self.stop()
            self._timer = self._loop.call_at(at, self._draw)

    def stop(self) -> None:
        """Draw only when woken again. Call this first when drawing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def now(self) -> float:
        """The loop's time."""
        return self._loop.time()

    def rest(self, began: float, chars: int) -> float:
        """Return when something may be drawn again that was drawn since `began` and has this many characters."""
        now = self._loop.time()
        return now + max(1 / MAX_PER_SECOND, chars * SECONDS_PER_CHARACTER, (now - began) * REST_PER_WORK)
