"""One conversation: prompts go in one by one, updates come in in the order of the wire, views see what changed.

What the agent is and whether it lives is `agent.py`'s business; which session the prompts go to, that of `sessions.py`;
what an update does to the conversation, `reduce`'s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import anyio

from ..acp.handlers import ClientHandlers
from ..acp.locate import deny_patterns
from ..acp.messages import AgentInfo, Block, NoticeUpdate, PromptResult, SessionInfo, SessionState, Text, Update
from ..acp.options import short_name
from ..acp.parse import parse_messages
from ..acp.session import Session
from ..config import Settings, state_folder
from ..conversation.model import Conversation, Message, ToolCall
from ..errors import AgentError, UsageError
from ..permissions.ledger import Ledger
from ..permissions.rulebook import Kind, Rulebook
from . import choosing
from .agent import Agent
from .attachments import check
from .elicitation import Elicitations
from .heartbeat import Heartbeat
from .ids import of_agent
from .log import readable
from .permission import Permissions
from .record import ConversationState
from .retry import Retry
from .saved import Handover
from .services import Services
from .sessions import Sessions
from .shared import AgentHandle, SharedAgent
from .signin import method_for
from .stop import Stop
from .view import Turn, View
from .watch import UnaskedActionMonitor

ENDED = "The agent did not stop in time and was ended; the next prompt starts it again."
TOLD = "You told the agent: {}"
UNTOLD = "The agent was not told, because the turn did not end by itself: {}"
OVER = "The permission mode and the rules of the conversation before are over."


class Chat:
    """`async with Chat(settings) as chat`: the agent starts when it is first needed and ends with the block.

    `notebook` is the path of the notebook whose conversation this is: a later chat of the same path goes on with it.
    Where nobody watches, and without a notebook, there is none, and each chat begins a new session.
    With `shared`, the chat is one of several on that agent, which outlives it.
    `place` says where its session is open to whoever else wants it; by default, that is the notebook.
    All methods raise CopilotError, and all but `cancel`, `attach` and `log` start the agent if it does not live.
    """

    def __init__(
        self,
        settings: Settings,
        notebook: str = "",
        retry: Retry | None = None,
        shared: SharedAgent | None = None,
        place: str = "",
    ) -> None:
        self.attached: tuple[Block, ...] = ()
        """What goes with the next prompt."""
        self._record, self._retry = ConversationState(), retry or Retry()
        self._permissions = Permissions(settings, self._record, lambda: self.info)
        self._record.reports_failures = lambda: self.agent.is_copilot
        self._watch = UnaskedActionMonitor(self._record, self._permissions)
        self._elicitations = Elicitations(self._record)
        self._services = Services(settings, self._record, self._permissions, self._hears)
        self.agent: Agent | AgentHandle = (
            shared.seat(self._doors(), self._services.serve, self._hears, self._holds, lambda: self._record.runs)
            if shared
            else Agent(settings, self._doors(), self._services.serve, self._denied)
        )
        folder = state_folder(settings)
        self._sessions = Sessions(self.agent, self._record, self._retry, folder, notebook, place)
        self._sessions.on_another = self._another
        self._turns = anyio.Lock(fast_acquire=True)  # no interrupt can come between `ask` and its turn
        self._stop = Stop()
        self._logged = 0

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        try:
            return await self.agent.__aexit__(*error)
        finally:
            self._sessions.leave()

    @property
    def conversation(self) -> Conversation:
        """What was said so far, and how the session is set."""
        return self._record.conversation

    @property
    def settings(self) -> Settings:
        """Those of the beginning, and the rules that were saved since."""
        return self._permissions.judge.settings

    @property
    def book(self) -> Rulebook:
        """The permission mode and the rules that are in force, until the conversation is another one."""
        return self._permissions.judge.book

    @property
    def ledger(self) -> Ledger:
        """What was decided so far, and by whom."""
        return self._permissions.ledger

    @property
    def session(self) -> Session | None:
        """The open session, if the agent lives."""
        return self._sessions.current

    @property
    def info(self) -> AgentInfo | None:
        """What the agent told of itself, if it lives."""
        return self.agent.link.info if self.agent.link else None

    # -- turns ----------------------------------------------------------------------------------------------------

    async def ask(self, blocks: Sequence[Block], view: View) -> Turn:
        """One turn: `blocks` go to the agent as `session/prompt`, `view` sees what comes of it (spec: prompt-turn).

        Prompts wait for one another; none is ever resent. Raises a CopilotError when there is no agent, when it
        refuses, or when it ends. A cancelled turn is no error, but a Turn whose stop reason is `cancelled`.
        """
        async with self._turns:
            self._logged = self.agent.log.count
            return await self._heard((*blocks, *self.attached), view)

    async def resume(self, session_id: str, view: View) -> Turn:
        """Go on with another session of the agent's; what was said in it is shown, where the agent can do that."""
        async with self._turns:
            self._logged = self.agent.log.count
            return await self._turn((), view, session_id)

    def cancel(self, at: float | None = None) -> None:
        """Stop the running turn, if there is one, whatever the agent answers.

        A second call ends the agent without waiting for it, unless both belong to a double click. `at`: see `Stop`.
        """
        self._stop.press(at)

    def attach(self, blocks: Sequence[Block]) -> None:
        """These go with the next prompt, too."""
        self.attached += tuple(blocks)

    def log(self) -> list[str]:
        """What went over the wire since the last turn began, without secrets; `<` came, `>` went."""
        return list(readable(self.agent.log.since(self._logged)))

    async def _heard(self, blocks: Sequence[Block], view: View) -> Turn:
        """The turn, and those after it in which the agent is told what the user said with a "no"."""
        feedback = self._permissions.saving.feedback
        try:
            turn = await self._turn(blocks, view)
            while feedback and turn.stop_reason != "cancelled":
                turn = turn.joined(await self._told("\n\n".join(feedback), view))
            return turn
        finally:
            if feedback:
                self._record.update(NoticeUpdate("warning", UNTOLD.format(" ".join(feedback))))
                feedback.clear()

    async def _told(self, words: str, view: View) -> Turn:
        self._permissions.saving.feedback.clear()
        self._record.tell("info", TOLD.format(words))
        return await self._turn((Text(words),), view)

    async def _turn(self, blocks: Sequence[Block], view: View, session_id: str = "") -> Turn:
        started = time.monotonic()
        self._stop = self._permissions.stop = self._elicitations.stop = stop = Stop()
        try:
            result = await self._run(blocks, view, stop, session_id)
        except anyio.get_cancelled_exc_class():
            stop.press()
            raise
        finally:
            self._permissions.stop = self._elicitations.stop = None
            stop.end()
            await self._permissions.closed()
        if stop.pressed:
            result = replace(result, stop_reason="cancelled")
        return self._ended(result, time.monotonic() - started)

    async def _run(self, blocks: Sequence[Block], view: View, stop: Stop, session_id: str) -> PromptResult:
        self._record.begin(blocks, view)
        result = PromptResult("cancelled")
        reason = "error"
        try:
            with stop.scope():
                session = await self._opened(session_id)
            if not stop.pressed:
                result = PromptResult("end_turn") if session_id else await self._prompt(session, blocks, stop)
            reason = result.stop_reason
        finally:
            self._watch.end()
            self._record.end("cancelled" if stop.pressed else reason)
        return result

    async def _opened(self, session_id: str) -> Session:
        if session_id:
            await self._sessions.resume(session_id)
        return await self._sessions.ready()

    async def _prompt(self, session: Session, blocks: Sequence[Block], stop: Stop) -> PromptResult:
        """The agent's answer; one that does not come in time after a cancel is not waited for, the agent is ended."""
        result, failure = PromptResult("cancelled"), None
        attached, self.attached = self.attached, ()
        check(attached, session.info)
        check(blocks, session.info)
        self._sessions.use()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._cancel, session, stop, tasks.cancel_scope)
            tasks.start_soon(self._beating().run)
            tasks.start_soon(self._watch.run)
            try:
                result = await session.prompt(blocks)
                self._record.withheld.check("cancelled" if stop.pressed else result.stop_reason)
            except AgentError as error:
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None and not stop.pressed:
            self._failed(failure)
            raise failure
        self._show_messages(result)
        return result

    def _beating(self) -> Heartbeat:
        heart = Heartbeat(self._record.status, lambda: self._permissions.open + self._elicitations.open > 0)
        self._record.on_change = heart.beat
        return heart

    def _failed(self, failure: AgentError) -> None:
        if failure.crashed:
            self._retry.crashed(failure)
        self._sessions.failed(failure)

    def _show_messages(self, result: PromptResult) -> None:
        """A dialect says everything at the end; where it was streamed, that is what was said."""
        self._retry.recovered()
        if not self._said():
            for chunk in parse_messages(result.messages):
                self._record.update(chunk)

    async def _cancel(self, session: Session, stop: Stop, prompt: anyio.CancelScope) -> None:
        await stop.wait()
        with anyio.move_on_after(self.settings.cancel_grace):
            await session.cancel()
            await self._services.stop()
            await stop.wait_again()
        self._record.update(NoticeUpdate("warning", ENDED))
        await self.agent.end()
        self._sessions.drop()
        prompt.cancel()

    def _said(self) -> list[str]:
        entries = self.conversation.of_turn(self.conversation.turn)
        return [str(e.text) for e in entries if isinstance(e, Message) and e.speaker == "agent"]

    def _ended(self, result: PromptResult, seconds: float) -> Turn:
        now, info = self.conversation, self.info
        return Turn(
            number=now.turn,
            stop_reason=result.stop_reason,
            text="\n\n".join(self._said()),
            tool_calls=tuple(e for e in now.of_turn(now.turn) if isinstance(e, ToolCall)),
            session_id=now.state.id if now.state else "",
            agent=(info.title or info.name) if info else "",
            model=(now.state.model if now.state else None) or "",
            mode=short_name((now.state.mode if now.state else None) or ""),
            usage=result.usage,
            context=now.usage,
            permission_mode=self.book.mode,
            seconds=seconds,
        )

    # -- sessions -------------------------------------------------------------------------------------------------

    async def sessions(self, here: bool = True) -> tuple[SessionInfo, ...]:
        """Those that the agent keeps, of this folder or of all; UsageError if it does not list them."""
        link = await self._sessions.link()
        return await link.sessions(self.agent.cwd if here else None)

    async def new(self) -> None:
        """The next prompt begins a new session."""
        async with self._turns:
            await self._sessions.begin_anew()

    async def close_session(self) -> None:
        """Close the open session; UsageError if there is none, or the agent does not offer that."""
        async with self._turns:
            session = self._sessions.current
            if session is None:
                raise UsageError("There is no open session.", "The next prompt opens one.")
            await session.close()
            self._sessions.forget()

    async def delete(self, session_id: str) -> None:
        """Delete a session at the agent, the open one too. Raises UsageError (also if it offers no such thing)."""
        async with self._turns:
            link = await self._sessions.link()
            with self._sessions.reserved(session_id):
                await link.delete(session_id)
            if self._sessions.would_go_on_with(session_id):
                self._sessions.forget()

    @property
    def left(self) -> Handover:
        """What a later chat of this process needs to `follow` this one."""
        return self._sessions.left

    def follow(self, before: Handover) -> None:
        """The next prompt goes on with the session of an earlier chat of this process, which has ended."""
        self._sessions.follow(before)

    async def ready(self) -> None:
        """Open the session that the next prompt would go to, if it is not open."""
        await self._sessions.ready()

    async def offered(self, what: choosing.Offer) -> SessionState:
        """The session with its modes, models or options; agents may tell them a moment after they have opened it."""
        return await choosing.offered(await self._sessions.ready(), self._record, what)

    async def set_mode(self, mode: str) -> None:
        """To a mode of the agent's, by its id or a short name that no other has; UsageError if there is none."""
        await choosing.set_mode(await self._sessions.ready(), self._record, mode)

    async def set_model(self, model: str) -> None:
        """To a model of the agent's, by its id or name; UsageError if there is none."""
        await choosing.set_model(await self._sessions.ready(), self._record, model)

    async def set_option(self, option: str, value: str | bool) -> None:
        """Any other option by its id; UsageError if there is none, or not such a value."""
        await choosing.set_option(await self._sessions.ready(), self._record, option, value)

    # -- the agent ------------------------------------------------------------------------------------------------

    def set_permission_mode(self, mode: str) -> None:
        """Of our own, until the conversation is another one. Raises UsageError if there is none of that name."""
        self._permissions.judge.book = self.book.in_mode(mode)

    async def add_rule(self, kind: Kind, rule: str, *, to_settings: bool = False) -> str:
        """Put a rule in force, for this conversation or from now on; in words, what was done. Raises UsageError."""
        return await self._permissions.saving.add(kind, rule, to_settings=to_settings)

    def remove_rule(self, rule: str) -> None:
        """For this conversation, also one of the settings. Raises UsageError if it is not in force."""
        self._permissions.judge.book = self.book.without(rule)

    async def authenticate(self, method: str = "") -> None:
        """Sign in by one of the agent's methods. A session that was refused for want of it is opened now."""
        link = await self._sessions.link()
        await link.authenticate(method_for(link.info, method).id)
        if self._sessions.signed_in():
            await self._sessions.ready()

    async def logout(self) -> None:
        """Sign out; UsageError if the agent does not offer that. The next prompt says how to sign in."""
        link = await self._sessions.link()
        await link.logout()
        await self.agent.end()

    async def restart(self) -> None:
        """End the agent, even one that crashes in a loop; the next prompt starts it again."""
        self._retry.recovered()
        await self.agent.end()

    def _denied(self) -> Sequence[str]:
        return deny_patterns(self.book.texts("deny"), self.settings.folder, os.path.expanduser("~"))

    def _another(self) -> None:
        before = self.book
        self._permissions.forget()
        if self.book != before:
            self._record.tell("info", OVER)

    # -- what comes from the agent --------------------------------------------------------------------------------

    def _doors(self) -> ClientHandlers:
        return ClientHandlers(
            self._update,
            self._permissions.ask,
            services={"elicitation/create": self._elicitations.serve},
            heard={"elicitation/complete": self._elicitations.complete},
            answer_form=self.settings.answer_form,
        )

    def _hears(self, session_id: str) -> bool:
        return self._sessions.hears(session_id)

    def _holds(self, session_id: str) -> bool:
        return self._sessions.holds(session_id)

    def _update(self, session_id: str, update: Update) -> None:
        self._sessions.update(session_id, of_agent(update))
