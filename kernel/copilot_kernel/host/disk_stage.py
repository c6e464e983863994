"""Work on tool calls that waits for the disk, which may hang: meanwhile, the event loop takes in updates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Generic, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from ..conversation.model import ToolCall
from ..errors import HostError

T = TypeVar("T")
Target = TypeVar("Target")

# Until a disk counts as hanging: nothing is read from it before it has answered.
LOOKUP_SECONDS = 1.0


class DiskStage(ABC, Generic[Target]):
    """One call after the other. Each stage has a worker of its own, so that none waits for the disk of another."""

    def __init__(self) -> None:
        self.waiting: dict[int, ToolCall] = {}
        """By entry id, the calls to be looked at."""
        self._looking = anyio.Lock()
        self._added = anyio.Event()
        self._worker = CapacityLimiter(1)
        # Of a read that took too long: set when the disk has answered.
        self._late_answer: Event | None = None

    @abstractmethod
    async def look(self, call: ToolCall) -> Callable[[Target], object]:
        """Read what `call` needs, in bounded time. What is returned is called at once, with the target."""

    def add(self, call: ToolCall) -> None:
        """Have a call looked at that is new or has changed."""
        self.waiting[call.id] = call
        self._added.set()

    async def run(self, target: Target) -> None:
        """Look, until cancelled, at what is added."""
        while True:
            self._added = anyio.Event()
            await self.settle(target)
            await self._added.wait()

    async def settle(self, target: Target) -> None:
        """Look at what was added. A disk that hangs costs little more than LOOKUP_SECONDS, once."""
        async with self._looking:
            while self.waiting:
                call = next(iter(self.waiting.values()))
                found = await self.look(call)
                if self.waiting.get(call.id) is call:
                    del self.waiting[call.id]
                found(target)

    async def soon(self, work: Callable[[], T]) -> T | None:
        """Return a result; None if it fails, or takes too long."""
        if self._late_answer is not None and not self._late_answer.is_set():
            return None
        answered = Event()

        def read() -> T:
            try:
                return work()
            finally:
                answered.set()

        with suppress(HostError), anyio.move_on_after(LOOKUP_SECONDS) as limit:
            return await to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._worker)
        self._late_answer = answered if limit.cancelled_caught else None
        return None
