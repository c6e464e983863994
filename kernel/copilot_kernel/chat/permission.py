"""The agent's permission requests: each is decided by a rule, by the mode, or by a person; by nobody, it is a no."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import anyio

from ..acp.messages import AgentInfo, Diff, Option, PermissionRequest, ToolCallUpdate
from ..config import Settings
from ..conversation import reduce
from ..conversation.model import ToolCall, Unasked
from ..permissions import inputs, policy
from ..permissions.ledger import Ledger, Outcome, covered, denied, unasked, what
from ..permissions.policy import Decision
from ..permissions.question import Answer, Question
from ..permissions.request import is_another
from ..rendering.plain import visible_line
from .ids import asked_by_agent
from .joining import UnmatchedRequests, join
from .judging import PolicyEvaluator
from .record import ConversationState
from .saving import AnswerActions
from .shown import MOST, Shown
from .stop import Stop
from .turnstile import GateTicket, OrderedGate

OURS = (Option("allow", "Allow once", "allow_once"), Option("reject", "Deny", "reject_once"))
"""What can be answered when we ask."""
REFUSED = "done although it was refused"
EARLY = "done before it was allowed"
ANOTHER = "changed after it was allowed; allowed was {}"
CANCELLED = "the turn was cancelled"
OVER = "the agent ended its turn without waiting for an answer"
CHANGED = "The agent has changed this call since it was shown. "
CLOSING = 1.0
"""Seconds that the end of a turn waits for questions that it breaks off: its cell shows what became of them."""
CHANGED_TOO_OFTEN = "the agent changed the call again and again while you were asked"


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request. `key` is our own; `earlier` is the call as it was shown before, `call` as it asks, `shown` hears how
    the agent describes it from then on."""

    key: int
    call: ToolCall
    shown: Shown
    options: tuple[Option, ...]
    earlier: ToolCall | None
    stop: Stop | None
    """Of the turn in which it came; None if none ran."""
    by_rule: bool = True
    changed: bool = False


def _nobody() -> None:
    return None


