"""One conversation: prompts go in one by one, updates come in in the order of the wire, views see what changed.

`agent.py` knows what the agent is and whether it lives, `session_manager.py` which session the prompts go to, and
`reduce` what an update does to the conversation.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import anyio
from anyio import to_thread

from ..acp.agent_connection import Session
from ..acp.messages import AgentInfo, Block, NoticeUpdate, PromptResult, SessionInfo, TextBlock
from ..acp.results import short_name
from ..config import PLAN, SANDBOXED, UNREAD, Settings
from ..conversation.model import Conversation, ToolCall
from ..conversation.outcome import FAILED, TurnOutcome
from ..errors import AgentError, CopilotError, UsageError
from ..permissions.rulebook import Rulebook
from ..rendering.status import STARTING
from .activity import ActivityLine
from .agent import Agent, auth_method, readable
from .agent_start import READ_ONLY, compared
from .attachments import prepare
from .elicitation_handler import Elicitations
from .failures import FailureFilter
from .net_changes import net_changes
from .notebook_tools import NotebookTools
from .operations import ClientServices
from .permission import Permissions
from .session_manager import SessionManager
from .session_options import SessionOptions
from .slash import AgentCommands, as_text, has_slash
from .state import ConversationState
from .trust import TrustGate
from .turn import Stop, Turn, View
from .turn_end import NotebookInTurn, TurnEnd
from .unasked import UnaskedActionMonitor
from .undo import Undo

ENDED = "The agent did not stop in time and was ended; the next prompt starts it again."
SENT = "You told the agent: {}"
UNSENT = "Not sent, because the turn was stopped: {}"


@dataclass(eq=False)
class Chat:
    """`async with open_chat(settings) as chat`: the agent starts when it is first needed and ends with the block.

    All methods but `ask` raise CopilotError. All but `cancel`, `attach` and `log` start the agent if it does not live.
    (More than ten fields: these are the parts of a conversation.)
    """

    agent: Agent
    state: ConversationState
    session_manager: SessionManager
    # What the session is set to.
    options: SessionOptions
    permissions: Permissions
    elicitations: Elicitations
    trust: TrustGate
    services: ClientServices
    tools: NotebookTools
    commands: AgentCommands
    undo: Undo
    failures: FailureFilter
    monitor: UnaskedActionMonitor
    notebook: NotebookInTurn | None
    # One turn at a time.
    turns: anyio.Lock

    # What goes with the next prompt, and what went with the last one besides its text.
    attached: tuple[Block, ...] = ()
    sent: tuple[Block, ...] = ()
    # The session whose agent has had the introduction.
    _introduced: str = ""
    _logged: int = 0

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()
        for stage in self.state.stages:
            self.agent.start_soon(partial(stage.run, self.state))
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        try:
            if self.tools.must_close:  # an agent that lives on keeps nothing that could reach the notebook
                await self.session_manager.close_for_good()
            await self.tools.close()
            return await self.agent.__aexit__(*error)
        finally:
            self.session_manager.release()
            self.undo.history.close()

    @property
    def conversation(self) -> Conversation:
        """Entries so far, and the state of the session."""
        return self.state.conversation

    @property
    def session(self) -> Session | None:
        """The open session, if the agent lives."""
        return self.session_manager.current

    @property
    def info(self) -> AgentInfo | None:
        """The agent's name and version, if it lives."""
        return self.agent.link.info if self.agent.link else None

    # -- turns --------------------------------------------------------------------------------------------------------

    async def ask(self, blocks: Sequence[Block], view: View) -> TurnOutcome:
        """One turn: `blocks` go to the agent as `session/prompt`, `view` sees what comes of it (spec: prompt-turn).

        Prompts wait for one another; none is ever resent. A turn that was cancelled, or that has failed, is returned as
        far as it came; see `TurnOutcome.failure`. What the user says with a "no" is sent in a further turn, which is
        joined to this one.
        """
        async with self.turns, self.undo.recording(lambda: self.conversation.turn) as recording:
            self._logged, self.sent = self.agent.log.count, ()
            blocks = (*blocks, *self.attached)
            turn = self.state.begin("prompt", view, blocks, recording)
            try:
                outcome = await self._run(turn, partial(self._prompt, turn, blocks))
                while turn.follow_ups and not turn.stop.pressed and outcome.stop_reason != FAILED:
                    words = "\n\n".join(turn.follow_ups)
                    self.state.notify("info", SENT.format(words))
                    blocks = (TextBlock(as_text(words)),)
                    turn = self.state.begin("prompt", view, blocks, recording)
                    outcome = outcome.joined(await self._run(turn, partial(self._prompt, turn, blocks)))
            finally:
                if turn.follow_ups:
                    self.state.update(NoticeUpdate("warning", UNSENT.format(" ".join(turn.follow_ups))))
        return replace(outcome, undo=self.undo.key(outcome.number))

    async def end_of(self, turn: TurnOutcome) -> TurnEnd:
        """Return the end of `turn`, the last one, with what else changed meanwhile. Reads the files."""
        cells = await self.notebook.touched_cells() if self.notebook else ()
        edits = self.notebook.log.changes if self.notebook else ()
        found = await net_changes(turn, self.settings.folder, self.undo)
        opened = map(os.path.realpath, await self.notebook.open_notebooks() if self.notebook and found.files else ())
        paths = {os.path.realpath(os.path.join(found.cwd, file.path)): file.path for file in found.files}
        found = replace(found, opened=tuple(paths[each] for each in opened if each in paths))
        return TurnEnd(turn, found, cells, edits)

    async def resume(self, session_id: str, view: View) -> TurnOutcome:
        """Switch to another session of the agent's; what was said in it is shown, where the agent can do that."""
        async with self.turns:
            self._logged = self.agent.log.count
            turn = self.state.begin("replay", view)
            outcome = await self._run(turn, partial(self._replay, turn, session_id))
        if outcome.failure is not None:
            raise outcome.failure
        return outcome

    def cancel(self, at: float | None = None) -> None:
        """Stop the running turn, if there is one, whatever the agent answers.

        A second call ends the agent without waiting for it, unless both belong to a double click. `at`: see `Stop`.
        """
        if turn := self.state.running:
            turn.stop.press(at)

    def attach(self, blocks: Sequence[Block]) -> None:
        """Send these with the next prompt, too."""
        self.attached += tuple(blocks)

    def log(self) -> list[str]:
        """Messages since the last turn began, without secrets; `<` came, `>` went."""
        return list(readable(self.agent.log.since(self._logged)))

    async def _run(self, turn: Turn, work: Callable[[], Awaitable[PromptResult]]) -> TurnOutcome:
        """Do the work of `turn`, which has begun, and end it."""
        started, stop, self.failures.progress = time.monotonic(), turn.stop, ""
        result, reason, failure = PromptResult("cancelled"), FAILED, None
        if self.agent.link is None:
            self.state.status(STARTING)
        try:
            result = await work()
            reason = result.stop_reason
        except CopilotError as error:
            failure = error
        except anyio.get_cancelled_exc_class():
            stop.press(by_user=False)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._finish(stop, reason)
        if stop.pressed and failure is None:
            reason = "cancelled"
        outcome = self._outcome(reason, result, time.monotonic() - started)
        return replace(outcome, stopped_by_user=stop.by_user, failure=failure)

    async def _finish(self, stop: Stop, reason: str) -> None:
        """End the turn: report what is known only now, and withdraw its questions."""
        for line in await compared(self.agent.sandbox):
            self.state.notify("warning", line)
        self.monitor.end(self.state)
        await self.state.settle()
        for update in self.failures.release():
            self.state.update(update)
        self.state.end("cancelled" if stop.pressed else reason)
        stop.end()
        await self.permissions.wait_closed()

    async def _replay(self, turn: Turn, session_id: str) -> PromptResult:
        with turn.stop.scope():
            await self._renew_sandbox()
            await self.session_manager.resume(session_id)
            await self.session_manager.ready()
        return PromptResult("end_turn")

    async def _prompt(self, turn: Turn, blocks: Sequence[Block]) -> PromptResult:
        with turn.stop.scope():
            await self._renew_sandbox()
            session = await self.session_manager.ready()
            blocks = await self.commands.admit(blocks, session, turn.view)
        if turn.stop.pressed:
            return PromptResult("cancelled")
        return await self._send(turn, session, blocks)

    async def _renew_sandbox(self) -> None:
        """End an agent whose last turn has changed what its sandbox protects."""
        if (sandbox := self.agent.sandbox) and sandbox.comparison.is_changed:
            await self.agent.end()

    async def _send(self, turn: Turn, session: Session, blocks: Sequence[Block]) -> PromptResult:
        """The agent's answer; if it does not come in time after a cancel, the agent is ended."""
        result, failure, stop = PromptResult("cancelled"), None, turn.stop
        self.attached = tuple(block for block in self.attached if block not in blocks)
        self.undo.begun(session.id)
        if turn.recording:
            await turn.recording.begun()
        preamble = () if has_slash(blocks) else self._preamble(session.id)
        prepared = prepare(blocks, session.connection.info)
        self.sent += (*blocks[1:], *preamble)
        await self.session_manager.use()
        activity = ActivityLine(
            self.state.status,
            lambda: self.conversation,
            lambda: self.permissions.open + self.elicitations.open,
            lambda: self.failures.progress,
        )
        with self.state.observed(activity.beat):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._cancel, session, stop, tasks.cancel_scope)
                tasks.start_soon(activity.run)
                tasks.start_soon(self.monitor.watch_suspects, self.state, self.permissions)
                if turn.recording:
                    tasks.start_soon(turn.recording.run, None)
                try:
                    result = await session.prompt((*prepared, *preamble))
                    reason = "cancelled" if stop.pressed else result.stop_reason
                    self.failures.check(reason)
                    self.undo.acknowledge(reason)
                except AgentError as error:
                    failure = error
                tasks.cancel_scope.cancel()
        if failure is not None and not stop.pressed:
            with stop.scope():
                await self.session_manager.failed(failure)
            raise failure
        self.session_manager.retry.recovered()
        for update in () if self.conversation.answer else result.messages:  # some agents say everything at the end
            self.state.receive(update)
        return result

    def _preamble(self, session_id: str) -> tuple[Block, ...]:
        """Return what the agent has to know with this prompt."""
        if session_id == self._introduced:
            return self.undo.preamble()
        self._introduced = session_id
        sandbox = (TextBlock(READ_ONLY),) if self.agent.sandbox else ()
        return (*sandbox, *self.tools.introduction(), *self.undo.preamble())

    async def _cancel(self, session: Session, stop: Stop, prompt: anyio.CancelScope) -> None:
        await stop.first_press.wait()
        with anyio.move_on_after(self.settings.cancel_grace):
            session.cancel()
            await self.services.stop()
            await stop.second_press.wait()
        self.state.update(NoticeUpdate("warning", ENDED))
        await self.agent.end()
        self.session_manager.drop()
        prompt.cancel()

    def _outcome(self, stop_reason: str, result: PromptResult, seconds: float) -> TurnOutcome:
        now, info = self.conversation, self.agent.running.info
        return TurnOutcome(
            number=now.turn,
            stop_reason=stop_reason,
            text=now.answer,
            tool_calls=tuple(e for e in now.entries.of_turn(now.turn) if isinstance(e, ToolCall)),
            session_id=now.state.id if now.state else "",
            agent=(info.title or info.name) if info else "",
            model=(now.state.model if now.state else None) or "",
            mode=short_name((now.state.mode if now.state else None) or ""),
            usage=result.usage,
            context=now.usage,
            permission_mode=self.book.mode,
            standing=self.commands.standing,
            seconds=seconds,
            agent_version=info.version if info else "",
        )

    # -- sessions -----------------------------------------------------------------------------------------------------

    async def sessions(self, here: bool = True) -> tuple[SessionInfo, ...]:
        """Return the sessions that the agent keeps, of this folder or of all. Raises UsageError if it does not list
        them.
        """
        link = await self.session_manager.link()
        return await link.sessions(self.settings.folder if here else None)

    async def new(self) -> None:
        """Let the next prompt begin a new session."""
        async with self.turns:
            await self.session_manager.begin_anew()

    async def close_session(self) -> None:
        """Close the open session; UsageError if there is none, or the agent does not offer that."""
        async with self.turns:
            session = self.session_manager.current
            if session is None:
                raise UsageError("No session is open.", "The next prompt opens one.")
            await session.close()
            self.session_manager.forget()

    async def delete(self, session_id: str) -> None:
        """Delete a session at the agent, the open one too; UsageError if the agent does not offer that."""
        async with self.turns:
            await self.session_manager.delete(session_id)

    async def prepare(self) -> None:
        """Do what the first prompt would otherwise wait for, and what nobody notices: no session is opened."""
        if self.settings.undo:
            self.undo.history.prepare()
        if await to_thread.run_sync(self.trust.is_settled):
            await self.agent.start_early()

    async def ready(self) -> None:
        """Open the session that the next prompt would go to, if it is not open."""
        await self.session_manager.ready()

    # -- permissions --------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """Settings of the beginning, with the rules that were saved since."""
        return self.permissions.policy.settings

    @property
    def book(self) -> Rulebook:
        """The permission mode and the rules that are in force, until the conversation is another one."""
        return self.permissions.policy.book

    def set_permission_mode(self, mode: str) -> None:
        """Set the mode until the conversation is another one. Raises UsageError if it is unknown or needs a sandbox."""
        if mode == SANDBOXED and (why := self.agent.sandbox_problem()):
            raise UsageError(f"The mode {mode} needs a sandbox: {why}.", "See: copilot-kernel doctor")
        if self.settings.unread and mode not in (PLAN, self.book.mode):
            raise UsageError(UNREAD.format(f"The permission mode {mode} is not used"))
        self.permissions.policy.book = self.book.in_mode(mode)

    # -- the agent ----------------------------------------------------------------------------------------------------

    async def authenticate(self, method: str = "") -> None:
        """Sign in by one of the agent's methods. A session that was refused for want of it is opened now."""
        link = await self.session_manager.link()
        await link.authenticate(auth_method(link.info, method).id)
        await self.session_manager.signed_in()

    async def logout(self) -> None:
        """Sign out; UsageError if the agent does not offer that. The next prompt says how to sign in."""
        link = await self.session_manager.link()
        await link.logout()
        await self.agent.end()

    async def restart(self) -> None:
        """End the agent, even one that crashes in a loop; the next prompt starts it again."""
        self.session_manager.retry.recovered()
        await self.agent.end()
