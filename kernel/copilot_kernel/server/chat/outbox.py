"""The messages that wait to be sent to one socket: bounded, and each state only as it is now."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from itertools import count

from .feed import Update, messages
from .wire import SocketMessage, compose

MAX_WAITING_CHARS = 8 * 2**20
"""Limit of all messages that wait."""
NEWEST_ONLY = frozenset({"status", "usage", "plan", "mode", "queued", "running"})
"""Events of which only the newest matters."""


class Outbox:
    """`put` never waits; `next` is for one task.

    Newer HTML of an entry, and newer state, takes the place of what waits. A client that lets more than `max_chars`
    characters wait is too slow: it should be closed, and can resume later.
    """

    def __init__(self, with_html: bool, max_chars: int = MAX_WAITING_CHARS) -> None:
        self._with_html, self._max_chars = with_html, max_chars
        self._waiting: dict[Hashable, str] = {}
        self._numbers = count()
        self._size = 0
        self._changed = asyncio.Event()
        self.overflowed = False
        """Something was lost."""

    def put(self, update: Update) -> None:
        """Let the messages about `update` wait."""
        for message in messages(update, self._with_html):
            if self.overflowed:
                return
            key, text = _replacement_key(message) or next(self._numbers), compose(message, self._with_html)
            self._size += len(text) - len(self._waiting.get(key, ""))
            self._waiting[key] = text
            if self._size > self._max_chars:
                self.overflowed = True
                self._waiting.clear()
            self._changed.set()

    async def next(self) -> str | None:
        """The oldest message as JSON; None once something was lost."""
        while not self._waiting and not self.overflowed:
            self._changed.clear()
            await self._changed.wait()
        if self.overflowed:
            return None
        text = self._waiting.pop(next(iter(self._waiting)))
        self._size -= len(text)
        return text


def _replacement_key(message: SocketMessage) -> Hashable:
    members, name = message.members, message.members.get("event")
    if name == "entry":
        return members["entry"], members["piece"]
    return name if name in NEWEST_ONLY else None
