"""A cell's output in a notebook: slots that are drawn a little after they changed, in batch once at the end.

The first change is drawn at once, then at most `MOST_PER_SECOND` displays go out, and a large one more rarely than a
small one. Nobody watches a batch run, and nbval does not see updates: there the outputs depend on what was said alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..conversation.model import Entry, Notice
from ..rendering.entry import render, render_group
from .cell import Bundle, Cell
from .slots import Item, Slot, Slots
from .streaming import Piece, Stream

MOST_PER_SECOND = 20
SECONDS_PER_CHARACTER = 4e-6
"""Of a display's text/plain and text/html: bounds what is sent per byte that the agent said."""
REST_PER_WORK = 4.0
"""Seconds without drawing for each second that drawing took."""

_log = logging.getLogger(__name__)


class Page:
    """Everything that one cell shows. `put` costs what is new; it may be called thousands of times a second."""

    def __init__(self, cell: Cell, loop: asyncio.AbstractEventLoop, cwd: str = "") -> None:
        self._cell, self._cwd = cell, cwd
        self._slots = Slots()
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._rest = 0.0
        """Nothing is to be sent before this time of the loop."""

    def put(self, entry: Entry) -> None:
        """Show `entry`, new or changed."""
        slot = self._slots.put(entry)
        if slot is not None:
            self._wake(slot)

    def open_question(self, entry_id: int, bundle: Bundle, withdraw: Callable[[], None]) -> Callable[[Notice], None]:
        """Show a question at once; the answer takes it away again, and leaves a line if nothing else says it."""
        slot = self._slots.open_question(entry_id, bundle, withdraw)
        self._wake(slot, at_once=True)

        def close(line: Notice) -> None:
            self._slots.close_question(slot, line)
            self._wake(slot, at_once=True)

        return close

    def settle(self) -> None:
        """Send everything that waits; what was said is complete, as far as anybody knows."""
        self._slots.end_streams()
        self._draw(everything=True)

    def add(self, bundle: Bundle, metadata: dict[str, Any]) -> None:
        """One more display, at the end, that never changes."""
        self._cell.display(bundle, metadata=metadata)

    def _wake(self, slot: Slot, at_once: bool = False) -> None:
        """Draw in a moment: never inside of `put`, so that what came in one piece from the agent goes in one."""
        if not self._cell.live:
            return
        if at_once:
            slot.rest = self._rest = 0.0
        at = max(self._rest, slot.rest)
        if self._timer is None or at < self._timer.when():
            self._sleep_until(at)

    def _sleep_until(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._draw)

    def _draw(self, everything: bool = False) -> None:
        """Send what changed and has rested; come back for the others."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._loop.time()
        sent = [self._send(slot) for slot in self._slots if slot.dirty and (everything or slot.rest <= now)]
        self._rest = now + sum(sent) / MOST_PER_SECOND
        waiting = [slot.rest for slot in self._slots if slot.dirty]
        if waiting:
            self._sleep_until(max(self._rest, min(waiting)))

    def _send(self, slot: Slot) -> bool:
        """False: it looks as it did, or it was sent in batch, where nothing can be drawn again."""
        began = self._loop.time()
        slot.dirty = False
        bundle = _picture(slot, self._cwd)
        changed = bundle != slot.shown and (self._cell.live or slot.shown is None)
        if changed:
            self._send_bundle(slot, bundle)
            slot.shown = bundle
            slot.rest = self._rest_after(bundle, began)
        if slot.question is None and slot.withdraw is not None:
            slot.withdraw()
            slot.withdraw = None
        return changed

    def _rest_after(self, bundle: Bundle, began: float) -> float:
        """When to send it again: what is large on the wire, or slow to draw, must not take up the kernel."""
        now = self._loop.time()
        return now + max(1 / MOST_PER_SECOND, _size(bundle) * SECONDS_PER_CHARACTER, (now - began) * REST_PER_WORK)

    def _send_bundle(self, slot: Slot, bundle: Bundle) -> None:
        if not self._cell.live:
            self._cell.display(bundle)
        elif slot.shown is None:
            self._cell.display(bundle, display_id=slot.display_id)
        else:
            self._cell.update(bundle, display_id=slot.display_id)


def _picture(slot: Slot, cwd: str) -> Bundle:
    if slot.question is not None:
        return slot.question
    try:
        return _joined(list(_bundles(slot.items.values(), cwd)))
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


def _size(bundle: Bundle) -> int:
    return sum(len(value) for value in bundle.values() if isinstance(value, str))
