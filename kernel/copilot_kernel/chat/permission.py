"""The agent's permission requests: a rule, the mode or the user decides each one; no answer means no.

An answer applies only to what was shown. Agents may change a call while they wait for the answer, and run the last
version: a call that changes before its answer is judged and shown again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import anyio
from msgspec import structs

from ..acp.messages import PermissionOption, PermissionRequest, TextBlock, ToolCallUpdate, Update
from ..conversation import calls, inputs, reduce
from ..conversation.inputs import FOLDER_NAMES
from ..conversation.model import Conversation, ToolCall
from ..errors import UsageError
from ..permissions import call_input, policy
from ..permissions.ledger import Ledger
from ..permissions.policy import Decision
from ..permissions.question import PermissionAnswer, Question
from ..permissions.rulebook import HERE, Rulebook
from .agent import RunningAgent
from .our_calls import renamed, unfinished
from .rules import VERBS, PolicyEvaluator
from .state import ConversationState
from .turn import NO_TURN, Turn

T = TypeVar("T")

# Options of requests that we make for the agent.
OUR_OPTIONS = (PermissionOption("allow", "Allow once", "allow_once"), PermissionOption("reject", "Deny", "reject_once"))
STOPPED, STOPPED_BY_USER = "the turn was stopped", "you stopped"
TURN_OVER = "the agent ended its turn without waiting for an answer"
CALL_CHANGED = "The agent has changed this call since it was shown. "
CHANGED_TOO_OFTEN = "the agent kept changing the call while you were asked"
NO_OPTIONS = "the agent offered no answer"
ASKS_ITSELF = "the tool itself asks"
RESET = "The permission mode and the rules are back to your settings."
SAVING_INTERRUPTED = "Interrupted while saving it to your settings; it may have been saved."

# Seconds that the end of a turn waits for withdrawn questions to close, so that its cell shows their results.
CLOSING_SECONDS = 1.0
# Times that a call is shown; if it then changes again, it is rejected.
MAX_REVISIONS = 5
# Seconds without a further change before a changed call is shown again, and the longest wait.
SETTLE_SECONDS, MAX_SETTLE_SECONDS = 0.3, 3.0


class _Request:
    """One request, and its call as the agent changes it until the answer.

    `call` is the version that is shown, `now` the agent's latest, `earlier` the one shown before. `turn` is the one
    that ran, if any. `folder` is the session's: naming it in a call changes nothing.
    """

    def __init__(
        self,
        call: ToolCall,
        earlier: ToolCall | None,
        options: tuple[PermissionOption, ...],
        turn: Turn | None,
        folder: str,
        *,
        by_rule: bool,
        inside: bool,
    ) -> None:
        self.call = self.now = call
        self.earlier, self.options, self.turn, self.by_rule = earlier, options, turn, by_rule
        # The call runs in the sandbox, if there is one.
        self.inside = inside
        self.is_revised = self.is_left_to_tool = False
        self._folder = folder
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()

    def observe(self, update: Update | None) -> None:
        """Note an update from the agent; mere progress of the call changes nothing that the user is asked about."""
        if isinstance(update, ToolCallUpdate) and update.id and update.id == self.now.call_id:
            before, self.now = self.now, calls.merged(self.now, update)
            if not calls.equal(_asked_about(before, self._folder), _asked_about(self.now, self._folder)):
                self._changed.set()
                self._scope.cancel()

    @property
    def has_changed(self) -> bool:
        """Return True if an answer no longer counts."""
        return self._changed.is_set()

    @property
    def is_stopped(self) -> bool:
        return self.turn is not None and self.turn.stop.pressed

    async def unless_changed(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Return the result of `work`; None if the call has changed. A change cancels the work."""
        if self.has_changed:
            return None
        with anyio.CancelScope() as self._scope:
            result = await work()
        return None if self.has_changed else result

    async def revise(self) -> None:
        """Wait until the call stops changing, and adopt its new version, which no rule may allow."""
        with anyio.move_on_after(MAX_SETTLE_SECONDS), self.turn.stop.scope() if self.turn else nullcontext():
            while self._changed.is_set():
                self._changed = anyio.Event()
                with anyio.move_on_after(SETTLE_SECONDS):
                    await self._changed.wait()
        self._changed = anyio.Event()
        self.call, self.earlier = self.now, self.call
        self.is_revised, self.by_rule = True, False


