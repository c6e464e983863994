"""Which display of a cell shows what: entries in a row share one, so that a cell stays under 50 outputs.

JupyterLab hides what comes after the 50th. The layout depends on the order of entries and questions alone; when a slot
is sent, and how often, is `page.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from uuid import uuid4

from ..acp.messages import Image
from ..conversation.model import Attachment, Entry, Message, Notice
from ..rendering.markup import Bundle
from .streaming import Piece, Stream

Item = Entry | Stream | Piece

MOST = 38
"""Slots of one cell; the last of them takes whatever comes after."""
MOST_QUESTIONS = 6
"""Questions that stand in a cell at once; so many slots are kept for questions when the others are used up."""


@dataclass(eq=False, slots=True)
class Slot:
    """One display. `items` are what it shows; while `question` is set, it shows that instead."""

    alone: bool = False
    """Nothing else may join: a piece of a message, an image."""
    items: dict[Hashable, Item] = field(default_factory=dict)
    question: Bundle | None = None
    withdraw: Callable[[], None] | None = None
    """To be called when the question no longer stands in the cell."""
    dirty: bool = False
    display_id: str = field(default_factory=lambda: uuid4().hex)
    shown: Bundle | None = None
    """What was sent last."""
    rest: float = 0.0
    """Not to be sent again before this time of the loop."""

    def put(self, key: Hashable, item: Item) -> None:
        """Show `item`, in the place of what had its key."""
        self.items[key] = item
        self.dirty = True

    def take(self, key: Hashable) -> Item:
        """Show it no longer."""
        self.dirty = True
        return self.items.pop(key)


class Slots:
    """The slots of one cell, in the order of its outputs."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        self._spare: list[Slot] = []
        self.status: Slot | None = None
        """Where a passing line stands, until something that stays takes its place."""
        self._homes: dict[int, Slot] = {}
        self._streams: dict[int, Stream] = {}
        self._growing: set[int] = set()

    def __iter__(self) -> Iterator[Slot]:
        return iter((*self._slots, *filter(None, [self.status]), *self._spare))

    def put(self, entry: Entry) -> Slot | None:
        """Show `entry` in its slot: the one that it has, the last one, or a new one. None: nothing to see yet."""
        if entry.id not in self._homes and entry.id not in self._streams:
            self.end_streams()
        if isinstance(entry, Message) and entry.speaker == "agent":
            self._put_text(entry)
        else:
            self._home(entry.id, alone=_is_image(entry)).put(entry.id, entry)
        return self._homes.get(entry.id)

    def end_streams(self) -> None:
        """The messages are complete, as far as anybody knows: their last pieces are rendered as a whole."""
        for entry_id in self._growing:
            stream = self._streams[entry_id]
            self._homes[entry_id].put((entry_id, stream.number), stream.last)
        self._growing.clear()

    def open_question(self, entry_id: int, bundle: Bundle, withdraw: Callable[[], None]) -> Slot:
        """A question about an entry stands where the entry does; what shares its slot moves, or else the entry does."""
        slot = self._place_of_question(entry_id)
        if slot.withdraw is not None:
            slot.withdraw()
        slot.question, slot.withdraw, slot.dirty = bundle, withdraw, True
        return slot

    def close_question(self, slot: Slot, line: Notice) -> None:
        """The question is decided: what it was about is shown in its place, or `line` if that is elsewhere."""
        slot.question, slot.dirty = None, True
        if not slot.items:
            slot.put(object(), line)

    def close_questions(self) -> None:
        """Nobody can answer any more; what was decided comes with `close_question`."""
        for slot in self:
            if slot.question is not None:
                slot.question, slot.dirty = None, True

    def _put_text(self, entry: Message) -> None:
        """Each piece in a slot of its own; a finished one stays where it grew."""
        stream = self._streams.setdefault(entry.id, Stream())
        before, pieces = stream.number, stream.feed(entry.text)
        for number, piece in enumerate(pieces, before):
            self._home(entry.id, alone=True).put((entry.id, number), piece)
            del self._homes[entry.id]
        self._growing.discard(entry.id)
        if not stream.is_blank:
            self._home(entry.id, alone=True).put((entry.id, stream.number), stream)
            self._growing.add(entry.id)

    def _home(self, entry_id: int, alone: bool) -> Slot:
        if entry_id not in self._homes:
            self._homes[entry_id] = self._open_slot(alone)
        return self._homes[entry_id]

    def _open_slot(self, alone: bool) -> Slot:
        """The last slot, if it may be joined or there can be no other; else a new one."""
        last = self._slots[-1] if self._slots else None
        if last and (len(self._slots) == MOST or not (alone or last.alone or last.question)):
            return last
        return self._new(alone)

    def _new(self, alone: bool) -> Slot:
        slot, self.status = self.status or Slot(), None
        slot.alone, slot.items = alone, {}
        self._slots.append(slot)
        return slot

    def _place_of_question(self, entry_id: int) -> Slot:
        home = self._homes.get(entry_id)
        if home is None or home.question or self._is_last_possible(home):
            return self._place_apart()
        below = self._below(home, entry_id)
        place = home if len(home.items) == 1 + len(below) else self._place_apart()
        if place is not home and place not in self._spare:
            self._move([entry_id], home, place)
        if below:
            self._move(below, home, self._new(alone=False))
        return place

    def _below(self, slot: Slot, entry_id: int) -> list[Hashable]:
        """What came after the entry and is to stay after it, if there is room for two slots more."""
        if slot is not self._slots[-1] or len(self._slots) + 2 > MOST - 1:
            return []
        keys = list(slot.items)
        return keys[keys.index(entry_id) + 1 :]

    def _move(self, keys: Iterable[Hashable], old: Slot, new: Slot) -> None:
        for key in keys:
            new.put(key, old.take(key))
            if isinstance(key, int):
                self._homes[key] = new

    def _is_last_possible(self, slot: Slot) -> bool:
        return len(self._slots) == MOST and slot is self._slots[-1]

    def _place_apart(self) -> Slot:
        """A new slot, or a spare one; the last possible slot is not for questions."""
        if len(self._slots) < MOST - 1:
            return self._new(alone=False)
        free = [slot for slot in self._spare if slot.question is None]
        if not free or len(self._spare) < MOST_QUESTIONS:
            self._spare.append(Slot())
            return self._spare[-1]
        return self._reused(free[0])

    def _reused(self, spare: Slot) -> Slot:
        """Its line moves to where everything else went."""
        for key in list(spare.items):
            self._open_slot(alone=False).put(key, spare.take(key))
        return spare


def _is_image(entry: Entry) -> bool:
    return isinstance(entry, Attachment) and isinstance(entry.block, Image)
