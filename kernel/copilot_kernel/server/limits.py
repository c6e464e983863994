"""The turns that run: their rate, how many there may be at once, and what counts as activity of the Jupyter server."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from .errors import LimitExceeded

MINUTE_SECONDS = 60.0
ACTIVITY_NAME = "copilot"


class Limits:
    """`rate`: requests a minute, from a bucket that holds a minute's worth; `concurrency`: turns at once; 0: no limit.

    Requests are what makes the agent work: turns, and lists of models and sessions. Each turn counts as activity of the
    server, its questions included, for `activity_timeout` seconds, so that cullers of idle servers, such as
    JupyterHub's, do not end a server at work. `activity_times` is the server's `last_activity_times`.
    """

    def __init__(
        self,
        rate: int,
        concurrency: int,
        activity_times: dict[str, datetime],
        activity_timeout: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._concurrency, self._clock = rate, concurrency, clock
        self._activity_times, self._activity_timeout = activity_times, activity_timeout
        # When all requests will be available again.
        self._full_at = -math.inf
        self._started: dict[object, float] = {}

    @property
    def turns(self) -> int:
        """Turns that run."""
        return len(self._started)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Admit one turn until the end of the block. Raises LimitExceeded."""
        if self._concurrency and self.turns >= self._concurrency:
            message = f"{self._concurrency} turns are running, which is the limit (CopilotApp.concurrency)."
            raise LimitExceeded(message, 1)
        self.spend()
        turn = object()
        self._started[turn] = self._clock()
        self._record_activity()
        try:
            yield
        finally:
            del self._started[turn]
            self._record_activity()

    def spend(self) -> None:
        """Count one request. Raises LimitExceeded."""
        if not self._rate:
            return
        now = self._clock()
        full_at = max(now, self._full_at) + MINUTE_SECONDS / self._rate
        seconds = math.ceil(round(full_at - now - MINUTE_SECONDS, 3))
        if seconds > 0:
            raise LimitExceeded(f"More than {self._rate} requests a minute (CopilotApp.rate_limit).", seconds)
        self._full_at = full_at

    def sweep(self) -> None:
        """Record activity while a turn runs that is younger than the timeout; call this periodically."""
        now = self._clock()
        if any(now - started < self._activity_timeout for started in self._started.values()):
            self._record_activity()

    def _record_activity(self) -> None:
        self._activity_times[ACTIVITY_NAME] = datetime.now(UTC)
