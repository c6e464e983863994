"""One conversation: prompts go in one by one, updates come in in the order of the wire, views see what changed.

What the agent is and whether it lives is `agent.py`'s business; what an update does to the conversation, `reduce`'s.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Self

import anyio

from ..acp.messages import Block, NoticeUpdate, Option, PermissionRequest, PromptResult, Update
from ..acp.options import short_name
from ..acp.session import Session
from ..config import Settings
from ..conversation import reduce
from ..conversation.model import Conversation, Message, ToolCall
from ..errors import AgentError
from ..permissions import policy
from ..permissions.question import Answer, Question
from .agent import Agent
from .stop import Stop
from .view import Turn, View

RECENT_TURNS = 50
"""So many turns back, a late update is still drawn into the cell that owns it."""

FORGOTTEN = "The agent was started again; it does not remember the conversation before this point."
ENDED = "The agent did not stop in time and was ended; the next prompt starts it again."


class Chat:
    """`async with Chat(settings) as chat`: the agent starts with the first prompt and ends with the block."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.conversation = Conversation()
        self.agent = Agent(settings, self._opened, self._update, self._permission)
        self._turns = anyio.Lock()
        self._stop: Stop | None = None
        self._views: dict[int, View] = {}
        self._keys = count(1)

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self.agent.__aexit__(*error)

    async def ask(self, blocks: Sequence[Block], view: View) -> Turn:
        """One turn: `blocks` go to the agent as `session/prompt`, `view` sees what comes of it (spec: prompt-turn).

        Prompts wait for one another; none is ever resent. Raises a CopilotError when there is no agent, when it
        refuses, or when it ends. A cancelled turn is no error, but a Turn whose stop reason is `cancelled`.
        """
        async with self._turns:
            started = time.monotonic()
            self._stop = stop = Stop()
            try:
                result = await self._run(blocks, view, stop)
            finally:
                self._stop = None
            return self._turn(result, time.monotonic() - started)

    def cancel(self) -> None:
        """Stop the running turn, if there is one. A second call ends the agent without waiting for it."""
        if self._stop is not None:
            self._stop.press()

    async def _run(self, blocks: Sequence[Block], view: View, stop: Stop) -> PromptResult:
        self._begin(blocks, view)
        reason = "error"
        try:
            with stop.scope() as starting:
                session = await self.agent.ready()
            stopped = starting.cancelled_caught
            result = PromptResult("cancelled") if stopped else await self._prompt(session, blocks, stop)
            reason = result.stop_reason
        finally:
            self._advance(reduce.end_turn(self.conversation, reason))
        return result

    def _begin(self, blocks: Sequence[Block], view: View) -> None:
        turn = self.conversation.turn + 1
        self._views[turn] = view
        self._views.pop(turn - RECENT_TURNS, None)
        self._advance(reduce.begin_turn(self.conversation, blocks))

    async def _prompt(self, session: Session, blocks: Sequence[Block], stop: Stop) -> PromptResult:
        """The agent's own answer, after a cancel too; if that does not come in time, the agent is ended."""
        result, failure = PromptResult("cancelled"), None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, session, stop, tasks.cancel_scope)
            try:
                result = await session.prompt(blocks)
            except AgentError as error:
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None and not stop.pressed:
            raise failure
        return result

    async def _watch(self, session: Session, stop: Stop, prompt: anyio.CancelScope) -> None:
        await stop.wait()
        with anyio.move_on_after(self.settings.cancel_grace):
            await session.cancel()
            await stop.wait_again()
        self._update(NoticeUpdate("warning", ENDED))
        await self.agent.end()
        prompt.cancel()

    def _opened(self, session: Session, again: bool) -> None:
        self.conversation = replace(self.conversation, state=session.state, commands=(), usage=None)
        if again:
            self._update(NoticeUpdate("warning", FORGOTTEN))

    def _update(self, update: Update) -> None:
        self._advance(reduce.reduce(self.conversation, update))

    def _permission(self, request: PermissionRequest) -> Coroutine[Any, Any, Option | None]:
        """Called in the order of the wire: the call is shown as waiting before anything after it is read."""
        after, entry_id = reduce.ask(self.conversation, request.tool_call)
        self._advance(after)
        return self._decide(entry_id, request.options)

    async def _decide(self, entry_id: int, options: tuple[Option, ...]) -> Option | None:
        answer = Answer(None, "cancel", "withdrawn")
        try:
            answer = await self._answer(entry_id, options)
        finally:
            allowed = None if answer.option is None else not answer.rejects
            self._advance(reduce.decide(self.conversation, entry_id, allowed, answer.words))
        return answer.option

    async def _answer(self, entry_id: int, options: tuple[Option, ...]) -> Answer:
        call = self.conversation.entries[entry_id]
        assert isinstance(call, ToolCall)
        settings = self.settings
        known = policy.decide(call, options, settings.permission_mode, settings.allow, self.agent.cwd)
        view, stop = self._views.get(call.turn), self._stop
        if known is not None and not (stop and stop.pressed):
            return known
        if view is None or stop is None:
            return Answer(policy.reject(options), "nobody", "no cell is running that could ask")
        with stop.scope():
            return await view.ask(Question(next(self._keys), call, options))
        return Answer(None, "cancel", "the turn was cancelled")

    def _advance(self, after: Conversation) -> None:
        before, self.conversation = self.conversation, after
        for entry in reduce.changed(before, after):
            if view := self._views.get(entry.turn):
                view.show(entry)

    def _turn(self, result: PromptResult, seconds: float) -> Turn:
        now, session = self.conversation, self.agent.session
        entries = now.of_turn(now.turn)
        said = [str(e.text) for e in entries if isinstance(e, Message) and e.speaker == "agent"]
        return Turn(
            number=now.turn,
            stop_reason=result.stop_reason,
            text="\n\n".join(said),
            tool_calls=tuple(e for e in entries if isinstance(e, ToolCall)),
            session_id=now.state.id if now.state else "",
            agent=(session.info.title or session.info.name) if session else "",
            model=(now.state.model if now.state else None) or "",
            mode=short_name((now.state.mode if now.state else None) or ""),
            usage=result.usage,
            context=now.usage,
            seconds=seconds,
        )
