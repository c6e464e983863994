"""A cell's output in a notebook: slots that are drawn a little after they changed.

The first change is drawn at once, then at most `MAX_PER_SECOND` displays go out, and a large one more rarely than a
small one; see `pacer.py`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from math import inf
from typing import Any

from ..conversation.model import Entry, Notice
from ..errors import trace
from ..views.pacer import MAX_PER_SECOND, Pacer
from .cell import BLANK, Bundle, Cell
from .questions import ShownQuestion, TurnOutput
from .slots import Slot, Slots

STATUS_DELAY = 0.2
"""Seconds from the first status until it is shown."""
AFTER_ANSWER = 0.02
"""Seconds until a decided question goes: the agent gets the answer first."""
UNREAD_SECONDS = 0.05
"""Time that text waits until it is read and rendered: where its display rests longer, little is left to do then."""
STEP_SECONDS = 0.01
"""Time of reading or rendering after which other work of the event loop gets a turn."""
STEP_CHARS = 1 << 15
"""Characters of a message that are read at once."""
HAND_OVER_SECONDS = 0.001
"""Pause after the first display: ipykernel sends in a thread of its own, which would wait while the end of a short
answer is drawn.
"""
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

_log = logging.getLogger(__name__)


class OutputArea(TurnOutput):
    """Everything that one cell shows. `put` costs what is new; it may be called thousands of times a second."""

    def __init__(self, cell: Cell, loop: asyncio.AbstractEventLoop, cwd: str = "") -> None:
        self._cell, self._cwd = cell, cwd
        self._slots = Slots()
        # New or changed, in the order in which they first came.
        self._unread: dict[int, Entry] = {}
        # What comes while `drawn` draws: else it would not end as long as a command writes.
        self._later: dict[int, Entry] | None = None
        # From above.
        self._displayed: list[Slot] = []
        self._when_drawn: list[Callable[[], None]] = []
        # The status that is not shown yet, and from when on one is shown.
        self._status: str | None = None
        self._status_at = inf
        # Nothing is to be sent before this time of the loop, except at the very end.
        self._held = loop.time() + cell.traits.hold if cell.traits.hold else 0.0
        self._pacer = Pacer(loop, self._draw, self._held)

    def put(self, entry: Entry) -> None:
        """Show `entry`, new or changed."""
        if self._later is not None:
            self._later[entry.id] = entry
            return
        if entry.id not in self._unread:
            self._pacer.wake(min(self._slots.rest(entry.id), self._pacer.now + UNREAD_SECONDS))
        self._unread[entry.id] = entry

    async def drawn(self) -> None:
        """Draw everything that waits, step by step. What comes meanwhile waits for `settle`."""
        await asyncio.sleep(self._held - self._pacer.now)
        self._pacer.stop()  # else both would draw in one turn of the event loop
        self._later = {}
        while self._unread:
            self._read(self._pacer.now + STEP_SECONDS)
            await asyncio.sleep(0)
        self._slots.end_streams()
        while self._send_due(inf, self._pacer.now + STEP_SECONDS)[1]:
            await asyncio.sleep(0)

    def open_question(self, shown: ShownQuestion) -> Callable[[Notice], None]:
        """Show a question at once, then set its `shown`: the page saves the notebook then, with the question in it.

        The answer takes it away again, and leaves a line if nothing else says it.
        """
        self._read()
        decide = self._slots.open_question(shown)
        self._when_drawn.append(shown.shown.set)
        self._hurry()

        def close(line: Notice) -> None:
            decide(line)
            self._hurry(AFTER_ANSWER)

        return close

    def status(self, words: str) -> None:
        """Say what the turn is doing, or take that away. A turn that answers at once shows nothing of the kind."""
        self._status = words
        self._status_at = min(self._status_at, self._pacer.now + STATUS_DELAY)
        self._pacer.wake(self._status_at)

    def settle(self) -> None:
        """Send everything that waits, and take open questions away: probably nothing follows."""
        self._unread |= self._later or {}
        self._later = None
        self._read()
        self._slots.end_streams()
        self._slots.close_questions()
        self._status, self._status_at = "", 0.0
        self._draw(everything=True)
        for slot in self._slots:
            slot.drawn.clear()

    def add(self, bundle: Bundle, metadata: dict[str, Any]) -> str:
        """One more display, at the end; it takes the place of a passing line, or of buttons.

        The id by which it can be updated; empty where updates that change metadata lose the outputs that came last.
        """
        slot = self._slots.free()
        if slot.shown is not None and (self._cell.traits.updates_freely or not metadata):
            self._cell.update(bundle, display_id=slot.display_id, metadata=metadata)
        else:
            display_id = slot.display_id if self._cell.traits.updates_freely else None
            self._cell.display(bundle, display_id=display_id, metadata=metadata)
        return slot.display_id if self._cell.traits.updates_freely else ""

    def _hurry(self, after: float = 0.0) -> None:
        """Draw what waits after so many seconds, however much was sent.

        Never inside of the call: what came in one piece from the agent goes in one.
        """
        self._pacer.next_at = max(self._held, self._pacer.now + after)
        self._slots.hurry(self._pacer.next_at)
        self._pacer.wake()

    def _draw(self, everything: bool = False) -> None:
        """Send what changed and has rested; come back for the others."""
        self._pacer.stop()
        now = self._pacer.now
        until = inf if everything else now + STEP_SECONDS
        self._read(until)
        if self._status is not None and self._status_at <= now:
            self._slots.show_status(self._status, is_brief=not self._cell.traits.updates_freely)
            self._status = None
        sent, is_late = self._send_due(inf if everything else now, until)
        self._pacer.next_at = now if is_late else now + sent / MAX_PER_SECOND
        if not any(slot.dirty and slot.question for slot in self._slots):
            reports, self._when_drawn = self._when_drawn, []
            for report in reports:
                report()
        for due, _ in self._slots.waiting:
            self._pacer.wake(due)
        if self._status is not None:
            self._pacer.wake(self._status_at)
        if is_late or self._unread:
            self._pacer.wake(now)

    def _send_due(self, now: float, until: float) -> tuple[int, bool]:
        """The number of displays that were sent, and whether there was no time for more.

        Text is rendered as it comes, so that little is left to do when it is due.
        """
        sent = 0
        for due, slot in self._slots.waiting:
            is_due = due <= now
            if (is_due or slot.alone) and not self._prepared(slot, until):
                return sent, True  # those below must not come before it
            if is_due:
                sent += self._send(slot)
            if self._pacer.now > until:
                return sent, True
        return sent, False

    def _read(self, until: float = inf) -> None:
        """Put what is new into its slots, a little of it even if this time of the loop has passed."""
        while self._unread:
            entry = next(iter(self._unread.values()))
            try:
                is_read = self._slots.put(entry, STEP_CHARS)
            # A bug must not end the turn, nor hide what comes after.
            except Exception as error:
                is_read = True
                _log.error("an entry could not be shown: %s %d: %s", type(entry).__name__, entry.id, trace(error))
            if is_read:
                del self._unread[entry.id]
            if self._pacer.now > until:
                return

    def _prepared(self, slot: Slot, until: float) -> bool:
        """Render what the slot shows; False: not all of it until this time of the loop."""
        try:
            return slot.prepare(self._cwd, lambda: self._pacer.now > until)
        except Exception:
            return True  # it is reported when it is drawn

    def _send(self, slot: Slot) -> bool:
        """False: it looks as it did."""
        began = self._pacer.now
        slot.dirty = False
        bundle = slot.picture(self._cwd)
        changed = bundle != slot.shown and not (slot.shown is None and slot.is_vacant)
        if changed:
            self._send_bundle(slot, bundle)
            slot.shown = bundle
            self._slots.rested(slot, self._pacer.rest(began, _size(bundle)))
        if slot.question is None and slot.card is not None:
            slot.card.close()
            slot.card = None
        return changed

    def _send_bundle(self, slot: Slot, bundle: Bundle) -> None:
        if slot.shown is None:
            self._displayed.append(slot)
            self._cell.display(bundle, display_id=slot.display_id)
            if len(self._displayed) == 1:
                time.sleep(HAND_OVER_SECONDS)
            return
        below = self._displayed[self._displayed.index(slot) + 1 :]
        if (asking := [each for each in below if each.question]) and _height(bundle) != _height(slot.shown):
            for card in filter(None, (each.card for each in asking)):
                card.shifted()
        if WIDGET_VIEW in bundle and WIDGET_VIEW in slot.shown:
            # JupyterLab would put both widgets into one container, and hide that when the first is closed.
            self._cell.update(BLANK, display_id=slot.display_id)
        self._cell.update(bundle, display_id=slot.display_id)


def _height(bundle: Bundle) -> tuple[bool, int]:
    """An estimate of its height, in lines of text."""
    return WIDGET_VIEW in bundle, len(str(bundle.get("text/plain", "")).splitlines())


def _size(bundle: Bundle) -> int:
    return sum(len(value) for value in bundle.values() if isinstance(value, str))
