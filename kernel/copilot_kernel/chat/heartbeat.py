"""A sign of life while the agent is silent: agents try again for a minute without a word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

QUIET = 10.0
"""Seconds of silence that need no explanation."""
STEP = 2.0
"""Seconds between two looks of the line."""


class Heartbeat:
    """`show` gets a line while there is silence, and an empty one when it ends; `is_asking`: we are waited for."""

    def __init__(
        self,
        show: Callable[[str], None],
        is_asking: Callable[[], bool],
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._show, self._is_asking, self._sleep, self._clock = show, is_asking, sleep, clock
        self._heard = clock()
        self._shown = False

    def beat(self) -> None:
        """The agent was heard; may be called thousands of times a second."""
        self._heard = self._clock()
        if self._shown:
            self._shown = False
            self._show("")

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            if self._is_asking():
                self.beat()
            silent = self._clock() - self._heard
            if silent >= QUIET:
                self._shown = True
                self._show(f"The agent is still working; it has been silent for {int(silent)} s.")
            await self._sleep(STEP if silent >= QUIET else QUIET - silent)
