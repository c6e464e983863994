"""Which display of a cell shows what: entries in a row share one, so that a cell stays under 50 outputs.

JupyterLab hides what comes after the 50th. The layout depends on the order of entries and questions alone; when and
how often a slot is sent is up to `output_area.py`. What an open question says stands in one display and its buttons in
the next one, so that a notebook that was saved meanwhile shows what was asked, though its buttons are dead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeGuard
from uuid import uuid4

from ..acp.messages import ImageBlock
from ..conversation.model import Attachment, Entry, Message, Notice
from ..rendering.markup import Bundle
from .slot_items import Item, Stream

MAX_SLOTS = 34
"""Slots of one cell; the last of them takes whatever comes after."""
MAX_QUESTIONS = 6
"""Questions that stand in a cell at once; two slots each are kept for them when the others are used up."""


@dataclass(eq=False, slots=True)
class Slot:
    """One display. `items` are what it shows; while `question` is set, it shows that instead."""

    alone: bool = False
    """Nothing else may join: a piece of a message, an image."""
    items: dict[Hashable, Item] = field(default_factory=dict)
    question: Bundle | None = None
    withdraw: Callable[[], None] | None = None
    shifted: Callable[[], None] | None = None
    lent: bool = False
    """It is there for a question: when that is over, whatever comes next may take the display."""
    dirty: bool = False
    display_id: str = field(default_factory=lambda: uuid4().hex)
    shown: Bundle | None = None
    """What was sent last."""
    rest: float = 0.0
    """Not to be sent again before this time of the loop."""
    row: int = -1
    """Which of the cell's outputs it is; those that were sent first stand above."""

    def put(self, key: Hashable, item: Item) -> None:
        """Show `item`, in the place of what had its key."""
        self.items[key] = item
        self.dirty = True

    def take(self, key: Hashable) -> Item:
        """Show it no longer."""
        self.dirty = True
        return self.items.pop(key)

    def ask(
        self, bundle: Bundle, withdraw: Callable[[], None] | None, shifted: Callable[[], None] | None = None
    ) -> None:
        """Show a question, or its buttons; what was asked here before is withdrawn."""
        if self.withdraw is not None:
            self.withdraw()
        self.question, self.withdraw, self.shifted, self.dirty = bundle, withdraw, shifted, True

    def stop_asking(self) -> None:
        """Show what there is besides."""
        self.question, self.dirty = None, True

    @property
    def is_vacant(self) -> bool:
        """A question or its buttons stood here, and nothing does now."""
        return self.lent and self.question is None and not self.items


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What is to stand in a cell while a question is open."""

    bundle: Bundle
    withdraw: Callable[[], None] = lambda: None
    """To be called when it no longer does."""
    buttons: Bundle | None = None
    """A display of their own, below: in a notebook that was saved meanwhile they are dead."""
    shifted: Callable[[], None] | None = None
    """To be called before something above the buttons becomes higher or lower."""


@dataclass(frozen=True, slots=True)
class QuestionSlot:
    """Where a question stands: the slot that says it, and the one directly below that has its buttons, if any."""

    slot: Slot
    bundle: Bundle
    is_first: bool
    """Nothing else is asked about its entry, so that this will say what was decided."""
    below: Slot | None
    buttons: Bundle | None

    @property
    def slots(self) -> list[Slot]:
        """From above."""
        return [self.slot, self.below] if self.below else [self.slot]

    def close(self) -> None:
        """Nobody can answer it any more. Another question that took the place meanwhile stays."""
        for slot, bundle in zip(self.slots, (self.bundle, self.buttons), strict=False):
            if slot.question is bundle:
                slot.stop_asking()


class Slots:
    """The slots of one cell, in the order of its outputs."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        self._spare: list[tuple[Slot, Slot]] = []
        """For questions, each with the one directly below it."""
        self.status: Slot | None = None
        """Where a passing line stands, until something that stays takes its place."""
        self._slot_of: dict[int, Slot] = {}
        self._streams: dict[int, Stream] = {}
        self._growing: set[int] = set()

    def __iter__(self) -> Iterator[Slot]:
        return iter((*self._slots, *filter(None, [self.status]), *chain.from_iterable(self._spare)))

    def put(self, entry: Entry) -> Slot | None:
        """Show `entry` in its slot: the one that it has, the last one, or a new one. None: nothing to see yet."""
        if entry.id not in self._slot_of and entry.id not in self._streams:
            self.end_streams()
        if isinstance(entry, Message) and entry.speaker == "agent":
            self._put_text(entry)
        else:
            self._slot_for(entry.id, alone=_is_image(entry)).put(entry.id, entry)
        return self._slot_of.get(entry.id)

    def end_streams(self) -> None:
        """The messages are probably complete: their last pieces are rendered as a whole."""
        for entry_id in self._growing:
            stream = self._streams[entry_id]
            self._slot_of[entry_id].put((entry_id, stream.number), stream.last)
        self._growing.clear()

    def open_question(self, entry_id: int, question: OpenQuestion) -> QuestionSlot:
        """A question stands where its entry does, and moves what came after; or it stands apart, at the end."""
        home = self._slot_of.get(entry_id)
        is_first = home is not None and home.question is None
        after = self._after(home, entry_id)
        slot = self._place_of_question(home, entry_id)
        slot.ask(question.bundle, None if question.buttons else question.withdraw)
        below = self._below(slot) if question.buttons else None
        if below and question.buttons:
            below.ask(question.buttons, question.withdraw, question.shifted)
        if home and after:
            self._move(after, home, self._new())
        return QuestionSlot(slot, question.bundle, is_first, below, question.buttons)

    def close_question(self, place: QuestionSlot, line: Notice) -> None:
        """The question is decided: what it was about says so, or `line` does where nothing else would."""
        place.close()
        if not place.is_first:
            place.slot.put(object(), line)
        place.slot.lent = True

    def close_questions(self) -> None:
        """Nobody can answer any more; what was decided comes with `close_question`."""
        for slot in self:
            if slot.question is not None:
                slot.stop_asking()

    def passing(self) -> Slot:
        """Where a passing line stands, below everything else."""
        self.status = self.status or self.free()
        return self.status

    def free(self) -> Slot:
        """A display at the end that may be taken: the passing line's, or where a question stood; or else a new one."""
        slot, self.status = self.status, None
        if slot is None and self._slots and self._slots[-1].is_vacant:
            slot = self._slots.pop()
        return slot or Slot()

    def _put_text(self, entry: Message) -> None:
        """Each piece in a slot of its own; a finished one stays where it grew."""
        stream = self._streams.setdefault(entry.id, Stream())
        before, pieces = stream.number, stream.feed(entry.text)
        for number, piece in enumerate(pieces, before):
            self._slot_for(entry.id, alone=True).put((entry.id, number), piece)
            del self._slot_of[entry.id]
        self._growing.discard(entry.id)
        if not stream.is_blank:
            self._slot_for(entry.id, alone=True).put((entry.id, stream.number), stream)
            self._growing.add(entry.id)

    def _slot_for(self, entry_id: int, alone: bool) -> Slot:
        if entry_id not in self._slot_of:
            self._slot_of[entry_id] = self._open_slot(alone)
        return self._slot_of[entry_id]

    def _open_slot(self, alone: bool = False) -> Slot:
        """The last slot, if it may be joined or there can be no other; else a new one."""
        last = self._slots[-1] if self._slots else None
        if last is None or last.is_vacant:
            return self._new(alone)
        is_full = len(self._slots) == MAX_SLOTS
        return last if is_full or not (alone or last.alone or last.question) else self._new(alone)

    def _new(self, alone: bool = False) -> Slot:
        slot = self.free()
        slot.alone, slot.lent, slot.items = alone, False, {}
        self._slots.append(slot)
        return slot

    @property
    def _has_room(self) -> bool:
        """For a question, its buttons and what moves; the last possible slot is not for questions."""
        return len(self._slots) + 3 < MAX_SLOTS

    def _stays(self, home: Slot | None) -> TypeGuard[Slot]:
        """A question may stand where its entry does: something can be put below."""
        last = next((slot for slot in reversed(self._slots) if not slot.is_vacant), None)
        return home is not None and home is last and home.question is None and self._has_room

    def _after(self, home: Slot | None, entry_id: int) -> list[Hashable]:
        if not self._stays(home):
            return []
        keys = list(home.items)
        return keys[keys.index(entry_id) + 1 :]

    def _place_of_question(self, home: Slot | None, entry_id: int) -> Slot:
        if not self._stays(home):
            return self._new() if self._has_room else self._spare_one()
        if next(iter(home.items)) == entry_id:
            return home
        place = self._new()
        self._move([entry_id], home, place)
        return place

    def _below(self, slot: Slot) -> Slot:
        below = next((below for spare, below in self._spare if spare is slot), None) or self._new()
        below.lent = True
        return below

    def _move(self, keys: Iterable[Hashable], old: Slot, new: Slot) -> None:
        for key in keys:
            new.put(key, old.take(key))
            if isinstance(key, int):
                self._slot_of[key] = new

    def _spare_one(self) -> Slot:
        free = [slot for slot, _ in self._spare if slot.question is None]
        if not free or len(self._spare) < MAX_QUESTIONS:
            self._spare.append((Slot(), Slot()))
            return self._spare[-1][0]
        return self._reused(free[0])

    def _reused(self, spare: Slot) -> Slot:
        """Its line moves to where everything else went."""
        for key in list(spare.items):
            self._open_slot().put(key, spare.take(key))
        return spare


def _is_image(entry: Entry) -> bool:
    return isinstance(entry, Attachment) and isinstance(entry.block, ImageBlock)
