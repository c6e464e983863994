"""The thread of the cell that waits for the agent: the only one that touches the user's variables."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from ..notebook.live import KernelBusy
from .cell import Call, Calls

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]

BUSY_SECONDS = 5.0
"""Time after which a call that the thread has not begun fails."""

BLOCKED_SECONDS = 0.3
"""Time after which a thread that has not answered counts as blocked."""


class CellThread(Protocol):
    """`awaits`: work may await something; otherwise it must run through."""

    awaits: bool

    def submit(self, work: Work[T]) -> Future[T]:
        """Run `work` on the thread. Called from any other."""


class AwaitingThread:
    """The cell is awaited: its thread runs an event loop."""

    awaits = True

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, work: Work[T]) -> Future[T]:
        """Run a call on the thread of the cell."""
        return asyncio.run_coroutine_threadsafe(work(), self._loop)


class BlockingThread:
    """The cell blocks its thread, which takes `calls`."""

    awaits = False

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def submit(self, work: Work[T]) -> Future[T]:
        """Run a call on the thread of the cell."""
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(run_through(work()))
            except BaseException as error:
                future.set_exception(error)

        self._calls.put(Call(call))
        return future


def run_through(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that awaits nothing that is not there."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError("nothing can be awaited here")


async def blocked(thread: CellThread) -> None:
    """Wait until code blocks the thread."""
    while True:
        answer = asyncio.wrap_future(thread.submit(_nothing))
        done, _ = await asyncio.wait({answer}, timeout=BLOCKED_SECONDS)
        answer.cancel()
        if not done:
            return
        await asyncio.sleep(BLOCKED_SECONDS)


async def _nothing() -> None:
    """Do nothing; a thread that is free does it at once."""


async def call(thread: CellThread, work: Work[T]) -> T:
    """The result of `work` on the cell's thread. Raises KernelBusy if that does not begin in time."""
    begun: Future[None] = Future()

    async def noted() -> T:
        begun.set_result(None)
        return await work()

    result = asyncio.wrap_future(thread.submit(noted))
    try:
        either: set[asyncio.Future[Any]] = {asyncio.wrap_future(begun), result}
        done, _ = await asyncio.wait(either, timeout=BUSY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise KernelBusy("The kernel is running the user's code. Try again later.")
        return await result
    finally:
        result.cancel()
