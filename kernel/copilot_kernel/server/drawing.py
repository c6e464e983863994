"""A conversation's entries as safe HTML, for readers that ask for it: drawn a little after they changed.

What an entry looks like is `rendering`'s business. A message that grows is cut into pieces, of which only the last one
is drawn again; large pictures are drawn more rarely than small ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from ..cells.streaming import Stream
from ..conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
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
LARGEST = 2_000_000
"""Characters of one picture; what is larger comes as shortened text."""

_KINDS = {ToolCall: "tool", Plan: "plan", Notice: "notice", Attachment: "attachment"}


class Drawing:
    """The newest look of what changed goes to `emit`. Nothing is drawn while nobody is `watched`."""

    def __init__(self, emit: Callable[[Drawn], None], watched: Callable[[], bool], cwd: str) -> None:
        self._emit, self._watched, self._cwd = emit, watched, cwd
        self._dirty: dict[int, Entry] = {}
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

    def draw(self) -> None:
        """Send what waits, now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        dirty, self._dirty = self._dirty, {}
        loop, length = asyncio.get_running_loop(), 0
        began = loop.time()
        for entry in dirty.values():
            for picture in self._pictures(entry):
                length += len(picture.html)
                self._emit(picture)
        worked = (loop.time() - began) * REST_PER_WORK
        self._rest = loop.time() + max(1 / MOST_PER_SECOND, length * SECONDS_PER_CHARACTER, worked)

    def settle(self) -> None:
        """Send what waits; no message grows any more."""
        self.draw()
        self._streams.clear()

    def whole(self, entries: Iterable[Entry]) -> Iterator[Drawn]:
        """All of `entries`, as they stand."""
        for entry in entries:
            if isinstance(entry, Message) and entry.speaker == "agent":
                yield from _grown(entry, Stream())
            else:
                yield from self._picture(entry)

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
