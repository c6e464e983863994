"""Tries again what failed when the agent was started, later each time, and not while it crashes in a loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import anyio

from ..acp.jsonrpc import INTERNAL_ERROR, TIMEOUT
from ..errors import AgentError, AgentExited, AgentRefused, AgentStartFailed, ConnectionLost

# Seconds between two attempts to start.
RETRY_DELAYS = (1.0, 2.0, 4.0, 8.0)
MAX_ATTEMPTS = len(RETRY_DELAYS) + 1
# So many crashes in so many seconds are a loop: nothing is started until the user asks for it.
MAX_CRASHES, CRASH_SECONDS = 5, 180.0

T = TypeVar("T")


class Retry:
    """Retries work that failed at the start: later each time, a few times, and not while the agent crashes in a loop.

    `sleep` and `clock` count in seconds; nothing is tried more than `max_attempts` times.
    """

    def __init__(
        self,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = anyio.current_time,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> None:
        self._sleep, self._clock, self._max_attempts = sleep, clock, max_attempts
        self._crashes: deque[float] = deque(maxlen=MAX_CRASHES)
        self._last: AgentError | None = None
        self._is_broken = False

    async def __call__(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        show: Callable[[str], None],
        max_attempts: int = MAX_ATTEMPTS,
    ) -> T:
        """Return what `work` returns. `show` gets a line before each pause, and an empty one after it.

        Raises what `work` raised last, and AgentStartFailed while the agent crashes in a loop.
        """
        for attempt in range(1, min(max_attempts, self._max_attempts)):
            try:
                return await self._once(work)
            except AgentError as error:
                if self._is_broken or not is_transient(error):
                    raise
                what, seconds = error.title, RETRY_DELAYS[attempt - 1]
                show(f"{what}; attempt {attempt + 1} in {seconds:g} s")
            try:
                await self._sleep(seconds)
            finally:
                show("")
        return await self._once(work)

    def crashed(self, error: AgentError) -> None:
        """Note that the agent ended by itself."""
        self._last = error
        self._crashes.append(self._clock())
        is_full = len(self._crashes) == MAX_CRASHES
        self._is_broken |= is_full and self._crashes[-1] - self._crashes[0] <= CRASH_SECONDS

    def recovered(self) -> None:
        """Forget the crashes: a turn went well, or the user wants to try again."""
        self._crashes.clear()
        self._is_broken = False

    async def _once(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._is_broken:
            last = self._last.title if self._last else ""
            message = f"The agent ended {MAX_CRASHES} times within {CRASH_SECONDS / 60:g} minutes"
            hint = "When you know why, or have waited a while: `%restart`, then run this cell again."
            stderr = getattr(self._last, "stderr", "")
            raise AgentStartFailed(f"{message} and is not started again: {last}", hint, stderr)
        try:
            return await work()
        except AgentError as error:
            if error.crashed:
                self.crashed(error)
            raise


def is_transient(error: AgentError) -> bool:
    """Return True if another attempt may help: the agent ended, or failed inside."""
    match error:
        case AgentStartFailed():
            return error.ended
        case ConnectionLost():
            return True
        case AgentRefused():
            return error.code in (INTERNAL_ERROR, TIMEOUT)
    return isinstance(error, AgentExited)
