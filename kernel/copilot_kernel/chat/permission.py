"""The agent's permission requests: each is decided by a rule, by the mode, or by a person; by nobody, it is a no."""

from __future__ import annotations

from collections.abc import Coroutine
from itertools import count
from typing import Any

from ..acp.messages import Option, PermissionRequest, ToolCallUpdate
from ..config import Settings
from ..conversation import reduce
from ..conversation.model import ToolCall
from ..permissions import policy
from ..permissions.question import Answer, Question
from .record import Record
from .stop import Stop

OURS = (Option("allow", "Allow once", "allow_once"), Option("reject", "Deny", "reject_once"))
"""What can be answered when we ask."""


class Permissions:
    """`settings` may be replaced at any time. `stop` is that of the running turn, `open` counts open questions."""

    def __init__(self, settings: Settings, record: Record) -> None:
        self.settings = settings
        self.stop: Stop | None = None
        self.open = 0
        self.allowed: dict[int, ToolCall] = {}
        """By their numbers, the calls that were asked about and allowed, as they were shown then."""
        self._record = record
        self._keys = count(1)

    async def ask_for_us(self, call: ToolCallUpdate, by_rule: bool) -> bool:
        """May we do `call` for the agent? Without `by_rule`, no rule of the settings may allow it."""
        after, entry_id = reduce.ask(self._record.conversation, call)
        self._record.advance(after)
        option = await self._decide(entry_id, OURS, by_rule)
        return option is not None and option.kind == "allow_once"

    def ask(self, request: PermissionRequest) -> Coroutine[Any, Any, Option | None]:
        """Called in the order of the wire: the call is shown as waiting before anything after it is read."""
        after, entry_id = reduce.ask(self._record.conversation, request.tool_call)
        self._record.advance(after)
        return self._decide(entry_id, request.options)

    async def _decide(self, entry_id: int, options: tuple[Option, ...], by_rule: bool = True) -> Option | None:
        answer = Answer(None, "cancel", "withdrawn")
        call = self._record.conversation.entries[entry_id]
        assert isinstance(call, ToolCall)
        self.open += 1
        try:
            answer = await self._answer(call, options, by_rule)
        finally:
            self.open -= 1
            if answer.allows:
                self.allowed[entry_id] = call
            allowed = None if answer.option is None else not answer.rejects
            after = reduce.decide(self._record.conversation, entry_id, allowed, answer.words)
            self._record.advance(after)
        return answer.option

    async def _answer(self, call: ToolCall, options: tuple[Option, ...], by_rule: bool) -> Answer:
        rules = self.settings.allow if by_rule else ()
        known = policy.answer(call, options, self.settings.permission_mode, rules, self.settings.folder)
        view, stop = self._record.view_of(call.turn), self.stop
        if known is not None and not (stop and stop.pressed):
            return known
        if view is None or stop is None:
            return Answer(policy.reject(options), "nobody", "no cell is running that could ask")
        with stop.scope():
            return await view.ask(Question(next(self._keys), call, options))
        return Answer(None, "cancel", "the turn was cancelled")
