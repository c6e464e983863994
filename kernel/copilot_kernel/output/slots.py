"""Layout of a cell's displays: entries in a row share one, so that a cell stays under 50 outputs.

JupyterLab hides what comes after the 50th. The layout depends on the order of entries and questions alone; when and
how often a slot is sent is up to `output_area.py`. What an open question says stands in one display and its buttons in
the next one, so that a notebook that was saved meanwhile shows what was asked, though its buttons are dead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from uuid import uuid4

from ..acp.messages import ImageBlock
from ..conversation.model import Attachment, Entry, Message, Notice
from ..rendering.blocks import MAX_MESSAGE_CHARS, Piece, Stream
from ..rendering.markup import Bundle
from ..rendering.status import ASKING
from ..views.lexers import loading
from .questions import Card, ShownQuestion
from .slot_items import Drawn, Item, StatusLine, draw, is_drawn, picture

MAX_SLOTS = 34
"""Slots of one cell; the last of them takes whatever comes after."""
NO_ANSWER = Notice(-1, 0, "info", "No answer.")


@dataclass(eq=False, slots=True)
class Slot:
    """One display. `items` are what it shows; while `question` is set, it shows that instead."""

    alone: bool = False
    """True for a piece of a message, or an image: nothing else may join."""
    items: dict[Hashable, Item] = field(default_factory=dict)
    question: Bundle | None = None
    card: Card | None = None
    """The widgets that it shows."""
    lent: bool = False
    """True if it is temporary: the next slot may use its display once it is empty."""
    dirty: bool = False
    display_id: str = field(default_factory=lambda: uuid4().hex)
    drawn: Drawn = field(default_factory=dict)
    steps: Iterator[None] | None = None
    """The rest of what is being prepared."""
    shown: Bundle | None = None
    """Bundle that was sent last."""
    rest: float = 0.0
    """Time before which it is not sent; see `Slots.waiting`."""

    def put(self, key: Hashable, item: Item) -> None:
        """Show `item`, in the place of what had its key."""
        self.items[key] = item
        self.dirty, self.steps = True, None

    def take(self, key: Hashable) -> Item:
        """Show it no longer."""
        self.dirty = True
        return self.items.pop(key)

    def ask(self, bundle: Bundle, card: Card | None) -> None:
        """Show a question, or its buttons; those of what was asked here before are closed."""
        if self.card is not None:
            self.card.close()
        self.question, self.card, self.dirty = bundle, card, True

    def stop_asking(self) -> None:
        """Show what there is besides."""
        self.question, self.dirty = None, True

    def picture(self, cwd: str) -> Bundle:
        """Bundle that it shows."""
        return self.question or picture(self.items.values(), cwd, self.drawn)

    def prepare(self, cwd: str, is_late: Callable[[], bool]) -> bool:
        """Render step by step what `picture` needs, until it `is_late`; False: go on later."""
        self.steps = self.steps or self._prepare(cwd)
        for _ in self.steps:
            if is_late():
                return False
        self.steps = None
        return True

    def _prepare(self, cwd: str) -> Iterator[None]:
        for item in () if self.question else tuple(self.items.values()):
            if isinstance(item, Piece | Stream):
                while item.prepare():
                    yield
            elif not isinstance(item, StatusLine) and not is_drawn(item, self.drawn):
                yield from loading(item)
                draw(item, cwd, self.drawn)
                yield

    @property
    def is_vacant(self) -> bool:
        """True if something that passes stood here, and nothing does now."""
        return self.lent and self.question is None and not self.items


class Slots:
    """The slots of one cell, in the order of its outputs."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        # For questions, each with the one directly below it.
        self._spare: list[tuple[Slot, Slot]] = []
        # Where the line that says what the turn is doing stands: on top if it came first, and then it is one of
        # `_slots`; else below everything, until something that stays takes its place.
        self._status: Slot | None = None
        self._slot_of: dict[int, Slot] = {}
        self._streams: dict[int, Stream] = {}
        self._growing: set[int] = set()
        # Text that grows is not to be sent before this time: what is complete is sent at once, but counts as well.
        self._text_rest = 0.0

    def __iter__(self) -> Iterator[Slot]:
        passing = [self._status] if self._status and not self._is_on_top else []
        return iter((*self._slots, *passing, *chain.from_iterable(self._spare)))

    @property
    def waiting(self) -> list[tuple[float, Slot]]:
        """Return what changed, from above, and from which time on it may be sent.

        Displays keep their order: what was not sent yet is due at once if something stands below it.
        """
        slots, growing = list(self), {self._slot_of[entry_id] for entry_id in self._growing}
        rests = [(max(each.rest, self._text_rest if each in growing else 0.0), each) for each in slots if each.dirty]
        return [(rest if each.shown or each is slots[-1] else 0.0, each) for rest, each in rests]

    def put(self, entry: Entry, limit: int = MAX_MESSAGE_CHARS) -> bool:
        """Show `entry` in its slot: the one that it has, the last one, or a new one.

        Of a message, so many characters more are read; False: some are left.
        """
        if entry.id not in self._slot_of and entry.id not in self._streams:
            self.end_streams()
        if isinstance(entry, Message) and entry.speaker == "agent":
            return self._put_text(entry, limit)
        is_image = isinstance(entry, Attachment) and isinstance(entry.block, ImageBlock)
        self._slot_for(entry.id, alone=is_image).put(entry.id, entry)
        return True

    def rest(self, entry_id: int) -> float:
        """Do not draw it again before this time."""
        slot = self._slot_of.get(entry_id)
        return max(slot.rest if slot else 0.0, self._text_rest if entry_id in self._growing else 0.0)

    def rested(self, slot: Slot, until: float) -> None:
        """`slot` was sent; what changes in it is sent again when that time has come."""
        if slot.alone and len(slot.items) == 1:  # the last display of a full cell holds more than one text
            self._text_rest = until
        else:
            slot.rest = until

    def hurry(self, at: float) -> None:
        """Send what waits at that time."""
        self._text_rest = at
        for slot in self:
            slot.rest = at

    def end_streams(self) -> None:
        """The messages are probably complete: their last pieces are rendered as a whole."""
        for entry_id in self._growing:
            stream = self._streams[entry_id]
            self._slot_of[entry_id].put((entry_id, stream.number), stream.last)
        self._growing.clear()

    def open_question(self, question: ShownQuestion) -> Callable[[Notice], None]:
        """A question stands where its entry does, and moves what came after; or it stands apart, at the end.

        Call the result when it is decided: what it was about says so, or the line does where nothing else would.
        """
        home = self._slot_of.get(question.entry_id)
        is_first = home is not None and home.question is None
        slot, below = self._places(home, question.entry_id)
        below.lent = True
        if question.buttons:
            slot.ask(question.bundle, None)
            below.ask(question.buttons, question.card)
        else:
            slot.ask(question.bundle, question.card)

        def close(line: Notice) -> None:
            for each, asked in ((slot, question.bundle), (below, question.buttons)):
                if each.question is asked:  # another question may have taken the place
                    each.stop_asking()
            if not is_first:
                slot.put(object(), line)
            slot.lent = True

        return close

    def close_questions(self) -> None:
        """Nobody can answer any more; what was decided comes when each is closed."""
        for slot in self:
            if slot.question is not None:
                slot.stop_asking()

    def show_status(self, words: str, *, is_brief: bool = False) -> None:
        """Say what the turn is doing, on top or below everything else; nothing without words, or below a question.

        `is_brief`: only until something else takes its display, which is never left empty.
        """
        if is_brief:
            words = "" if self._slots else words
            self._status = self._status or (Slot() if words else None)
        elif words and not self._slots:
            self._status = Slot(alone=True)
            self._slots.append(self._status)
        elif not self._is_on_top and (words.startswith(ASKING) or any(slot.question for slot in self)):
            words = ""
        elif words:
            self._status = self._status or self.free()
        if slot := self._status:
            slot.lent = slot.dirty = True
            slot.items = {"status": StatusLine(words)} if words else {}
            if is_brief and not words and slot.shown:
                slot.items["status"] = NO_ANSWER

    def free(self) -> Slot:
        """A display at the end that may be taken: the passing line's, or where a question stood; or else a new one."""
        slot = None if self._is_on_top else self._status
        if slot is None and self._slots and self._slots[-1].is_vacant:
            slot = self._slots.pop()
        if slot is self._status:
            self._status = None
        return slot or Slot()

    @property
    def _is_on_top(self) -> bool:
        """True if the first slot is that of the line that says what the turn is doing."""
        return self._slots[:1] == [self._status]

    def _put_text(self, entry: Message, limit: int) -> bool:
        """Each piece in a slot of its own; a finished one stays where it grew."""
        stream = self._streams.setdefault(entry.id, Stream())
        for piece in stream.feed(entry.text, limit):
            self._slot_for(entry.id, alone=True).put((entry.id, piece.number), piece)
            del self._slot_of[entry.id]
        self._growing.discard(entry.id)
        if not stream.is_blank:
            self._slot_for(entry.id, alone=True).put((entry.id, stream.number), stream)
            self._growing.add(entry.id)
        return stream.is_read

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

    def _places(self, home: Slot | None, entry_id: int) -> tuple[Slot, Slot]:
        """Return places for a question and its buttons; the last possible slot is not for questions."""
        if len(self._slots) + 3 >= MAX_SLOTS:
            return self._spare_places()
        last = next((slot for slot in reversed(self._slots) if not slot.is_vacant), None)
        if home is None or home is not last or home.question is not None:
            return self._new(), self._new()
        keys = list(home.items)
        place = keys.index(entry_id)
        slot = self._moved([entry_id], home) if place > 0 else home
        below = self._new()
        if keys[place + 1 :]:
            self._moved(keys[place + 1 :], home)
        return slot, below

    def _moved(self, keys: Iterable[Hashable], old: Slot) -> Slot:
        """A new slot with those items."""
        new = self._new()
        for key in keys:
            new.put(key, old.take(key))
            if isinstance(key, int):
                self._slot_of[key] = new
        return new

    def _spare_places(self) -> tuple[Slot, Slot]:
        """Free places after the others; the line that an earlier question left moves to where everything else went."""
        free = next((pair for pair in self._spare if pair[0].question is None), None)
        if free is None:
            self._spare.append((Slot(), Slot()))
            return self._spare[-1]
        for key in list(free[0].items):
            self._open_slot().put(key, free[0].take(key))
        return free
