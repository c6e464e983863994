"""Conversations that are kept by name, over HTTP and in the chat, and ended when they were idle for long."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar


class Kept(Protocol):
    """A conversation. `last_used` is on the monotonic clock; when idle for `idle_seconds`, it is ended."""

    last_used: float
    idle_seconds: float

    @property
    def is_idle(self) -> bool: ...


C = TypeVar("C", bound=Kept)


class ConversationStore(Generic[C]):
    """Store of at most `size` conversations, each under one or more names. `release(conversation, names)` ends one."""

    def __init__(self, size: int, release: Callable[[C, list[str]], Awaitable[None]]) -> None:
        self.size, self._release = size, release
        self._by_name: dict[str, C] = {}

    def __len__(self) -> int:
        return len(self.all())

    def all(self) -> set[C]:
        """Each conversation once."""
        return set(self._by_name.values())

    def clear(self) -> set[C]:
        """Forget all conversations; the caller ends them."""
        found = self.all()
        self._by_name.clear()
        return found

    def find(self, name: str) -> C | None:
        """The conversation of that name."""
        return self._by_name.get(name)

    def add(self, name: str, conversation: C) -> None:
        """Keep `conversation` under this name, too."""
        self._by_name[name] = conversation

    async def make_room(self, count: int = 1) -> bool:
        """Have room for `count` more, if need be by ending the one that was idle for longest; False if none is."""
        if len(self) + count <= self.size:
            return True
        idle = [each for each in self.all() if each.is_idle]
        if idle:
            await self._end(min(idle, key=lambda each: each.last_used))
        return bool(idle)

    async def sweep(self) -> None:
        """End the conversations that were idle for too long."""
        now = time.monotonic()
        for each in self.all():
            if each.is_idle and now - each.last_used > each.idle_seconds:
                await self._end(each)

    async def _end(self, conversation: C) -> None:
        names = [name for name, each in self._by_name.items() if each is conversation]
        for name in names:
            del self._by_name[name]
        await self._release(conversation, names)
