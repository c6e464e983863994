"""A conversation's entries as safe HTML, for readers that ask for it: drawn a little after they changed.

What an entry looks like is `rendering`'s business. A message that grows is cut into pieces, of which only the last one
is drawn again; large pictures are drawn more rarely than small ones.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from ..frontend.streaming import Stream
from ..rendering.attachment import attachment_html, attachment_text
from ..rendering.entry import render
from ..rendering.markup import escape, pre
from ..rendering.output import shortened
from .history import spoken
from .telling import card, is_file
from .wire import Drawn

MOST_PER_SECOND = 20
SECONDS_PER_CHARACTER = 3e-6
REST_PER_WORK = 3.0
AT_ONCE, AT_THE_END = 0.1, 1.0
"""Seconds that drawing may take from everybody else, while something changes and at the end of a response."""
MOST_AT_ONCE = 1_000_000
"""Characters of pictures that are drawn again for who joins."""
LARGEST = 2_000_000
"""Characters of one picture; what is larger comes as shortened text."""

_log = logging.getLogger(__name__)

_KINDS = {ToolCall: "tool", Plan: "plan", Notice: "notice", Attachment: "attachment"}


class HtmlBatcher:
    """The newest look of what changed goes to `emit`. Nothing is drawn while nobody is `watched`."""

    def __init__(self, emit: Callable[[Drawn], None], watched: Callable[[], bool], cwd: str) -> None:
        self._emit, self._watched, self._cwd = emit, watched, cwd
        self._dirty: dict[int, Entry] = {}
        self._backlog: deque[Iterator[Drawn]] = deque()
        self._streams: dict[int, Stream] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._rest = 0.0

    def put(self, entry: Entry) -> None:
        """`entry` is new or changed."""
        if not self._watched():
            self._streams.clear()
            return
        self._dirty[entry.id] = entry
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(self._rest, self.draw)

    def draw(self, seconds: float = AT_ONCE) -> None:
        """Send what waits, now; what takes longer goes on later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        dirty, self._dirty = self._dirty, {}
        self._backlog.extend(self._pictures(entry) for entry in dirty.values())
        loop = asyncio.get_running_loop()
        began, length = loop.time(), 0
        while self._backlog and loop.time() - began < seconds:
            length += self._next()
        worked = (loop.time() - began) * REST_PER_WORK
        self._rest = loop.time() + max(1 / MOST_PER_SECOND, length * SECONDS_PER_CHARACTER, worked)
        if self._backlog:
            self._timer = loop.call_at(self._rest, self.draw)

    def settle(self) -> None:
        """Send what waits; no message grows any more."""
        self.draw(AT_THE_END)
        self._streams.clear()

    def whole(self, entries: Sequence[Entry]) -> list[Drawn]:
        """The newest of `entries` as they stand, as many as are soon drawn."""
        kept: list[Drawn] = []
        for entry in reversed(entries):
            for picture in self._newest_first(entry):
                kept.append(picture)
                if sum(len(each.html) for each in kept) > MOST_AT_ONCE:
                    return kept[::-1]
        return kept[::-1]

    def _next(self) -> int:
        """Characters that were sent: one picture, or none if the first of the backlog has no more."""
        try:
            picture = next(self._backlog[0], None)
        except Exception:
            _log.exception("an entry could not be drawn")
            picture = None
        if picture is None:
            self._backlog.popleft()
            return 0
        self._emit(picture)
        return len(picture.html)

    def _newest_first(self, entry: Entry) -> Iterator[Drawn]:
        """Of a long message, the end is drawn first."""
        if not (isinstance(entry, Message) and entry.speaker == "agent"):
            yield from self._picture(entry)
            return
        stream = Stream()
        pieces = stream.feed(entry.text)
        if not stream.is_blank:
            yield Drawn(entry.id, stream.number, "message", stream.bundle["text/html"])
        for number in reversed(range(len(pieces))):
            yield Drawn(entry.id, number, "message", pieces[number].bundle["text/html"])

    def _pictures(self, entry: Entry) -> Iterator[Drawn]:
        if isinstance(entry, Message) and entry.speaker == "agent":
            return _grown(entry, self._streams.setdefault(entry.id, Stream()))
        return self._picture(entry)

    def _picture(self, entry: Entry) -> Iterator[Drawn]:
        html = _html(entry, self._cwd)
        if html:
            yield Drawn(entry.id, 0, _kind(entry), _bounded(html, entry, self._cwd), getattr(entry, "status", ""))


def _grown(entry: Message, stream: Stream) -> Iterator[Drawn]:
    first = stream.number
    for number, piece in enumerate(stream.feed(entry.text), first):
        yield Drawn(entry.id, number, "message", piece.bundle["text/html"])
    if not stream.is_blank:
        yield Drawn(entry.id, stream.number, "message", stream.bundle["text/html"])


def _html(entry: Entry, cwd: str) -> str:
    match entry:
        case Message(speaker="user"):
            return escape(spoken(entry))
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
    return html if len(html) <= LARGEST else pre(escape(shortened(render(entry, cwd)["text/plain"])))


def _kind(entry: Entry) -> str:
    if isinstance(entry, Message):
        return "prompt" if entry.speaker == "user" else entry.speaker
    return _KINDS[type(entry)]
