"""A thread with an event loop of its own, on which the agent lives: the user's loop stays the user's.

A magic in a function, a cell that computes for minutes, or a loop of another library cannot keep the agent waiting.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

JOIN_LIMIT = 2.0
"""Seconds that the thread may take to end when its loop is stopped."""


class LoopThread:
    """Started with the first piece of work. All methods may be called from any thread but its own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def runs(self) -> bool:
        """There was a first piece of work, and no end."""
        return self._loop is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run `work` on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def call(self, function: Callable[[], object]) -> None:
        """Call `function` on the loop, soon; nothing before the first piece of work. Signal handlers may use it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        """End the loop and its thread, in bounded time; work that is not done is cancelled."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(JOIN_LIMIT)
        self._loop = self._thread = None

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_live, args=(self._loop,), name="Copilot", daemon=True)
            self._thread.start()
        return self._loop


def _live(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        asyncio.set_event_loop(runner.get_loop())
        loop.run_forever()
