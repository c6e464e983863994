"""Tries again what failed when the agent was started, or opened a session: later each time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import anyio

from ..acp.jsonrpc import INTERNAL_ERROR, TIMEOUT
from ..errors import AgentError, AgentExited, AgentRefused, AgentStartFailed, ConnectionLost

# Seconds between two attempts to start.
RETRY_DELAYS = (1.0, 2.0, 4.0, 8.0)
MAX_ATTEMPTS = len(RETRY_DELAYS) + 1

T = TypeVar("T")


class Retry:
    """Retries work that failed at the start, at most `max_attempts` times. `sleep` takes seconds."""

    def __init__(
        self, sleep: Callable[[float], Awaitable[None]] = anyio.sleep, max_attempts: int = MAX_ATTEMPTS
    ) -> None:
        self._sleep, self._max_attempts = sleep, max_attempts

    async def __call__(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        show: Callable[[str], None],
        max_attempts: int = MAX_ATTEMPTS,
    ) -> T:
        """Return what `work` returns, or raise what it raised last.

        `show` gets a line before each pause, and an empty one after it.
        """
        for attempt in range(1, min(max_attempts, self._max_attempts)):
            try:
                return await work()
            except AgentError as error:
                if not is_transient(error):
                    raise
                what, seconds = error.title, RETRY_DELAYS[attempt - 1]
                show(f"{what}; attempt {attempt + 1} in {seconds:g} s")
            try:
                await self._sleep(seconds)
            finally:
                show("")
        return await work()


def is_transient(error: AgentError) -> bool:
    """Return True if another attempt may help: the agent ended, or failed inside."""
    match error:
        case AgentStartFailed():
            return error.ended
        case AgentRefused() if not isinstance(error, ConnectionLost):
            return error.code in (INTERNAL_ERROR, TIMEOUT)
    return isinstance(error, AgentExited | ConnectionLost)