def _is_only_described(request: ToolCallUpdate) -> bool:
    """Return True if the request has only a text and perhaps a kind: a rule could not judge it."""
    is_prose = all(isinstance(part, TextBlock) for part in request.content or ())
    return not request.id and is_prose and request.raw_input is None and not request.locations


def _matched(request: ToolCallUpdate, now: Conversation) -> ToolCallUpdate:
    """Return `request` about the one waiting call that its words name, for dialects without `toolCall`; else as it is.

    What is judged then is the call. The name of a file does not say what is done to it, so a call that only reads is
    meant only by a request of its kind.
    """
    words = calls.merged(ToolCall(-1, now.turn, request.id), request)
    found = [each for each in unfinished(now) if not each.outcome.asked and call_input.describes(words, each)]
    kind = found[0].kind if len(found) == 1 else ""
    if words.kind != kind and (words.kind != "other" or kind in ("", "read", "search")):
        return request
    return ToolCallUpdate(found[0].call_id, meta={"question": "\n".join(call_input.described(words))})


def _asked_about(call: ToolCall, folder: str) -> tuple[object, ...]:
    """Return what the user is asked about, without description and folder: OpenCode adds them after its request."""
    raw, locations = call.raw_input, tuple(each for each in call.locations if each.path != folder)
    if isinstance(raw, dict):
        raw = {
            name: value
            for name, value in raw.items()
            if name != "description" and not (name in FOLDER_NAMES and value == folder)
        }
    return call.title, call.name, call.kind, raw, call.content, locations


