"""A conversation's entries as safe HTML, for subscribers that ask for it: rendered a little after they changed.

What an entry looks like is up to `rendering`. A growing message is cut into pieces, of which only the last one is
rendered again; the larger the HTML, the longer the pause before the next rendering. Lookups in a row are shown in the
place of the first one; the HTML of the others is empty then.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ...conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from ...rendering.attachment import attachment
from ...rendering.blocks import Piece, Stream
from ...rendering.entry import MAX_GROUP, is_quiet, parts, render, render_group
from ...rendering.markup import escape, pre
from ...rendering.output import shortened
from ...views.lexers import begin
from ...views.pacer import Pacer
from .history import prompt_text
from .media import card, is_file

RENDER_SECONDS, FINAL_RENDER_SECONDS = 0.1, 1.0
"""Time that rendering may block the event loop, while something changes and at the end of a response."""
MAX_ENTRY_CHARS = 2_000_000
"""Limit of one entry's HTML; a larger one is sent as shortened text."""

_log = logging.getLogger(__name__)


class EntryHtml(Struct, frozen=True):
    """`html` replaces what stood at (`entry`, `piece`); it is empty if the entry is shown with an earlier one."""

    entry: int
    piece: int
    kind: str
    html: str
    status: str = ""


class HtmlBatcher:
    """The newest HTML of what changed goes to `emit`. Nothing is rendered unless `is_watched`.

    `entries` returns those of the conversation as it stands.
    """

    def __init__(
        self,
        emit: Callable[[EntryHtml], None],
        is_watched: Callable[[], bool],
        entries: Callable[[], Sequence[Entry]],
        cwd: str,
    ) -> None:
        self._emit, self._is_watched, self._entries, self._cwd = emit, is_watched, entries, cwd
        self._dirty: dict[int, Entry] = {}
        # Entries that were sent as one with others.
        self._grouped: set[int] = set()
        self._backlog: deque[Iterator[EntryHtml]] = deque()
        self._streams: dict[int, Stream] = {}
        self._pacer = Pacer(asyncio.get_running_loop(), self.flush)

    def put(self, entry: Entry) -> None:
        """`entry` is new or changed."""
        if not self._is_watched():
            self._streams.clear()
            return
        self._dirty[entry.id] = entry
        self._pacer.wake()

    def flush(self, seconds: float = RENDER_SECONDS) -> None:
        """Send what waits, now; what takes longer than `seconds`, or needs a lexer that is not loaded, comes later."""
        self._send(seconds, {id: entry for id, entry in self._dirty.items() if begin(entry)})

    def _send(self, seconds: float, later: dict[int, Entry]) -> None:
        self._pacer.stop()
        dirty, self._dirty = self._dirty, later
        self._backlog.extend(self._changes(entry) for id, entry in dirty.items() if id not in later)
        began, length = self._pacer.now, 0
        while self._backlog and self._pacer.now - began < seconds:
            length += self._send_next()
        self._pacer.next_at = self._pacer.rest(began, length)
        if self._backlog or self._dirty:
            self._pacer.wake()

    def settle(self) -> None:
        """Send what waits; no message grows after this."""
        self._send(FINAL_RENDER_SECONDS, {})
        self._streams.clear()

    def newest_first(self, entries: Sequence[Entry]) -> Iterator[EntryHtml]:
        """The messages of `entries` as they stand, of a long message the end first."""
        for part in reversed(list(parts(list(entries)))):
            if isinstance(part[0], Message) and part[0].speaker == "agent":
                yield from _grown(part[0], Stream(), newest_first=True)
            else:
                yield from self._messages(part)

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

    def _changes(self, entry: Entry) -> Iterator[EntryHtml]:
        if isinstance(entry, Message) and entry.speaker == "agent":
            yield from _grown(entry, self._streams.setdefault(entry.id, Stream()))
            return
        # What is new in a group may shift those after it; what has left one divides it.
        first = entry.id if is_quiet(entry) else entry.id - MAX_GROUP
        for part in parts(self._around(entry)):
            if part[-1].id >= first:
                yield from self._messages(part)

    def _around(self, entry: Entry) -> list[Entry]:
        """`entry` between those with which it is, or was, shown as one."""
        if not (is_quiet(entry) or entry.id in self._grouped):
            return [entry]
        entries = self._entries()
        before = takewhile(is_quiet, (entries[at] for at in range(min(entry.id, len(entries)) - 1, -1, -1)))
        after = takewhile(is_quiet, (entries[at] for at in range(entry.id + 1, len(entries))))
        return [*reversed(list(before)), entry, *after]

    def _messages(self, part: Sequence[Entry]) -> Iterator[EntryHtml]:
        """Return the messages of one entry, or of several that are shown as one."""
        first, *others = part
        shown = partial(render, cwd=self._cwd)
        kind, html = ("tool", render_group(part, shown)["text/html"]) if others else _kind_and_html(first, self._cwd)
        if len(html) > MAX_ENTRY_CHARS:
            html = pre(escape(shortened(render_group(part, shown)["text/plain"])))
        if others:
            self._grouped.update(each.id for each in part)
        if html:
            yield EntryHtml(first.id, 0, kind, html, getattr(first, "status", ""))
        for each in others:
            yield EntryHtml(each.id, 0, "thought" if isinstance(each, Message) else "tool", "")


def _grown(entry: Message, stream: Stream, *, newest_first: bool = False) -> Iterator[EntryHtml]:
    """The pieces of a message that are new to `stream`, and what comes after them."""
    first = stream.number
    parts: list[Piece | Stream] = [*stream.feed(entry.text)]
    if not stream.is_blank:
        parts.append(stream)
    numbered = list(enumerate(parts, first))
    for number, part in reversed(numbered) if newest_first else numbered:
        yield EntryHtml(entry.id, number, "message", part.bundle["text/html"])


def _kind_and_html(entry: Entry, cwd: str) -> tuple[str, str]:
    match entry:
        case Message(speaker="user"):
            return "prompt", escape(prompt_text(entry))
        case Message():
            return entry.speaker, _rendered(entry, cwd)
        case Attachment(speaker="user"):
            return "attachment", escape(attachment(entry.block).text)
        case Attachment():
            is_shown_apart = is_file(entry.block) or card(entry.block) is not None
            return "attachment", "" if is_shown_apart else attachment(entry.block).html
        case ToolCall():
            left = tuple(each for each in entry.content if not is_file(each))  # type: ignore[arg-type]
            return "tool", _rendered(replace(entry, content=left), cwd)
        case Plan():
            return "plan", _rendered(entry, cwd)
        case Notice():
            return "notice", _rendered(entry, cwd)
        case _:
            assert_never(entry)


def _rendered(entry: Entry, cwd: str) -> str:
    return str(render(entry, cwd)["text/html"])
