"""Lifetime of the broker: it ends some time after its last kernel, or when the kernels' servers are gone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

LOOK_SECONDS = 1.0
"""Between two looks at whether it is over; the system reports no end of processes that are not children."""


class Lifetime:
    """Calls `end` after `idle` seconds without kernels, and when all servers of its kernels have ended.

    It begins without kernels. A server is the process that started a kernel.
    """

    def __init__(self, idle: float, end: Callable[[], None]) -> None:
        self.servers: set[int] = set()
        self._idle, self._end = idle, end
        self._loop = asyncio.get_running_loop()
        self._kernels, self._changed = 0, self._loop.time()
        self._loop.call_later(LOOK_SECONDS, self._look)

    def set_kernels(self, count: int) -> None:
        """Note how many kernels are connected."""
        self._kernels, self._changed = count, self._loop.time()

    def _look(self) -> None:
        is_idle = self._loop.time() - self._changed >= self._idle
        if not self._kernels and (is_idle or (self.servers and not any(map(_lives, self.servers)))):
            self._end()
        else:
            self._loop.call_later(LOOK_SECONDS, self._look)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True
