"""Limits of turns: a rate, a number at once; and what counts as activity of the Jupyter server."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from .errors import LimitExceeded

MINUTE_SECONDS = 60.0
ACTIVITY_NAME = "copilot"


class Activity:
    """The turns that run. Each counts as activity of the server for `limit` seconds, its questions included, so that
    cullers of idle servers, such as JupyterHub's, do not end a server at work.

    `times` is the server's `last_activity_times`.
    """

    def __init__(self, times: dict[str, datetime], limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._times, self._limit, self._clock = times, limit, clock
        self._started: dict[object, float] = {}

    def __len__(self) -> int:
        return len(self._started)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Count one turn until the end of the block."""
        turn = object()
        self._started[turn] = self._clock()
        self._record()
        try:
            yield
        finally:
            del self._started[turn]
            self._record()

    def sweep(self) -> None:
        """Record activity while a turn runs that is younger than the limit; call this periodically."""
        now = self._clock()
        if any(now - started < self._limit for started in self._started.values()):
            self._record()

    def _record(self) -> None:
        self._times[ACTIVITY_NAME] = datetime.now(UTC)


class Limits:
    """`rate`: requests a minute, from a bucket that holds a minute's worth; `concurrency`: turns at once; 0: no limit.

    Requests are what makes the agent work: turns, and lists of models and sessions.
    """

    def __init__(
        self, rate: int, concurrency: int, activity: Activity, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.activity = activity
        self._rate, self._concurrency, self._clock = rate, concurrency, clock
        self._tokens, self._filled_at = float(rate), clock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Admit one turn until the end of the block. Raises LimitExceeded."""
        if self._concurrency and len(self.activity) >= self._concurrency:
            message = f"{self._concurrency} turns are running, which is the limit (CopilotApp.concurrency)."
            raise LimitExceeded(message, 1)
        self.spend()
        with self.activity.turn():
            yield

    def spend(self) -> None:
        """Count one request. Raises LimitExceeded."""
        if not self._rate:
            return
        now = self._clock()
        self._tokens = min(self._rate, self._tokens + (now - self._filled_at) * self._rate / MINUTE_SECONDS)
        self._filled_at = now
        if self._tokens < 1:
            seconds = math.ceil((1 - self._tokens) * MINUTE_SECONDS / self._rate)
            raise LimitExceeded(f"More than {self._rate} requests a minute (CopilotApp.rate_limit).", seconds)
        self._tokens -= 1
