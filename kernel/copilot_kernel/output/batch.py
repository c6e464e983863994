"""A cell's output in a batch run (nbclient, papermill, nbval): each display is sent once, when it is complete.

When it is sent depends on the order of updates, never on time, so that a run can be compared with another; and
a long run shows how far it is. nbval does not see updates: what changed after it was sent is sent again at the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import takewhile
from typing import Any

from ..conversation.model import FINAL, Entry, ToolCall
from ..rendering.blocks import Stream
from ..views.lexers import begin
from .cell import Bundle, Cell
from .questions import TurnOutput
from .slot_items import Item, picture
from .slots import Slot, Slots


class Batch(TurnOutput):
    """Everything that one cell of a batch run shows."""

    def __init__(self, cell: Cell, cwd: str = "") -> None:
        self._cell, self._cwd = cell, cwd
        self._slots = Slots()
        self._sent: dict[Slot, dict[Hashable, Item]] = {}

    def put(self, entry: Entry) -> None:
        """Show `entry`, new or changed, once it and all before it are over."""
        begin(entry)
        self._slots.put(entry)
        for slot in takewhile(_is_over, self._unsent()[:-1]):  # something may join the last one
            self._send(slot)

    def settle(self) -> None:
        """Send the others, and what changed since it was sent."""
        self._slots.end_streams()
        for slot in self._unsent():
            self._send(slot)
        self._send_late()

    def add(self, bundle: Bundle, metadata: dict[str, Any]) -> str:
        """One more display, at the end, which cannot be updated."""
        self._cell.display(bundle, metadata=metadata)
        return ""

    def _unsent(self) -> list[Slot]:
        return [slot for slot in self._slots if slot not in self._sent]

    def _send(self, slot: Slot) -> None:
        self._cell.display(picture(slot.items.values(), self._cwd))
        self._sent[slot] = dict(slot.items)

    def _send_late(self) -> None:
        late = [item for slot, sent in self._sent.items() for item in self._changed(slot, sent)]
        if late:
            self._cell.display(picture(late, self._cwd))
            self._sent = {slot: dict(slot.items) for slot in self._sent}

    def _changed(self, slot: Slot, sent: dict[Hashable, Item]) -> Iterator[Item]:
        """Return what looks different from what was sent."""
        for key, item in slot.items.items():
            before = sent.get(key)
            if before is None or (item is not before and picture([item], self._cwd) != picture([before], self._cwd)):
                yield item


def _is_over(slot: Slot) -> bool:
    """Return True if nothing in the slot still changes."""
    return not any(
        isinstance(item, Stream) or (isinstance(item, ToolCall) and item.status not in FINAL)
        for item in slot.items.values()
    )
