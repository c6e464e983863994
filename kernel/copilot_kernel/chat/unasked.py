"""Actions of the agent without asking, or although it was refused: marked, counted, and ended on request.

With the setting `on_unasked = "cancel"`, such an action cancels the turn.
"""

from __future__ import annotations

import time

import anyio

from ..conversation import reduce
from ..conversation.calls import went_on
from ..conversation.model import Conversation, ToolCall, Unasked
from ..permissions.ledger import ONCE, LedgerOutcome, subject_of, unasked_action, why_covered
from ..permissions.policy import judge
from ..permissions.request import PolicyRequest, is_another
from ..rendering.plain import visible_line
from .our_calls import OUR_PREFIX
from .permission import Approvals, Permissions
from .rules import PolicyEvaluator
from .state import ConversationState, Watched

# How long a call may be in progress before its question: some agents send the two in this order.
RUNNING_SECONDS = 1.0
REFUSED = "done although it was denied"
EARLY = "done before it was allowed"
UNNAMED = "may be what was allowed as “{}”"
CHANGED_AFTER_APPROVAL = "changed after approval (approved: {})"
TURN_STOPPED = "The turn was stopped: {} ({})"
_DESCRIPTION = ("kind", "title", "name", "content", "locations", "raw_input")


class UnaskedActionMonitor:
    """Watches the calls of one chat, over all its turns, by its policy and what was approved."""

    def __init__(self, policy: PolicyEvaluator, approvals: Approvals) -> None:
        self._policy, self._approvals = policy, approvals
        self._replayed: set[int] = set()
        # By entry id, the calls that were checked and may go on, as they were then.
        self._harmless: dict[int, ToolCall] = {}
        # By entry id, since when each call is in progress without a question (`time.monotonic()`).
        self._suspects: dict[int, float] = {}
        self._suspected = anyio.Event()

    def watch(self, state: ConversationState, after: Conversation) -> Watched:
        """`after`, with a mark at each call that just went on without a question."""
        before, watched = state.conversation, Watched(after)
        for entry in reduce.changed(before, after):
            if isinstance(entry, ToolCall) and self._concerns(state, entry, is_new=entry.id >= len(before.entries)):
                watched = self._check(watched, entry)
        return watched

    async def run(self, state: ConversationState, permissions: Permissions) -> None:
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
                state.take(self._marked(Watched(state.conversation), call))

    def _concerns(self, state: ConversationState, call: ToolCall, *, is_new: bool) -> bool:
        """Neither a replayed call, nor one of ours, which has its own question.

        History that is sent late has calls that are completed when they first appear.
        """
        turn = state.running
        is_late = state.is_resumed and is_new and call.outcome.reported == "completed"
        if is_late or (turn is not None and turn.kind == "replay"):
            self._replayed.add(call.id)
        return call.id not in self._replayed and not call.call_id.startswith(OUR_PREFIX)

    def _check(self, now: Watched, call: ToolCall) -> Watched:
        match went_on(call):
            case "perhaps" if call.unasked is None:
                self._suspects.setdefault(call.id, time.monotonic())
                self._suspected.set()
            case "unasked" if _is_described_as(call, self._harmless.get(call.id)):
                pass
            case "unasked" | "refused" if call.unasked is None:
                self._suspects.pop(call.id, None)
                return self._marked(now, call)
            case "no":
                self._suspects.pop(call.id, None)
                if call.unasked is None and self._changed_after_approval(call):
                    return self._marked(now, call)
        return now

    def _marked(self, now: Watched, call: ToolCall) -> Watched:
        mark = self._mark(call)
        if mark is None:
            self._harmless[call.id] = call
            return now
        after = reduce.mark(now.after, call.id, mark)
        if mark.covered or self._policy.settings.on_unasked != "cancel" or now.stop:
            return Watched(after, now.stop)
        return Watched(after, TURN_STOPPED.format(visible_line(subject_of(call)), visible_line(mark.words)))

    def _mark(self, call: ToolCall) -> Unasked | None:
        """The mark for a call that went on; None if it did nothing that it should have asked about."""
        judged = self._judged(call)
        if judged is None:
            return None
        outcome, mark = judged
        self._approvals.ledger = self._approvals.ledger.acted(call, outcome, mark.words)
        return mark

    def _judged(self, call: ToolCall) -> tuple[LedgerOutcome, Unasked] | None:
        approvals = self._approvals
        if went_on(call) == "refused" or approvals.has_denied(call):
            return "done although denied", Unasked(REFUSED)
        if approvals.take_operation(call):
            return None
        request = self._policy.request(call)
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
