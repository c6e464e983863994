"""An agent's message while it grows: pieces that are finished never change, only the last one is drawn again.

Reading costs what is new, not what is there; drawing costs the last paragraph, and at its end the piece as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..conversation.text import Growing
from ..rendering.blocks import StreamedHtml
from ..rendering.markup import Bundle
from ..rendering.message import render_text


@dataclass(frozen=True)
class Piece:
    """Markdown that no longer grows."""

    source: str

    @cached_property
    def bundle(self) -> Bundle:
        """Rendered as a whole."""
        return render_text("agent", self.source)


class Stream:
    """What of a message came after its last finished piece. `number` counts the pieces before it."""

    def __init__(self) -> None:
        self._html = StreamedHtml()
        self._read = 0
        self.number = 0
        self.is_blank = True
        """There is nothing to see yet."""

    def feed(self, text: Growing) -> list[Piece]:
        """Read on in `text`; the pieces that are finished by it."""
        finished: list[Piece] = []
        for part in text.parts(self._read):
            self._take(part, finished)
        self._read = text.count
        return finished

    def _take(self, part: str, finished: list[Piece]) -> None:
        pieces = self._html.feed(part)
        finished += map(Piece, pieces)
        self.number += len(pieces)
        rest = self._html.source() if pieces else part
        self.is_blank = (self.is_blank or bool(pieces)) and not rest.strip()

    @property
    def bundle(self) -> Bundle:
        """As far as it has come."""
        return render_text("agent", self._html.source(), self._html.html())

    @property
    def last(self) -> Piece:
        """The end of the message, if nothing more comes."""
        return Piece(self._html.source())