class Approvals:
    """Decisions of a conversation, and the calls that they cover."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        # Allowed calls by entry id, as they were shown.
        self.allowed: dict[int, ToolCall] = {}
        # Those that the user allowed.
        self.clicked: dict[int, ToolCall] = {}
        # Calls that the user allowed with the agent's own "Always".
        self.always_allowed: tuple[ToolCall, ...] = ()
        # Allowed requests that name no call. Each is used up by one call of its turn that was not asked about.
        self._unnamed: list[ToolCall] = []
        # The same, denied.
        self._denied: list[ToolCall] = []
        # Operations that we did for the agent: the turn, and a test whether a call shows the operation.
        self._operations: list[tuple[int, Callable[[ToolCall], bool]]] = []

    def add(self, call: ToolCall, answer: PermissionAnswer) -> None:
        """Note the answer to a request about `call`."""
        if answer.allows:
            self.allowed[call.id] = call
        if answer.allows and answer.by == "you":
            self.clicked[call.id] = call
        if answer.allows and not call.call_id:
            self._unnamed.append(call)
        if answer.rejects and not call.call_id:
            self._denied = [*(each for each in self._denied if each.turn == call.turn), call]
        if answer.by == "you" and answer.option is not None and answer.option.kind == "allow_always":
            self.always_allowed += (call,)
        self.ledger = self.ledger.answered(call, answer)

    def add_operation(self, turn: int, is_shown_by: Callable[[ToolCall], bool]) -> None:
        """Note an operation that we did for the agent after asking: its call that shows it need not ask again."""
        self._operations = [each for each in self._operations if each[0] > turn - reduce.KEPT_TURNS]
        self._operations.append((turn, is_shown_by))

    def forget(self, first: int) -> None:
        """Drop the calls before entry `first`: the conversation does not keep them either."""
        self.allowed = {number: call for number, call in self.allowed.items() if number >= first}
        self.clicked = {number: call for number, call in self.clicked.items() if number >= first}

    def take_unnamed(self, call: ToolCall) -> ToolCall | None:
        """Return and consume an allowed request without a call of the same turn, which may have been about `call`."""
        self._unnamed = [each for each in self._unnamed if each.turn == call.turn]
        return self._unnamed.pop(0) if self._unnamed else None

    def has_denied(self, call: ToolCall) -> bool:
        """Return True if a request of the same turn that named no call was about `call`, and was denied."""
        return any(each.turn == call.turn and call_input.describes(each, call) for each in self._denied)

    def take_operation(self, call: ToolCall) -> bool:
        """Return True if `call` shows one of our operations, and consume it: each accounts for one call."""
        for operation in self._operations:
            if operation[0] == call.turn and operation[1](call):
                self._operations.remove(operation)
                return True
        return False


class Permissions:
    """Answers permission requests; `open` counts the unanswered ones."""

    def __init__(
        self,
        state: ConversationState,
        policy: PolicyEvaluator,
        approvals: Approvals,
        agent: RunningAgent,
    ) -> None:
        self.policy, self.approvals = policy, approvals
        self.open = 0
        self._state, self._agent = state, agent
        self._judging = anyio.Lock()
        self._closed = anyio.Event()

    def ask(
        self, request: PermissionRequest, asks_itself: Callable[[ToolCall, ToolCall | None], bool] | None = None
    ) -> Coroutine[Any, Any, PermissionOption | None]:
        """Decide about a request of the agent; None means cancelled.

        Called in wire order: the call is shown as waiting before any later message is read. `asks_itself` gets the call
        and its earlier version, and returns True if one of our tools will ask about it.
        """
        update = _matched(renamed(request.tool_call), self._state.conversation)
        begun = self._begin(
            update, policy.answerable(request.options), by_rule=not _is_only_described(update), inside=True
        )
        begun.is_left_to_tool = asks_itself is not None and asks_itself(begun.call, begun.earlier)
        return self._decide(begun)

    async def ask_for_us(
        self, call: ToolCallUpdate, *, by_rule: bool, place: int | None = None, inside: bool = False
    ) -> bool:
        """Return True if we may do `call` for the agent, in a turn. Without `by_rule`, no rule may allow it.

        `place`: the agent's entry, which ours replaces. `inside`: the call runs in the sandbox, if there is one.
        """
        request = self._begin(call, OUR_OPTIONS, by_rule=by_rule, place=place, inside=inside)
        option = await self._decide(request)
        return option == OUR_OPTIONS[0] and request.turn is not None and not request.is_stopped

    async def wait_closed(self) -> None:
        """Wait until every request has its answer, but at most CLOSING_SECONDS."""
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            while self.open:
                self._closed = anyio.Event()
                await self._closed.wait()

    def reset(self) -> None:
        """Withdraw the permissions of this conversation: another one begins."""
        self.approvals.always_allowed, before = (), self.policy.book
        self.policy.book = Rulebook.of(self.policy.settings)
        if self.policy.book != before:
            self._state.notify("info", RESET)

    def _begin(
        self,
        update: ToolCallUpdate,
        options: tuple[PermissionOption, ...],
        *,
        by_rule: bool,
        place: int | None = None,
        inside: bool = False,
    ) -> _Request:
        before = self._state.conversation
        after, entry_id = reduce.ask(before, update, place)
        self._state.advance(after)
        call = after.entries[entry_id]
        earlier = before.entries[entry_id] if entry_id < len(before.entries) and place is None else None
        assert isinstance(call, ToolCall)
        assert isinstance(earlier, ToolCall | None)
        folder = self.policy.settings.folder
        request = _Request(call, earlier, options, self._state.running, folder, by_rule=by_rule, inside=inside)
        self._state.observers.append(request.observe)
        return request

    async def _decide(self, request: _Request) -> PermissionOption | None:
        answer = PermissionAnswer(None, "cancel", "withdrawn")
        self.open += 1
        try:
            answer = await self._answer(request)
            if request.turn and answer.feedback.strip() and not answer.allows:
                request.turn.follow_ups.append(answer.feedback.strip())
        finally:
            self._state.observers.remove(request.observe)
            self.open -= 1
            self._closed.set()
            self.approvals.add(request.call, answer)
            allowed = None if answer.option is None else not answer.rejects
            self._state.decide(request.call.id, allowed=allowed, words=answer.words(request.options))
        await self._state.settle()  # files are read as they are now, before the agent may write
        return answer.option

    async def _answer(self, request: _Request) -> PermissionAnswer:
        """Return the answer. A call that changes meanwhile is judged again, and no rule may allow it."""
        for _ in range(MAX_REVISIONS):
            if (answer := await request.unless_changed(partial(self._judged, request))) is not None:
                return answer
            await request.revise()
            if request.is_stopped:
                return _cancelled(request.turn)
        return PermissionAnswer(policy.reject(request.options), "none", CHANGED_TOO_OFTEN)

    async def _judged(self, request: _Request) -> PermissionAnswer:
        """Judge the request, one at a time, so that the user is asked in wire order."""
        once = next((option for option in request.options if option.kind == "allow_once"), None)
        if once and request.is_left_to_tool and not (request.is_revised or request.is_stopped):
            return PermissionAnswer(once, "none", ASKS_ITSELF)
        await self._state.settle()  # an allowed call may change its file at once
        async with self._judging:
            decision = await self.policy.decide(
                request.call, request.options, request.earlier, by_rule=request.by_rule, inside=request.inside
            )
        if decision.outcome == "ask" or request.is_stopped:
            return await self._answer_of_user(request, decision)
        name = policy.decider(decision, self.policy.book.mode)
        return PermissionAnswer(decision.option, decision.by, name, " and ".join(decision.rules))

    async def _answer_of_user(self, request: _Request, decision: Decision) -> PermissionAnswer:
        if (turn := request.turn) is None:
            return PermissionAnswer(policy.reject(request.options), "none", NO_TURN)
        if not request.options:
            return PermissionAnswer(None, "cancel", NO_OPTIONS)
        with turn.stop.scope():
            answer = _without_standing_grant(await turn.view.ask(self._question(request, decision)), request.options)
            if answer.rule and answer.allows and not request.has_changed:
                answer = await self._with_rule_added(answer)
            if not turn.stop.pressed:
                return answer
        return _cancelled(turn)

    def _question(self, request: _Request, decision: Decision) -> Question:
        agent, entry = self._agent.info, self._state.conversation.entries[request.call.id]
        assert isinstance(entry, ToolCall)
        sandbox = self._agent.sandbox
        is_inside = sandbox is not None and request.inside
        return Question(
            structs.replace(request.call, excerpts=entry.excerpts, deletes=entry.deletes),
            request.options,
            why=f"{CALL_CHANGED}{decision.reason}" if request.is_revised else decision.reason,
            is_routine=decision.is_routine and not request.is_revised,
            rules=decision.would,
            offers=decision.offers,
            folder=inputs.folder(request.call.raw_input) or self.policy.settings.folder,
            of_copilot=agent is not None and agent.is_copilot,
            sandbox=f"sandboxed: {sandbox.summary}" if sandbox and is_inside else "",
        )

    async def _with_rule_added(self, answer: PermissionAnswer) -> PermissionAnswer:
        """Add the rule of `answer` and return the answer; without the rule if that is not valid."""
        try:
            done = await self.policy.add_rule("allow", answer.rule, to_settings=answer.keep == "settings")
        except anyio.get_cancelled_exc_class():
            self._state.notify("info", f"{VERBS['allow']} in {HERE}: {answer.rule}. {SAVING_INTERRUPTED}")
            raise
        except UsageError as error:
            self._state.notify("warning", f"{error} {error.hint}")
            return replace(answer, rule="")
        if answer.keep == "settings":  # it names the file; else the call's row says all
            self._state.notify("info", done)
        return answer


def _cancelled(turn: Turn | None) -> PermissionAnswer:
    """Return the answer to a question that is withdrawn with its turn."""
    if turn is None or not turn.stop.pressed:
        return PermissionAnswer(None, "cancel", TURN_OVER)
    return PermissionAnswer(None, "cancel", STOPPED_BY_USER if turn.stop.by_user else STOPPED)


def _without_standing_grant(answer: PermissionAnswer, options: tuple[PermissionOption, ...]) -> PermissionAnswer:
    """Let an answer with a rule allow only once at the agent; drop the rule if the agent does not offer that."""
    if not (answer.rule and answer.allows):
        return answer
    once = next((option for option in options if option.kind == "allow_once"), None)
    return replace(answer, option=once) if once else replace(answer, rule="")
