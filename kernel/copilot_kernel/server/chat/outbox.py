"""The two queues of a socket: messages that wait to be sent, bounded, and actions that wait to be done, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable

from ...errors import UsageError
from .wire import Action, Delta, EntryHtml, Event, Message

MAX_CHARS = 8 * 2**20
"""Of the texts of all messages that wait."""
MAX_MESSAGES = 5_000
MAX_REPLAYED = 2_000
MAX_ACTIONS = 50
"""Actions that may wait for a session to open."""
APPENDED = frozenset({"thought"})
"""Events whose `content` continues that of the event before."""
REPLACED = frozenset({"status", "usage", "plan", "mode", "queued", "running"})
"""Events of which only the newest matters."""


class Outbox:
    """`put` never waits; `next` is for one task.

    Deltas in a row become one, and newer HTML of an entry replaces what waits. A client that lets more than `max_chars`
    characters wait is too slow: it should be closed, and can resume later.
    """

    def __init__(self, max_chars: int = MAX_CHARS) -> None:
        self._max_chars = max_chars
        self._waiting: dict[Hashable, tuple[Message, list[str]]] = {}
        self._count = 0
        self._last: Hashable = None
        self._size = 0
        self._changed = asyncio.Event()
        self.overflowed = False
        """Something was lost."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: Message) -> None:
        """Let `message` wait."""
        if self.overflowed:
            return
        text = _appended_text(message)
        if text and self._continues(message):
            self._waiting[self._last][1].append(text)
            self._size += _string_size(text)
        else:
            self._add(message, [text] if text else [])
            self._size += size(message)
        if self._size > self._max_chars or len(self._waiting) > MAX_MESSAGES:
            self.overflowed = True
            self._waiting.clear()
        self._changed.set()

    async def next(self) -> Message | None:
        """The oldest message; None once something was lost."""
        while not self._waiting and not self.overflowed:
            self._changed.clear()
            await self._changed.wait()
        if self.overflowed:
            return None
        key = next(iter(self._waiting))
        message, texts = self._waiting.pop(key)
        self._size -= size(message) + sum(map(_string_size, texts[1:]))
        if key == self._last:
            self._last = None
        return _joined(message, texts)

    def _add(self, message: Message, texts: list[str]) -> None:
        key = _replacement_key(message)
        if key is None:
            self._count += 1
            key = self._count
        elif key in self._waiting:
            self._size -= size(self._waiting[key][0])
        self._waiting[key] = (message, texts)
        self._last = key

    def _continues(self, message: Message) -> bool:
        last = self._waiting.get(self._last) if self._last is not None else None
        if last is None:
            return False
        before = last[0]
        if isinstance(before, Event) and isinstance(message, Event):
            return before.event == message.event and before.fields.get("entry") == message.fields.get("entry")
        return isinstance(before, Delta) and isinstance(message, Delta)


def newest(messages: Iterable[Message], max_chars: int = MAX_CHARS // 2) -> list[Message]:
    """The last of `messages` that fit, so that joining does not overflow the outbox."""
    kept: list[Message] = []
    for message in reversed(list(messages)):
        max_chars -= size(message)
        if max_chars < 0 or len(kept) >= MAX_REPLAYED:
            break
        kept.append(message)
    return kept[::-1]


def size(message: Message) -> int:
    """Characters of the long texts in it; 200 for the rest."""
    fields = message.fields if isinstance(message, Event) else {n: getattr(message, n) for n in message.__slots__}
    return 200 + sum(_length(value) for value in fields.values())


def _string_size(text: str) -> int:
    """A string object costs more than its characters."""
    return 50 + len(text)


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(200 + _length(each) for each in value)
    return sum(map(_length, value.values())) if isinstance(value, dict) else 20


def _appended_text(message: Message) -> str:
    if isinstance(message, Delta):
        return message.content
    return str(message.fields["content"]) if isinstance(message, Event) and message.event in APPENDED else ""


def _replacement_key(message: Message) -> Hashable:
    if isinstance(message, EntryHtml):
        return (message.entry, message.piece)
    return message.event if isinstance(message, Event) and message.event in REPLACED else None


def _joined(message: Message, texts: list[str]) -> Message:
    if len(texts) < 2:
        return message
    if isinstance(message, Event):
        return Event(message.event, {**message.fields, "content": "".join(texts)})
    return Delta("".join(texts))


class ActionQueue:
    """Calls `handle`, which must not raise, for one action after the other; then, once closed, `on_end`."""

    def __init__(self, handle: Callable[[Action], Awaitable[None]], on_end: Callable[[], None]) -> None:
        self._handle, self._on_end = handle, on_end
        self._queue: asyncio.Queue[Action | None] = asyncio.Queue()
        self._unfinished = 0
        self._work = asyncio.create_task(self._run())

    @property
    def is_busy(self) -> bool:
        """Something that came before is unfinished."""
        return self._unfinished > 0

    def put(self, action: Action) -> None:
        """Queue an action. Raises UsageError when too many wait."""
        if self._unfinished >= MAX_ACTIONS:
            raise UsageError(f"{MAX_ACTIONS} actions are already waiting.", "Wait for the session to open.")
        self._unfinished += 1
        self._queue.put_nowait(action)

    def close(self) -> None:
        """No more will come."""
        self._queue.put_nowait(None)

    async def _run(self) -> None:
        while (action := await self._queue.get()) is not None:
            await self._handle(action)
            self._unfinished -= 1
        self._on_end()
