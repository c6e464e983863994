"""Turns as activity of the Jupyter server: who looks for idle servers, such as JupyterHub, must not end one at work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

NAME = "copilot"


class Activity:
    """`times` are the server's `last_activity_times`. A turn, with its questions, counts for `limit` seconds."""

    def __init__(self, times: dict[str, datetime], limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._times, self._limit, self._clock = times, limit, clock
        self._running: dict[object, float] = {}
        """When each turn began."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One turn, until the end of the block."""
        turn = object()
        self._running[turn] = self._clock()
        self._note()
        try:
            yield
        finally:
            del self._running[turn]
            self._note()

    def sweep(self) -> None:
        """To be called now and then."""
        now = self._clock()
        if any(now - began < self._limit for began in self._running.values()):
            self._note()

    def _note(self) -> None:
        self._times[NAME] = datetime.now(UTC)
