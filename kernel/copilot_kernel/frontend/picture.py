"""What a slot looks like: one MIME bundle for all that it holds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from ..conversation.model import Entry
from ..rendering.entry import render, render_group
from .cell import Bundle
from .slots import Item
from .streaming import Piece, Stream

_log = logging.getLogger(__name__)


def picture(items: Iterable[Item], cwd: str) -> Bundle:
    """`items` one below the other; a bug in drawing them is told in their place."""
    try:
        return _joined(list(_bundles(items, cwd)))
    except Exception:
        _log.exception("an output could not be drawn")
        return {"text/plain": "(This output could not be drawn; the kernel's log says why.)"}


def _bundles(items: Iterable[Item], cwd: str) -> Iterator[Bundle]:
    """Each piece of a message for itself, entries in a row together."""
    entries: list[Entry] = []
    for item in items:
        if not isinstance(item, Piece | Stream):
            entries.append(item)
            continue
        yield from _group(entries, cwd)
        yield item.bundle
        entries = []
    yield from _group(entries, cwd)


def _group(entries: list[Entry], cwd: str) -> Iterator[Bundle]:
    if entries:
        yield render(entries[0], cwd) if len(entries) == 1 else render_group(entries, cwd)


def _joined(bundles: list[Bundle]) -> Bundle:
    """One as it is; of several, what can be joined."""
    if len(bundles) == 1:
        return bundles[0]
    plain = [str(bundle["text/plain"]) for bundle in bundles]
    html = [str(bundle.get("text/html", "")) for bundle in bundles]
    return {"text/plain": "\n\n".join(filter(None, plain)), "text/html": "\n".join(filter(None, html))}
