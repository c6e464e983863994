"""Items of a cell's display: entries, and the pieces of a message that is growing; and how they look."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from ..conversation.model import Entry
from ..rendering.blocks import Piece, Stream
from ..rendering.entry import render, render_group
from ..rendering.markup import Bundle
from ..rendering.status import render_status

UNDRAWN = "(This output could not be drawn; see the kernel's log.)"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StatusLine:
    """Activity of the running turn, as a line that passes."""

    words: str

    @property
    def bundle(self) -> Bundle:
        """One quiet line; one that waits for the user stands out."""
        return render_status(self.words)


Item = Entry | Stream | Piece | StatusLine
Drawn = dict[int, tuple[Entry, Bundle]]
"""Entries as they were rendered last, by id."""


def picture(items: Iterable[Item], cwd: str, drawn: Drawn | None = None) -> Bundle:
    """`items` one below the other; a bug in drawing them is reported in their place. `drawn`: see `draw`."""
    try:
        return _joined(list(_bundles(items, cwd, {} if drawn is None else drawn)))
    except Exception:
        _log.exception("an output could not be drawn")
        return {"text/plain": UNDRAWN}


def draw(entry: Entry, cwd: str, drawn: Drawn) -> Bundle:
    """`entry` as `drawn` has it, or else rendered and kept there: of many entries in one display, few change."""
    if not is_drawn(entry, drawn):
        drawn[entry.id] = entry, render(entry, cwd)
    return drawn[entry.id][1]


def is_drawn(entry: Entry, drawn: Drawn) -> bool:
    """Return True if `drawn` has the entry as it is."""
    return entry.id in drawn and drawn[entry.id][0] is entry


def _bundles(items: Iterable[Item], cwd: str, drawn: Drawn) -> Iterator[Bundle]:
    """Each piece of a message for itself, entries in a row together."""
    for is_alone, row in groupby(items, lambda item: isinstance(item, Piece | Stream | StatusLine)):
        if is_alone:
            yield from (item.bundle for item in row if isinstance(item, Piece | Stream | StatusLine))
        else:
            entries = [entry for entry in row if not isinstance(entry, Piece | Stream | StatusLine)]
            draw_one = partial(draw, cwd=cwd, drawn=drawn)
            yield draw_one(entries[0]) if len(entries) == 1 else render_group(entries, draw_one)


def _joined(bundles: list[Bundle]) -> Bundle:
    """One as it is; of several, what can be joined."""
    if len(bundles) == 1:
        return bundles[0]
    plain = [str(bundle["text/plain"]) for bundle in bundles]
    html = [str(bundle.get("text/html", "")) for bundle in bundles]
    return {"text/plain": "\n\n".join(filter(None, plain)), "text/html": "\n".join(filter(None, html))}
