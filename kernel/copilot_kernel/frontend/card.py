"""The widgets of a question in a cell, and their guard: what a click was not meant for, it does not allow.

For a moment after the buttons appeared, or after something moved under the pointer, no click on a guarded answer
counts. A no counts at once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .cell import Cell

if TYPE_CHECKING:
    from copilot_widgets.base import Interactive

GUARD_SECONDS = 0.7
"""Long enough to see that something else stands there now, shorter than reading it takes."""
CALM_SECONDS = 1.5
"""After a guard, until what shifts the card guards it again; twice as long each time, so that it can be answered even
below an output that never stops."""


class Card:
    """One question's widgets in `cell`. `guard_seconds`: see `GUARD_SECONDS`."""

    def __init__(self, cell: Cell, widget: Interactive, guard_seconds: float | None = None) -> None:
        self.widget, self._cell, self._seconds = widget, cell, guard_seconds
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._calm, self._calm_until = CALM_SECONDS, 0.0

    @property
    def _guard_seconds(self) -> float:
        return GUARD_SECONDS if self._seconds is None else self._seconds

    def guard(self) -> None:
        """Let no click on a guarded answer count for a moment."""
        self._stop_timer()
        with self._cell.owning():
            self.widget.hold()
        self._timer = self._loop.call_later(self._guard_seconds, self._release)

    def shifted(self) -> None:
        """Guard it, but only so often that it can be answered."""
        now = self._loop.time()
        if now >= self._calm_until:
            self._calm_until = now + self._guard_seconds + self._calm
            self._calm *= 2
            self.guard()

    def number(self, number: int, count: int) -> None:
        """Show which of several open questions this is."""
        with self._cell.owning():
            self.widget.number(number, count)

    async def is_drawn(self, seconds: float) -> bool:
        """Whether a client draws it within that time."""
        drawn = asyncio.Event()
        with self._cell.owning():
            self.widget.probe(lambda: self._loop.call_soon_threadsafe(drawn.set))
        try:
            async with asyncio.timeout(seconds):
                return await drawn.wait()
        except TimeoutError:
            return False

    def close(self) -> None:
        """Take it out of the cell."""
        self._stop_timer()
        with self._cell.owning():
            self.widget.close()

    def _release(self) -> None:
        with self._cell.owning():
            self.widget.release()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
