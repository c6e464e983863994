"""What waits for one socket: bounded, and as short as it can be.

Deltas in a row become one, a newer picture of an entry takes the place of the one that waits. A reader that lets more
than `most` characters wait is too slow: it is to be closed, and finds everything again when it comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable

from .wire import Delta, Drawn, Event, Message

MOST = 8 * 2**20
"""Characters that may wait, of the texts alone."""
MOST_MESSAGES = 5_000
MOST_AT_ONCE = 2_000
GROWING = frozenset({"thought"})
"""Events whose `content` goes on where the one before ended."""
PASSING = frozenset({"status", "usage", "plan", "mode", "queued", "running"})
"""Events of which only the newest matters."""


class Outbox:
    """`put` never waits. `next` is for one task."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._waiting: dict[Hashable, tuple[Message, list[str]]] = {}
        self._numbers = 0
        self._last: Hashable = None
        self._size = 0
        self._there = asyncio.Event()
        self.full = False
        """Something could not be kept."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: Message) -> None:
        """Let it wait."""
        if self.full:
            return
        grown = _growing(message)
        if grown and self._goes_on(message):
            self._waiting[self._last][1].append(grown)
            self._size += _part(grown)
        else:
            self._add(message, [grown] if grown else [])
            self._size += size(message)
        if self._size > self._most or len(self._waiting) > MOST_MESSAGES:
            self.full = True
            self._waiting.clear()
        self._there.set()

    async def next(self) -> Message | None:
        """The oldest; None once something could not be kept."""
        while not self._waiting and not self.full:
            self._there.clear()
            await self._there.wait()
        if self.full:
            return None
        key = next(iter(self._waiting))
        message, parts = self._waiting.pop(key)
        self._size -= size(message) + sum(map(_part, parts[1:]))
        if key == self._last:
            self._last = None
        return _whole(message, parts)

    def _add(self, message: Message, parts: list[str]) -> None:
        key = _key(message)
        if key is None:
            self._numbers += 1
            key = self._numbers
        elif key in self._waiting:
            self._size -= size(self._waiting[key][0])
        self._waiting[key] = (message, parts)
        self._last = key

    def _goes_on(self, message: Message) -> bool:
        last = self._waiting.get(self._last) if self._last is not None else None
        if last is None:
            return False
        before = last[0]
        if isinstance(before, Event) and isinstance(message, Event):
            return before.event == message.event and before.fields.get("entry") == message.fields.get("entry")
        return isinstance(before, Delta) and isinstance(message, Delta)


def newest(messages: Iterable[Message], most: int = MOST // 2) -> list[Message]:
    """The last of `messages` that fit: whoever joins must not be sent away for it."""
    kept: list[Message] = []
    for message in reversed(list(messages)):
        most -= size(message)
        if most < 0 or len(kept) >= MOST_AT_ONCE:
            break
        kept.append(message)
    return kept[::-1]


def size(message: Message) -> int:
    """Characters of the long texts in it; 200 for the rest."""
    fields = message.fields if isinstance(message, Event) else {n: getattr(message, n) for n in message.__slots__}
    return 200 + sum(_length(value) for value in fields.values())


def _part(text: str) -> int:
    """A string costs more than its characters."""
    return 50 + len(text)


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(200 + _length(each) for each in value)
    return sum(map(_length, value.values())) if isinstance(value, dict) else 20


def _growing(message: Message) -> str:
    if isinstance(message, Delta):
        return message.content
    return str(message.fields["content"]) if isinstance(message, Event) and message.event in GROWING else ""


def _key(message: Message) -> Hashable:
    if isinstance(message, Drawn):
        return (message.entry, message.piece)
    return message.event if isinstance(message, Event) and message.event in PASSING else None


def _whole(message: Message, parts: list[str]) -> Message:
    if len(parts) < 2:
        return message
    if isinstance(message, Event):
        return Event(message.event, {**message.fields, "content": "".join(parts)})
    return Delta("".join(parts))
