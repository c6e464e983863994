"""What the client of one socket wants, one after the other: to open a session takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..errors import UsageError
from .wire import Action

MOST = 50
"""Actions that may wait for a session to be opened."""


class Actions:
    """`act` never raises. `end` is called when all that came before `close` was done."""

    def __init__(self, act: Callable[[Action], Awaitable[None]], end: Callable[[], None]) -> None:
        self._act, self._end = act, end
        self._queue: asyncio.Queue[Action | None] = asyncio.Queue()
        self._unfinished = 0
        self._work = asyncio.create_task(self._run())

    @property
    def waiting(self) -> bool:
        """Something that came before is not done yet."""
        return self._unfinished > 0

    def put(self, action: Action) -> None:
        """Do it after those before it. Raises UsageError when too many wait."""
        if self._unfinished >= MOST:
            raise UsageError(f"{MOST} actions wait already.", "Wait for the session to open.")
        self._unfinished += 1
        self._queue.put_nowait(action)

    def close(self) -> None:
        """No more will come."""
        self._queue.put_nowait(None)

    async def _run(self) -> None:
        while (action := await self._queue.get()) is not None:
            await self._act(action)
            self._unfinished -= 1
        self._end()
