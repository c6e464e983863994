"""Trying again what failed at the start: later each time, a few times, and not while the agent crashes in a loop.

Only starting, connecting, `initialize` and opening a session are ever tried again; a prompt never is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import anyio

from ..acp.jsonrpc import INTERNAL_ERROR, TIMEOUT
from ..errors import AgentError, AgentExited, AgentRefused, AgentStartFailed, ConnectionLost

DELAYS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between two attempts."""
ATTEMPTS = len(DELAYS) + 1
CRASHES, PERIOD = 5, 180.0
"""So many crashes in so many seconds are a loop; then nothing is started until somebody asks for it."""

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]


class Retry:
    """The patience with one agent. `sleep` and `clock` count in seconds; nothing is tried more than `most` times."""

    def __init__(
        self,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = anyio.current_time,
        most: int = ATTEMPTS,
    ) -> None:
        self._sleep, self._clock, self._most = sleep, clock, most
        self._crashes: deque[float] = deque(maxlen=CRASHES)
        self._last: AgentError | None = None
        self._open = False

    async def __call__(self, work: Work[T], tell: Callable[[str], None], attempts: int = ATTEMPTS) -> T:
        """What `work` returns. `tell` gets a line before each pause, and an empty one after it.

        Raises what `work` raised last, and AgentStartFailed while the agent is not to be started.
        """
        for attempt in range(1, min(attempts, self._most)):
            try:
                return await self._once(work)
            except AgentError as error:
                if self._open or not is_fleeting(error):
                    raise
                await self._pause(attempt, error, tell)
        return await self._once(work)

    def crashed(self, error: AgentError) -> None:
        """The agent ended by itself."""
        self._last = error
        self._crashes.append(self._clock())
        self._open |= len(self._crashes) == CRASHES and self._crashes[-1] - self._crashes[0] <= PERIOD

    def recovered(self) -> None:
        """A turn went well, or somebody wants to try again."""
        self._crashes.clear()
        self._open = False

    async def _once(self, work: Work[T]) -> T:
        if self._open:
            raise self._broken()
        try:
            return await work()
        except AgentError as error:
            if error.crashed:
                self.crashed(error)
            raise

    async def _pause(self, attempt: int, error: AgentError, tell: Callable[[str], None]) -> None:
        seconds = DELAYS[attempt - 1]
        what = str(error).partition("\n")[0]
        tell(f"{what}; attempt {attempt + 1} in {seconds:g} s")
        try:
            await self._sleep(seconds)
        finally:
            tell("")

    def _broken(self) -> AgentStartFailed:
        last = str(self._last).partition("\n")[0]
        message = f"The agent ended {CRASHES} times within {PERIOD / 60:g} minutes and is not started again: {last}"
        hint = "When you know why, or have waited a while: `%restart`, then run this cell again."
        return AgentStartFailed(message, hint, getattr(self._last, "stderr", ""))


def is_fleeting(error: AgentError) -> bool:
    """Another attempt may help: it ended, or failed inside."""
    match error:
        case AgentStartFailed():
            return error.ended
        case ConnectionLost():
            return True
        case AgentRefused():
            return error.code in (INTERNAL_ERROR, TIMEOUT)
    return isinstance(error, AgentExited)
