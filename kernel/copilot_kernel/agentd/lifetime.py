"""How long the broker lives: while it has kernels, and then a while, unless their servers are gone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

POLL_SECONDS = 1.0
"""Where the system does not report the end of a process that is not a child."""


class Lifetime:
    """Calls `end` after `idle` seconds without kernels, at once when all servers of its kernels have ended.

    It begins without kernels. A server is the process that started a kernel.
    """

    def __init__(self, idle: float, end: Callable[[], None]) -> None:
        self._idle, self._end = idle, end
        self._loop = asyncio.get_running_loop()
        self._servers: set[int] = set()
        self._knew_servers = False
        self._kernels = 0
        self._timer = self._loop.call_later(idle, end)

    @property
    def has_servers(self) -> bool:
        """One that is known lives."""
        return bool(self._servers)

    def add_server(self, pid: int) -> None:
        """A kernel belongs to this server."""
        if pid not in self._servers:
            self._knew_servers = True
            self._servers.add(pid)
            self._watch(pid)

    def set_kernels(self, count: int) -> None:
        """So many are connected now."""
        if self._kernels and not count:
            self._timer = self._loop.call_later(self._idle, self._end)
        elif count:
            self._timer.cancel()
        self._kernels = count
        self._check()

    def _check(self) -> None:
        if self._knew_servers and not self._servers and not self._kernels:
            self._timer.cancel()
            self._end()

    def _gone(self, pid: int) -> None:
        self._servers.discard(pid)
        self._check()

    def _watch(self, pid: int) -> None:
        if not hasattr(os, "pidfd_open"):
            self._poll(pid)
            return
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            self._gone(pid)
        except OSError:
            self._poll(pid)
        else:
            self._loop.add_reader(descriptor, self._ended, pid, descriptor)

    def _ended(self, pid: int, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self._gone(pid)

    def _poll(self, pid: int) -> None:
        try:
            with suppress(PermissionError):
                os.kill(pid, 0)
        except ProcessLookupError:
            self._gone(pid)
        else:
            self._loop.call_later(POLL_SECONDS, self._poll, pid)
