"""How much may be asked: so many turns at once, so many a minute; more is a 429 that says when to come back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .errors import ApiError

MINUTE = 60.0


class Limits:
    """Of one server. `rate`: requests a minute, in the long run and in one go; 0 is no limit, for both.

    Requests are all that the agent has something to do with: turns, and lists of models and sessions.
    """

    def __init__(self, rate: int, concurrency: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.running = 0
        """Turns, now."""
        self._rate, self._concurrency, self._clock = rate, concurrency, clock
        self._left, self._at = float(rate), clock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One turn, until the end of the block. Raises ApiError."""
        if self._concurrency and self.running >= self._concurrency:
            words = f"{self._concurrency} requests are being answered, which is the most (CopilotApp.concurrency)."
            raise ApiError(429, words, Retry_After="1")
        self.spend()
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    def spend(self) -> None:
        """One request, from a bucket that fills evenly. Raises ApiError when it is empty."""
        if not self._rate:
            return
        now = self._clock()
        self._left = min(self._rate, self._left + (now - self._at) * self._rate / MINUTE)
        self._at = now
        if self._left < 1:
            seconds = math.ceil((1 - self._left) * MINUTE / self._rate)
            words = f"More than {self._rate} requests a minute (CopilotApp.rate_limit)."
            raise ApiError(429, words, Retry_After=str(seconds))
        self._left -= 1
