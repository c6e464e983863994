"""What the agent does without asking, or although it was refused, is caught in the act: shown, counted, and if the
settings say so, the end of its turn."""

from __future__ import annotations

import time

import anyio

from ..acp.messages import NoticeUpdate
from ..conversation import reduce
from ..conversation.calls import went_on
from ..conversation.model import Conversation, ToolCall, Unasked
from ..permissions.ledger import what
from ..rendering.plain import visible_line
from .ids import PREFIX
from .permission import Permissions
from .record import ConversationState

PATIENCE = 1.0
"""Seconds that a call may be in progress before its question: some agents tell them in this order."""
_SAID = ("kind", "title", "name", "content", "locations", "raw_input")
CANCELLED = "The turn was cancelled, because the agent {}: {}"


class UnaskedActionMonitor:
    """Of one chat, over all its turns."""

    def __init__(self, record: ConversationState, permissions: Permissions) -> None:
        self._record, self._permissions = record, permissions
        self._replayed: set[int] = set()
        self._harmless: dict[int, ToolCall] = {}
        """By their numbers, the calls that were looked at and may go on, as they were then."""
        self._suspects: dict[int, float] = {}
        """Since when each is in progress without a question."""
        self._suspected = anyio.Event()
        record.judged = self.judged

    def judged(self, before: Conversation, after: Conversation) -> Conversation:
        """`after`, with a mark at each call that just went on without a question."""
        for entry in reduce.changed(before, after):
            if isinstance(entry, ToolCall) and self._concerns(entry, is_new=entry.id >= len(before.entries)):
                after = self._judge(after, entry)
        return after

    async def run(self) -> None:
        """During a turn: what stays in progress was not about to be asked about."""
        while True:
            await self._suspected.wait()
            self._suspected = anyio.Event()
            while self._suspects:
                await anyio.sleep(max(0.0, min(self._suspects.values()) + PATIENCE - time.monotonic()))
                if self._permissions.open:
                    await anyio.sleep(PATIENCE)  # what is in progress may be what we are asking about
                else:
                    self._convict(time.monotonic() - PATIENCE)

    def end(self) -> None:
        """The turn is about to end, and no question can come any more."""
        self._convict(time.monotonic())
        self._suspects.clear()

    def _concerns(self, call: ToolCall, is_new: bool) -> bool:
        """Not what was said before, nor what we do ourselves: that has its own question.

        History that is told late has calls that are completed when they are first heard of.
        """
        is_late = self._record.resumed and is_new and call.standing.reported == "completed"
        if self._record.replays or is_late:
            self._replayed.add(call.id)
        return call.id not in self._replayed and not call.call_id.startswith(PREFIX)

    def _judge(self, now: Conversation, call: ToolCall) -> Conversation:
        match went_on(call):
            case "perhaps" if call.unasked is None:
                self._suspects.setdefault(call.id, time.monotonic())
                self._suspected.set()
            case "unasked" if self._is_harmless(call):
                pass
            case "unasked" | "refused" if call.unasked is None:
                self._suspects.pop(call.id, None)
                return self._marked(now, call)
            case "no":
                self._suspects.pop(call.id, None)
                if call.unasked is None and self._permissions.is_another(call):
                    return self._marked(now, call)
        return now

    def _convict(self, until: float) -> None:
        for number in [number for number, since in self._suspects.items() if since <= until]:
            del self._suspects[number]
            call = self._record.conversation.entries[number]
            if isinstance(call, ToolCall) and went_on(call) == "perhaps":
                self._record.advance(self._marked(self._record.conversation, call))

    def _marked(self, now: Conversation, call: ToolCall) -> Conversation:
        mark = self._permissions.caught(call, was_refused=went_on(call) == "refused")
        if mark is None:
            self._harmless[call.id] = call
            return now
        after = reduce.mark(now, call.id, mark)
        return after if mark.covered else self._stopped(after, call, mark)

    def _is_harmless(self, call: ToolCall) -> bool:
        """Nothing was added since it was looked at: a flood of updates must not make us look each time."""
        before = self._harmless.get(call.id)
        return before is not None and all(getattr(before, name) is getattr(call, name) for name in _SAID)

    def _stopped(self, now: Conversation, call: ToolCall, mark: Unasked) -> Conversation:
        """With the settings' `on_unasked` cancel, the turn ends here."""
        stop = self._permissions.stop
        if self._permissions.judge.settings.on_unasked != "cancel" or stop is None or stop.pressed:
            return now
        stop.press()
        title = CANCELLED.format(visible_line(mark.words), visible_line(what(call)))
        return reduce.reduce(now, NoticeUpdate("error", title))
