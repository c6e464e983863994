"""A conversation's entries as safe HTML, for subscribers that ask for it: rendered a little after they changed.

What an entry looks like is up to `rendering`. A growing message is cut into pieces, of which only the last one is
rendered again; the larger the HTML, the longer the pause before the next rendering.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from ...frontend.slot_items import Stream
from ...rendering.attachment import attachment_html, attachment_text
from ...rendering.entry import render
from ...rendering.markup import escape, pre
from ...rendering.output import shortened
from .encoder import card, is_file, prompt_text
from .wire import EntryHtml

MAX_PER_SECOND = 20
SECONDS_PER_CHARACTER = 3e-6
PAUSE_PER_WORK = 3.0
RENDER_SECONDS, FINAL_RENDER_SECONDS = 0.1, 1.0
"""How long rendering may block the event loop, while something changes and at the end of a response."""
MAX_REPLAY_CHARS = 1_000_000
"""Of HTML that is rendered again for a subscriber that joins."""
MAX_ENTRY_CHARS = 2_000_000
"""Of one entry's HTML; a larger one is sent as shortened text."""

_log = logging.getLogger(__name__)

_KINDS = {ToolCall: "tool", Plan: "plan", Notice: "notice", Attachment: "attachment"}


class HtmlBatcher:
    """The newest HTML of what changed goes to `emit`. Nothing is rendered unless `is_watched`."""

    def __init__(self, emit: Callable[[EntryHtml], None], is_watched: Callable[[], bool], cwd: str) -> None:
        self._emit, self._is_watched, self._cwd = emit, is_watched, cwd
        self._dirty: dict[int, Entry] = {}
        self._backlog: deque[Iterator[EntryHtml]] = deque()
        self._streams: dict[int, Stream] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next_at = 0.0

    def put(self, entry: Entry) -> None:
        """`entry` is new or changed."""
        if not self._is_watched():
            self._streams.clear()
            return
        self._dirty[entry.id] = entry
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(self._next_at, self.flush)

    def flush(self, seconds: float = RENDER_SECONDS) -> None:
        """Send what waits, now; what takes longer than `seconds` continues later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        dirty, self._dirty = self._dirty, {}
        self._backlog.extend(self._changes(entry) for entry in dirty.values())
        loop = asyncio.get_running_loop()
        began, length = loop.time(), 0
        while self._backlog and loop.time() - began < seconds:
            length += self._send_next()
        worked = (loop.time() - began) * PAUSE_PER_WORK
        self._next_at = loop.time() + max(1 / MAX_PER_SECOND, length * SECONDS_PER_CHARACTER, worked)
        if self._backlog:
            self._timer = loop.call_at(self._next_at, self.flush)

    def settle(self) -> None:
        """Send what waits; no message grows after this."""
        self.flush(FINAL_RENDER_SECONDS)
        self._streams.clear()

    def replay(self, entries: Sequence[Entry]) -> list[EntryHtml]:
        """The newest of `entries` as they stand, up to MAX_REPLAY_CHARS."""
        kept: list[EntryHtml] = []
        for entry in reversed(entries):
            for message in self._newest_first(entry):
                kept.append(message)
                if sum(len(each.html) for each in kept) > MAX_REPLAY_CHARS:
                    return kept[::-1]
        return kept[::-1]

    def _send_next(self) -> int:
        """Send one message; the number of characters, 0 if the first of the backlog has no more."""
        try:
            message = next(self._backlog[0], None)
        except Exception:
            _log.exception("an entry could not be rendered")
            message = None
        if message is None:
            self._backlog.popleft()
            return 0
        self._emit(message)
        return len(message.html)

    def _newest_first(self, entry: Entry) -> Iterator[EntryHtml]:
        """Of a long message, the end is rendered first."""
        if not (isinstance(entry, Message) and entry.speaker == "agent"):
            yield from self._message(entry)
            return
        stream = Stream()
        pieces = stream.feed(entry.text)
        if not stream.is_blank:
            yield EntryHtml(entry.id, stream.number, "message", stream.bundle["text/html"])
        for number in reversed(range(len(pieces))):
            yield EntryHtml(entry.id, number, "message", pieces[number].bundle["text/html"])

    def _changes(self, entry: Entry) -> Iterator[EntryHtml]:
        if isinstance(entry, Message) and entry.speaker == "agent":
            return _grown(entry, self._streams.setdefault(entry.id, Stream()))
        return self._message(entry)

    def _message(self, entry: Entry) -> Iterator[EntryHtml]:
        html = _html(entry, self._cwd)
        if html:
            yield EntryHtml(entry.id, 0, _kind(entry), _bounded(html, entry, self._cwd), getattr(entry, "status", ""))


def _grown(entry: Message, stream: Stream) -> Iterator[EntryHtml]:
    first = stream.number
    for number, piece in enumerate(stream.feed(entry.text), first):
        yield EntryHtml(entry.id, number, "message", piece.bundle["text/html"])
    if not stream.is_blank:
        yield EntryHtml(entry.id, stream.number, "message", stream.bundle["text/html"])


def _html(entry: Entry, cwd: str) -> str:
    match entry:
        case Message(speaker="user"):
            return escape(prompt_text(entry))
        case Attachment(speaker="user"):
            return escape(attachment_text(entry.block))
        case Attachment():
            return "" if is_file(entry.block) or card(entry.block) is not None else attachment_html(entry.block)
        case ToolCall():
            left = tuple(each for each in entry.content if not is_file(each))  # type: ignore[arg-type]
            return str(render(replace(entry, content=left), cwd)["text/html"])
        case _:
            return str(render(entry, cwd)["text/html"])


def _bounded(html: str, entry: Entry, cwd: str) -> str:
    return html if len(html) <= MAX_ENTRY_CHARS else pre(escape(shortened(render(entry, cwd)["text/plain"])))


def _kind(entry: Entry) -> str:
    if isinstance(entry, Message):
        return "prompt" if entry.speaker == "user" else entry.speaker
    return _KINDS[type(entry)]
