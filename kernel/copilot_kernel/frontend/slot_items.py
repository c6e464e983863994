"""What a display of a cell holds: entries, and the pieces of a message that is growing; and how it looks.

Finished pieces of a message never change, only the last one is drawn again. Reading costs what is new, not what is
there; drawing costs the last paragraph, and at its end the piece as a whole.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from ..conversation.model import Entry
from ..conversation.text import GrowingText
from ..rendering.blocks import StreamedHtml
from ..rendering.entry import render, render_group, render_status, render_text
from ..rendering.markup import Bundle

_log = logging.getLogger(__name__)


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

    def feed(self, text: GrowingText) -> list[Piece]:
        """Read on in `text`; the pieces that are finished by it."""
        new = "".join(text.parts(self._read))
        self._read = text.count
        pieces = self._html.feed(new)
        self.number += len(pieces)
        rest = self._html.source() if pieces else new
        self.is_blank = (self.is_blank or bool(pieces)) and not rest.strip()
        return [Piece(piece) for piece in pieces]

    @property
    def bundle(self) -> Bundle:
        """As far as it has come."""
        return render_text("agent", self._html.source(), self._html.html())

    @property
    def last(self) -> Piece:
        """The end of the message, if nothing more comes."""
        return Piece(self._html.source())


@dataclass(frozen=True)
class Status:
    """What the running turn is doing, as a line that passes."""

    words: str

    @property
    def bundle(self) -> Bundle:
        """One quiet line; one that waits for the user stands out."""
        return render_status(self.words)


Item = Entry | Stream | Piece | Status


def picture(items: Iterable[Item], cwd: str) -> Bundle:
    """`items` one below the other; a bug in drawing them is reported in their place."""
    try:
        return _joined(list(_bundles(items, cwd)))
    except Exception:
        _log.exception("an output could not be drawn")
        return {"text/plain": "(This output could not be drawn; see the kernel's log.)"}


def _bundles(items: Iterable[Item], cwd: str) -> Iterator[Bundle]:
    """Each piece of a message for itself, entries in a row together."""
    for is_alone, row in groupby(items, lambda item: isinstance(item, Piece | Stream | Status)):
        if is_alone:
            yield from (item.bundle for item in row if isinstance(item, Piece | Stream | Status))
        else:
            entries = [entry for entry in row if not isinstance(entry, Piece | Stream | Status)]
            yield render(entries[0], cwd) if len(entries) == 1 else render_group(entries, cwd)


def _joined(bundles: list[Bundle]) -> Bundle:
    """One as it is; of several, what can be joined."""
    if len(bundles) == 1:
        return bundles[0]
    plain = [str(bundle["text/plain"]) for bundle in bundles]
    html = [str(bundle.get("text/html", "")) for bundle in bundles]
    return {"text/plain": "\n\n".join(filter(None, plain)), "text/html": "\n".join(filter(None, html))}
