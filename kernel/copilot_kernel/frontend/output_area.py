"""A cell's output in a notebook: slots that are drawn a little after they changed.

The first change is drawn at once, then at most `MAX_PER_SECOND` displays go out, and a large one more rarely than a
small one.
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
from ..rendering.status import STARTING, render_status
from . import vs_code
from .cell import Bundle, Cell
from .first_status import BLANK
from .open_question import OpenQuestion
from .slots import Slot, Slots

MAX_PER_SECOND = 20
SECONDS_PER_CHARACTER = 8e-6
"""Of a display's text/plain and text/html: bounds what is sent per byte of the agent's text."""
STATUS_DELAY = 0.2
"""Seconds from the first status until it is shown."""
AFTER_ANSWER = 0.02
"""Seconds until a decided question goes: the agent gets the answer first."""
UNREAD_SECONDS = 0.5
"""How long text waits until it is read: where its display rests longer, little is left to do at the end."""
REST_PER_WORK = 4.0
"""Seconds without drawing for each second that drawing took."""
STEP_SECONDS = 0.01
"""Of reading or rendering, after which other work of the event loop gets a turn."""
STEP_CHARS = 1 << 15
"""Of a message, read at once."""
HAND_OVER_SECONDS = 0.001
"""Without work after the first display: ipykernel sends in a thread of its own, which would wait while the end of a
short answer is drawn."""
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

_log = logging.getLogger(__name__)


class OutputArea:
    """Everything that one cell shows. `put` costs what is new; it may be called thousands of times a second."""

    def __init__(self, cell: Cell, loop: asyncio.AbstractEventLoop, cwd: str = "") -> None:
        self._cell, self._cwd = cell, cwd
        self._slots = Slots()
        # New or changed, in the order in which they first came.
        self._unread: dict[int, Entry] = {}
        # From above.
        self._displayed: list[Slot] = []
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._when_drawn: list[Callable[[], None]] = []
        self._status = ""
        self._status_timer: asyncio.TimerHandle | None = None
        self._has_status = cell.status_id != ""
        if self._has_status:
            self._displayed.append(self._slots.begin_with(cell.status_id, STARTING, render_status(STARTING)))
            cell.status_id = ""
        self._is_vs_code = vs_code.is_cell(cell.cell_id)
        # Nothing is to be sent before these times of the loop, except at the very end.
        self._held = loop.time() + vs_code.HOLD_SECONDS if self._is_vs_code else 0.0
        self._rest = self._held

    def put(self, entry: Entry) -> None:
        """Show `entry`, new or changed."""
        if entry.id not in self._unread:
            self._wake_at(min(self._slots.rest(entry.id), self._loop.time() + UNREAD_SECONDS))
        self._unread[entry.id] = entry

    async def drawn(self) -> None:
        """Draw everything that waits, step by step. What comes meanwhile waits for `settle`."""
        await asyncio.sleep(self._held - self._loop.time())
        self._stop_timer()  # else both would draw in one turn of the event loop
        while self._unread:
            self._read(self._loop.time() + STEP_SECONDS)
            await asyncio.sleep(0)
        self._slots.end_streams()
        for _, slot in self._slots.waiting:
            while not self._prepared(slot, self._loop.time() + STEP_SECONDS):
                await asyncio.sleep(0)
            self._send(slot)
            await asyncio.sleep(0)

    def open_question(self, question: OpenQuestion[Any]) -> Callable[[Notice], None]:
        """Show a question at once, then set its `shown`: the page saves the notebook then, with the question in it.

        The answer takes it away again, and leaves a line if nothing else says it.
        """
        self._read()
        decide = self._slots.open_question(question)
        self._when_drawn.append(question.shown.set)
        self._wake(after=0.0)

        def close(line: Notice) -> None:
            decide(line)
            self._wake(after=AFTER_ANSWER)

        return close

    def status(self, words: str) -> None:
        """Say what the turn is doing, or take that away. A turn that answers at once shows nothing of the kind."""
        self._status = words
        now = self._loop.time()
        if self._has_status:
            self._show_status()
        elif self._status_timer is None:
            self._status_timer = self._loop.call_at(now + STATUS_DELAY, self._show_status)
        elif self._status_timer.when() <= now:
            self._show_status()

    def _show_status(self) -> None:
        self._read(self._loop.time() + STEP_SECONDS)
        self._slots.show_status(self._status, is_brief=self._is_vs_code)
        self._wake()

    def settle(self) -> None:
        """Send everything that waits, and take open questions away: probably nothing follows."""
        self._read()
        self._slots.end_streams()
        self._slots.close_questions()
        if self._has_status:
            self._slots.show_status("")
        self._draw(everything=True)
        for slot in self._slots:
            slot.drawn.clear()

    def add(self, bundle: Bundle, metadata: dict[str, Any]) -> str:
        """One more display, at the end; it takes the place of a passing line, or of buttons.

        The id by which it can be updated; empty in VS Code: where an update changed the metadata, that would lose what
        came last of the cell's outputs.
        """
        slot = self._slots.free()
        if slot.shown is not None and not (metadata and self._is_vs_code):
            self._cell.update(bundle, display_id=slot.display_id, metadata=metadata)
        else:
            display_id = None if self._is_vs_code else slot.display_id
            self._cell.display(bundle, display_id=display_id, metadata=metadata)
        return "" if self._is_vs_code else slot.display_id

    def _wake(self, after: float | None = None) -> None:
        """Draw in a moment: never inside of `put`, so that what came in one piece from the agent goes in one.

        `after` so many seconds, however much was sent.
        """
        if after is None and self._timer is not None and self._timer.when() <= self._rest:
            return  # nothing can be sent sooner
        if after is not None:
            self._rest = max(self._held, self._loop.time() + after)
            for _, slot in self._slots.waiting:
                slot.rest = self._rest
        if self._unread or self._slots.waiting:
            self._wake_at(0.0 if self._unread else min(due for due, _ in self._slots.waiting))

    def _wake_at(self, at: float) -> None:
        """Draw then, or as soon as anything can be sent."""
        at = max(self._rest, at)
        if self._timer is None or at < self._timer.when():
            self._stop_timer()
            self._timer = self._loop.call_at(at, self._draw)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _draw(self, everything: bool = False) -> None:
        """Send what changed and has rested; come back for the others."""
        self._stop_timer()
        now = self._loop.time()
        until = inf if everything else now + STEP_SECONDS
        self._read(until)
        sent = 0
        for slot in [slot for due, slot in self._slots.waiting if everything or due <= now]:
            if not self._prepared(slot, until):
                break  # those below must not come before it
            sent += self._send(slot)
            if self._loop.time() > until:
                break
        self._rest = now + sent / MAX_PER_SECOND
        if not any(slot.dirty and slot.question for slot in self._slots):
            reports, self._when_drawn = self._when_drawn, []
            for report in reports:
                report()
        self._wake()

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
            if self._loop.time() > until:
                return

    def _prepared(self, slot: Slot, until: float) -> bool:
        """Render what the slot shows; False: not all of it until this time of the loop."""
        try:
            return slot.prepare(self._cwd, lambda: self._loop.time() > until)
        except Exception:
            return True  # it is reported when it is drawn

    def _send(self, slot: Slot) -> bool:
        """False: it looks as it did."""
        began = self._loop.time()
        slot.dirty = False
        bundle = slot.picture(self._cwd)
        changed = bundle != slot.shown and not (slot.shown is None and slot.is_vacant)
        if changed:
            self._send_bundle(slot, bundle)
            slot.shown = bundle
            slot.rest = max(slot.rest, self._rest_after(bundle, began))
            if slot.alone:
                self._slots.delay_text(slot.rest)
        if slot.question is None and slot.card is not None:
            slot.card.close()
            slot.card = None
        return changed

    def _rest_after(self, bundle: Bundle, began: float) -> float:
        """When to send it again: what is large on the wire, or slow to draw, must not take up the kernel."""
        now = self._loop.time()
        return now + max(1 / MAX_PER_SECOND, _size(bundle) * SECONDS_PER_CHARACTER, (now - began) * REST_PER_WORK)

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
