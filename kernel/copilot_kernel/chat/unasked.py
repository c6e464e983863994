"""Actions of the agent without asking, or although it was refused: marked, counted, and ended on request.

What a call has done is judged by where its paths lead, which waits for the disk. With the setting
`on_unasked = "cancel"`, such an action cancels the turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import anyio

from ..conversation import reduce
from ..conversation.calls import went_on
from ..conversation.model import FINAL, ToolCall, Unasked
from ..permissions.ledger import ONCE, LedgerOutcome, subject_of, unasked_action, why_covered
from ..permissions.policy import judge
from ..permissions.request import PolicyRequest, is_another
from ..rendering.plain import visible_line
from .our_calls import OUR_PREFIX
from .permission import Approvals, Permissions
from .rules import PolicyEvaluator, resolve
from .state import CallStage, ConversationState

# How long a call may be in progress before its question: some agents send the two in this order.
RUNNING_SECONDS = 1.0
REFUSED = "done although it was denied"
EARLY = "done before it was allowed"
UNNAMED = "may be what was allowed as “{}”"
CHANGED_AFTER_APPROVAL = "changed after approval (approved: {})"
TURN_STOPPED = "The turn was stopped: {} ({})"
_DESCRIPTION = ("kind", "title", "name", "content", "locations", "raw_input")


class UnaskedActionMonitor(CallStage):
    """Watches the calls of one chat, over all its turns, by its policy and what was approved."""

    def __init__(self, policy: PolicyEvaluator, approvals: Approvals) -> None:
        super().__init__()
        self._policy, self._approvals = policy, approvals
        self._replayed: set[int] = set()
        # By entry id, the calls that were checked and may go on, as they were then.
        self._harmless: dict[int, ToolCall] = {}
        # By entry id, since when each call is in progress without a question (`time.monotonic()`).
        self._suspects: dict[int, float] = {}
        self._suspected = anyio.Event()

    def see(self, state: ConversationState, call: ToolCall, *, is_new: bool) -> None:
        """Have a call looked at that just went on without a question."""
        if self._concerns(state, call, is_new=is_new):
            self._check(call)

    async def look(self, call: ToolCall) -> Callable[[ConversationState], None]:
        """Resolve the paths that the call names. Those of a disk that hangs may lead anywhere."""
        request, paths = self._policy.request(call)
        real = await self.soon(partial(resolve, paths)) or {}
        return partial(self._judge, replace(request, context=replace(request.context, real=real)))

    async def watch_suspects(self, state: ConversationState, permissions: Permissions) -> None:
        """Mark, during a turn, calls that stay in progress without a question."""
        while True:
            await self._suspected.wait()
            self._suspected = anyio.Event()
            while self._suspects:
                await anyio.sleep(max(0.0, min(self._suspects.values()) + RUNNING_SECONDS - time.monotonic()))
                if permissions.open:
                    await anyio.sleep(RUNNING_SECONDS)  # what is in progress may be what we are asking about
                else:
                    self._mark_suspects(state, time.monotonic() - RUNNING_SECONDS)

    def end(self, state: ConversationState) -> None:
        """Mark what is in progress at the end of a turn: no question can come any more."""
        self._mark_suspects(state, time.monotonic())
        self._suspects.clear()
        first = state.conversation.entries.first
        self._harmless = {number: call for number, call in self._harmless.items() if number >= first}
        self._approvals.forget(first)

    def _mark_suspects(self, state: ConversationState, until: float) -> None:
        for number in [number for number, since in self._suspects.items() if since <= until]:
            del self._suspects[number]
            call = state.conversation.entries[number]
            if isinstance(call, ToolCall) and went_on(call) == "perhaps":
                self.add(call)

    def _concerns(self, state: ConversationState, call: ToolCall, *, is_new: bool) -> bool:
        """Neither a replayed call, nor one of ours, which has its own question.

        History that is sent late has calls that are completed when they first appear.
        """
        turn = state.running
        is_late = state.is_resumed and is_new and call.outcome.reported == "completed"
        if is_late or (turn is not None and turn.kind == "replay"):
            self._replayed.add(call.id)
        return call.id not in self._replayed and not call.call_id.startswith(OUR_PREFIX)

    def _check(self, call: ToolCall) -> None:
        match went_on(call):
            case "perhaps" if call.unasked is None and call.status not in FINAL:
                self._suspects.setdefault(call.id, time.monotonic())
                self._suspected.set()
            case "unasked" if _is_described_as(call, self._harmless.get(call.id)):
                pass
            case "unasked" | "refused" if call.unasked is None:
                self._suspects.pop(call.id, None)
                self.add(call)
            case "no":
                self._suspects.pop(call.id, None)
                if call.unasked is None and self._changed_after_approval(call):
                    self.add(call)

    def _judge(self, request: PolicyRequest, state: ConversationState) -> None:
        """Mark the call unless it did nothing that it should have asked about, or was asked about meanwhile."""
        call, after, entries = request.call, state.conversation, state.conversation.entries
        now = entries[call.id] if call.id >= entries.first else None
        is_asked = went_on(call) == "perhaps" and isinstance(now, ToolCall) and went_on(now) != "perhaps"
        is_open = isinstance(now, ToolCall) and now.unasked is None and not is_asked
        outcome, mark = (self._judged(request) if is_open else None) or (None, None)
        if outcome and mark:
            self._approvals.ledger = self._approvals.ledger.acted(call, outcome, mark.words)
            after = reduce.mark(after, call.id, mark)
        elif is_open:
            self._harmless[call.id] = call
        state.advance(after)  # also without a mark: views have waited for it
        if mark and not mark.covered and self._policy.settings.on_unasked == "cancel":
            state.stop(TURN_STOPPED.format(visible_line(subject_of(call)), visible_line(mark.words)))

    def _judged(self, request: PolicyRequest) -> tuple[LedgerOutcome, Unasked] | None:
        call = request.call
        approvals = self._approvals
        if went_on(call) == "refused" or approvals.has_denied(call):
            return "done although denied", Unasked(REFUSED)
        if approvals.take_operation(call):
            return None
        words = self._accusation(request)
        if words is None:
            return None
        decision = judge(request, ONCE)
        if cover := why_covered(request, decision, approvals.always_allowed):
            return "covered", Unasked(cover, covered=True)
        if decision.outcome != "reject" and (unnamed := approvals.take_unnamed(call)):
            return "covered", Unasked(UNNAMED.format(visible_line(unnamed.best_title)), covered=True)
        return "not asked", Unasked(words)

    def _accusation(self, request: PolicyRequest) -> str | None:
        call = request.call
        if call.outcome.questions:
            return EARLY
        if self._changed_after_approval(call):
            return CHANGED_AFTER_APPROVAL.format(visible_line(subject_of(self._approvals.allowed[call.id])))
        return unasked_action(request)

    def _changed_after_approval(self, call: ToolCall) -> bool:
        """Return True if the agent now describes something else than what was allowed."""
        allowed = self._approvals.allowed.get(call.id)
        if allowed is None or call.outcome.asked != "allowed" or _is_described_as(call, allowed):
            return False
        return is_another(call, allowed, self._policy.settings.folder)


def _is_described_as(call: ToolCall, before: ToolCall | None) -> bool:
    """Return True if nothing but output was added: a flood of updates must not make us check each time."""
    return before is not None and all(getattr(before, name) is getattr(call, name) for name in _DESCRIPTION)