class Permissions:
    """`judge` knows what is in force. `stop` is that of the running turn, `open` counts open questions.

    `agent` tells who asks.
    """

    def __init__(
        self, settings: Settings, record: ConversationState, agent: Callable[[], AgentInfo | None] = _nobody
    ) -> None:
        self.judge = PolicyEvaluator(settings)
        self._agent = agent
        self.ledger = Ledger()
        self.stop: Stop | None = None
        self.open = 0
        self.allowed: dict[int, ToolCall] = {}
        """By their numbers, the calls that were asked about and allowed, as they were shown then."""
        self.granted: tuple[ToolCall, ...] = ()
        """The calls that the user allowed for always, by an option of the agent's."""
        self.operations: list[tuple[int, Callable[[ToolCall], bool]]] = []
        """What we did for the agent: in which turn, and whether a call shows just that."""
        self.saving = AnswerActions(self.judge, record)
        self._unjoined = UnmatchedRequests()
        self._record = record
        self._keys = count(1)
        self._turnstile = OrderedGate()
        self._left = anyio.Event()

    async def ask_for_us(self, call: ToolCallUpdate, by_rule: bool) -> bool:
        """May we do `call` for the agent? Without `by_rule`, no rule of the settings may allow it."""
        option = await self._decide(self._begin(call, OURS, by_rule))
        return option is not None and option.kind == "allow_once"

    def ask(self, request: PermissionRequest) -> Coroutine[Any, Any, Option | None]:
        """Called in the order of the wire: the call is shown as waiting before anything after it is read."""
        request = asked_by_agent(request)
        joined = join(request.tool_call, self._record.conversation, self.judge.settings.folder)
        return self._decide(self._begin(joined.update, request.options, joined.named))

    async def closed(self) -> None:
        """Until every request has its answer, but no longer than a moment."""
        with anyio.move_on_after(CLOSING, shield=True):
            while self.open:
                self._left = anyio.Event()
                await self._left.wait()

    def caught(self, call: ToolCall, was_refused: bool) -> Unasked | None:
        """What is to be said of `call`, which went on without a question, or although it was refused."""
        if not was_refused and self._was_our_deed(call):
            return None
        now = self.judge.context(call)
        words = REFUSED if was_refused else self._reproach(call, now)
        if not words:
            return None
        cover = None if was_refused else covered(call, self.granted, now)
        if not (was_refused or cover or denied(call, now)) and self._unjoined.covers(call, self.judge.settings.folder):
            return None
        outcome: Outcome = "ran although refused" if was_refused else "covered" if cover else "ran without asking"
        self.ledger = self.ledger.acted(call, outcome, cover or words)
        return Unasked(cover or words, bool(cover))

    def _was_our_deed(self, call: ToolCall) -> bool:
        """Each deed is shown by one call."""
        deed = next((deed for deed in self.operations if deed[0] == call.turn and deed[1](call)), None)
        if deed is not None:
            self.operations.remove(deed)
        return deed is not None

    def is_another(self, call: ToolCall) -> bool:
        """Its agent now says something else of it than when it was allowed."""
        allowed = self.allowed.get(call.id)
        if allowed is None or call.standing.asked != "allowed" or not _says_more(call, allowed):
            return False
        return is_another(call, allowed, self.judge.settings.folder)

    def _reproach(self, call: ToolCall, now: policy.PolicyContext) -> str | None:
        if call.standing.questions:
            return EARLY
        if self.is_another(call):
            return ANOTHER.format(visible_line(what(self.allowed[call.id])))
        return unasked(call, now)

    def forget(self) -> None:
        """The conversation is another one: what was allowed for it is over."""
        self.granted = ()
        self.judge.forget()

    def _begin(self, update: ToolCallUpdate, options: tuple[Option, ...], by_rule: bool = True) -> _Asked:
        before = self._record.conversation
        after, entry_id = reduce.ask(before, update)
        self._record.advance(after)
        earlier = before.entries[entry_id] if entry_id < len(before.entries) else None
        call = after.entries[entry_id]
        assert isinstance(call, ToolCall)
        earlier = earlier if isinstance(earlier, ToolCall) else None
        shown = Shown(call, self.judge.settings.folder)
        self._record.listeners.append(shown.hear)
        return _Asked(next(self._keys), call, shown, options, earlier, self.stop, by_rule)

    async def _decide(self, asked: _Asked) -> Option | None:
        answer, rule = Answer(None, "cancel", "withdrawn"), ""
        self.open += 1
        try:
            with self._turnstile.ticket() as ticket:
                asked, answer, rule = await self._settled(asked, ticket)
                self.saving.hear(answer)
        finally:
            self._record.listeners.remove(asked.shown.hear)
            self.open -= 1
            self._left.set()
            self._record_answer(asked.call, answer, rule)
        return answer.option

    async def _settled(self, asked: _Asked, ticket: GateTicket) -> tuple[_Asked, Answer, str]:
        """What was shown, the answer to it, and the rule that gave it.

        A call that changes meanwhile is judged anew, and no rule allows it.
        """
        shown = asked.shown
        for _ in range(MOST):
            if (found := await shown.unless_changed(self._judged(asked, ticket))) is not None:
                return asked, *found
            if not await _rested(shown, asked.stop):
                return asked, Answer(None, "cancel", CANCELLED), ""
            call, key = shown.call, next(self._keys)
            asked = replace(asked, key=key, call=call, earlier=asked.call, by_rule=False, changed=True)
        return asked, Answer(policy.reject(asked.options), "nobody", CHANGED_TOO_OFTEN), ""

    async def _judged(self, asked: _Asked, ticket: GateTicket) -> tuple[Answer, str]:
        """Questions are put to the user in the order of the wire."""
        decision = await self.judge.decide(asked.call, asked.options, asked.earlier, asked.by_rule)
        await ticket.wait()
        rule = (decision.rule or "") if decision.outcome != "ask" else ""
        return await self._answer(asked, decision), rule

    def _record_answer(self, call: ToolCall, answer: Answer, rule: str) -> None:
        if answer.allows:
            self.allowed[call.id] = call
        if answer.allows and not call.call_id:
            self._unjoined.allow(call)
        if answer.by == "you" and answer.option is not None and answer.option.kind == "allow_always":
            self.granted += (call,)
        self.ledger = self.ledger.answered(call, answer, rule or answer.rule)
        allowed = None if answer.option is None else not answer.rejects
        before = self._record.conversation
        self._record.advance(self._record.judged(before, reduce.decide(before, call.id, allowed, answer.words)))

    async def _answer(self, asked: _Asked, decision: Decision) -> Answer:
        view, stop = self._record.view_of(asked.call.turn), asked.stop
        if decision.outcome != "ask" and not (stop and stop.pressed):
            return Answer(decision.option, decision.by, self._words(decision))
        if view is None or stop is None:
            return Answer(policy.reject(asked.options), "nobody", "no cell is running that could ask")
        with stop.scope():
            answer = _once(await view.ask(self._question(asked, decision)), asked.options)
            if not asked.shown.has_changed:
                answer = await self.saving.of(answer)
            if not stop.pressed:
                return answer
        return Answer(None, "cancel", CANCELLED if stop.pressed else OVER)

    def _question(self, asked: _Asked, decision: Decision) -> Question:
        folder = inputs.folder(asked.call.raw_input) or self.judge.settings.folder
        why, agent = CHANGED * asked.changed + decision.reason, self._agent()
        would, suggestion = decision.would, decision.suggestion or ""
        of_copilot = agent is not None and agent.is_copilot
        return Question(asked.key, asked.call, asked.options, why, would, suggestion, folder, of_copilot)

    def _words(self, decision: Decision) -> str:
        verb = "allowed" if decision.outcome == "allow" else "denied"
        if decision.by == "mode":
            return f"{verb} by the mode {self.judge.book.mode}"
        return f"{verb} by the rule{'s' * (' and ' in (decision.rule or ''))} {decision.rule}"


async def _rested(shown: Shown, stop: Stop | None) -> bool:
    """False: the turn was cancelled meanwhile."""
    if stop is not None:
        with stop.scope():
            await shown.rest()
    return stop is None or not stop.pressed


def _says_more(call: ToolCall, before: ToolCall) -> bool:
    """Than a flood of updates does that only brings output."""
    if call.raw_input is not before.raw_input or call.locations != before.locations:
        return True
    diffs, known = ([item for item in each.content if isinstance(item, Diff)] for each in (call, before))
    return diffs != known


def _once(answer: Answer, options: tuple[Option, ...]) -> Answer:
    """Whoever saves a rule of ours gives the agent no standing grant beside it."""
    if not (answer.rule and answer.allows):
        return answer
    once = next((option for option in options if option.kind == "allow_once"), None)
    return replace(answer, option=once) if once else replace(answer, rule="")
