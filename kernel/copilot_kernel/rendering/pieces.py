"""Pieces of a message that is growing.

Finished pieces never change, only the last one is drawn again. Reading costs what is new, not what is
there; drawing costs the last paragraph. What takes long is prepared in steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ..conversation.text import GrowingText
from .blocks import PieceHtml, StreamedHtml
from .entry import render_text
from .markup import Bundle, escape, pre
from .plain import prose

MAX_MESSAGE_CHARS = 1024 * 1024
"""Limit of one message that is shown, besides its end."""
END_CHARS = 4000


class Piece:
    """Markdown that no longer grows: piece `number` of a message. `known` holds the HTML of its units, as far as they
    were rendered before. `ending` is the end of a message of which not all is shown, and says so.
    """

    def __init__(self, source: str, number: int = 0, known: Mapping[str, str] | None = None, ending: str = "") -> None:
        self.source, self.number = source, number
        self._html, self._ending = PieceHtml(source, known), ending

    def prepare(self) -> bool:
        """Render a little more; False: `bundle` is almost ready."""
        return self._html.work()

    @cached_property
    def bundle(self) -> Bundle:
        """Complete."""
        return _ended(render_text("agent", self.source, self._html.html()), self._ending)


class Stream:
    """Text of a message after its last finished piece. `number` counts the pieces before it."""

    def __init__(self) -> None:
        self._html = StreamedHtml()
        self._read = self._taken = 0
        self._unread = self._ending = ""
        self.is_blank = True
        """There is nothing to see yet."""

    @property
    def number(self) -> int:
        """Number of the pieces before it."""
        return self._html.number

    @property
    def is_read(self) -> bool:
        """All that was given to `feed` counts."""
        return not self._unread

    def feed(self, text: GrowingText, limit: int = MAX_MESSAGE_CHARS) -> list[Piece]:
        """Read on in `text`, `limit` characters at most; the pieces that are finished by it."""
        new = "".join(part[:MAX_MESSAGE_CHARS] for part in text.parts(self._read))
        new = (self._unread + new if self._unread else new)[: MAX_MESSAGE_CHARS - self._taken]
        self._read, end = len(text), "".join(text.parts(max(len(text) - END_CHARS, MAX_MESSAGE_CHARS)))
        left_out = len(text) - MAX_MESSAGE_CHARS - len(end)
        self._ending = f"… {left_out:,} characters not shown …\n\n{end}" if left_out > 0 else end
        new, self._unread = new[:limit], new[limit:]
        self._taken += len(new)
        first = self.number
        sources = self._html.feed(new)
        rest = self._html.source() if sources else new
        self.is_blank = (self.is_blank or bool(sources)) and not rest.strip()
        known = [self._html.known, *({} for _ in sources)]
        return [Piece(source, first + at, known[at]) for at, source in enumerate(sources)]

    def prepare(self) -> bool:
        """Render a little more; False: `bundle` is almost ready."""
        return self._html.work()

    @property
    def bundle(self) -> Bundle:
        """Return the text as far as it has come."""
        return _ended(render_text("agent", self._html.source(), self._html.html()), self._ending)

    @property
    def last(self) -> Piece:
        """The end of the message, if nothing more comes."""
        return Piece(self._html.source(), self.number, self._html.rendered, self._ending)


def _ended(bundle: Bundle, ending: str) -> Bundle:
    added = {"text/html": pre(escape(ending)), "text/plain": f"\n\n{prose(ending)}"}
    return {kind: bundle[kind] + text for kind, text in added.items()} if ending else bundle
