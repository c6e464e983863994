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
from anyio import to_thread

from ..acp.agent_connection import Session
from ..acp.handlers import ClientHandlers
from ..acp.messages import AgentInfo, Block, Json, NoticeUpdate, PromptResult, SessionInfo, TextBlock, Update
from ..acp.results import parse_messages, short_name
from ..config import SANDBOXED, Settings, made_state_folder
from ..conversation.model import Conversation, ToolCall
from ..errors import AgentError, CopilotError, UsageError
from ..notebook.live import NotebookSource
from ..permissions.agent_changes import AgentChange, Kind, changes_of, unasking
from ..permissions.ledger import Ledger
from ..permissions.rulebook import Rulebook
from ..rendering.changes import TurnChanges
from ..rendering.status import STARTING
from . import slash
from .activity import ActivityLine
from .agent import Agent, Retry, auth_method, readable
from .attachments import prepare
from .calls import update_of_agent
from .diff_locator import DiffLocator
from .elicitation import Elicitations
from .net_changes import net_changes
from .notebook_tools import NotebookTools
from .operations import ClientServices
from .permission import Permissions
from .sandboxing import SandboxNote, compared
from .session_options import SessionOptions
from .session_store import SessionLocks, SessionStore
from .sessions import SessionManager
from .shared import SharedAgent, SharedAgentHandle, denied_tools
from .state import ConversationState
from .trust import TrustGate, TrustStore
from .turn import FAILED, Stop, Turn, View
from .unasked import UnaskedActionMonitor
from .undoing import Undo

COMMANDS_SECONDS = 1.0
"""For which a prompt that begins with `/` waits, if the agent has not said yet which commands it has."""
ENDED = "The agent did not stop in time and was ended; the next prompt starts it again."
SENT = "You told the agent: {}"
UNSENT = "This was not sent to the agent, because the turn did not end by itself: {}"
# What is shown of changes, by their kinds.
STANDING: dict[Kind, str] = {"questions": "does not ask", "turns": "runs without a prompt"}
RESET = "The permission mode and the rules are back to your settings."


class Chat:
    """`async with Chat(settings) as chat`: the agent starts when it is first needed and ends with the block.

    `notebook` is the path of the notebook whose conversation this is: a later chat of the same path resumes it. Without
    one, each chat begins a new session. With `shared`, the chat is one of several on that agent, which outlives it.
    `place` says where its session is open to others who want it; by default, that is the notebook. The agent gets tools
    for `live`, the notebook as it is open.

    All methods raise CopilotError, and all but `cancel`, `attach` and `log` start the agent if it does not live.
    (More than ten attributes: this is where the parts of a conversation are put together.)
    """

    def __init__(
        self,
        settings: Settings,
        notebook: str = "",
        retry: Retry | None = None,
        shared: SharedAgent | None = None,
        place: str = "",
        live: NotebookSource | None = None,
    ) -> None:
        self._live = live
        # What goes with the next prompt.
        self.attached: tuple[Block, ...] = ()
        # What went with the last prompt besides its text.
        self.sent: tuple[Block, ...] = ()
        self._turns = anyio.Lock(fast_acquire=True)  # no interrupt can come between `ask` and its turn
        folder = made_state_folder(settings)
        self.undo = Undo(settings, folder, self._turns)
        self._locator = DiffLocator(settings.folder)
        self._state = ConversationState(
            annotate=lambda before, after: self._monitor.annotate(before, after),
            reports_failures=lambda: self.agent.is_copilot,
            locate=self._located,
        )
        self._permissions = Permissions(settings, self._state, lambda: self.info, lambda: self.agent.sandbox, live)
        self.policy = self._permissions.policy
        self._monitor = UnaskedActionMonitor(self._state, self._permissions)
        self._elicitations = Elicitations(self._state)
        can_sandbox = shared is None and "://" not in settings.agent
        clicked = self._permissions.approvals.clicked
        self._trust = TrustGate(settings, self._state, clicked.__contains__, can_sandbox=can_sandbox)
        self._retry = retry or Retry()
        self._services = ClientServices(
            settings,
            self._state,
            self._permissions,
            lambda session_id: self._sessions.serves(session_id),
            lambda: self.agent.sandbox,
        )
        outlived = bool(shared) or "://" in settings.agent or settings.agent_sharing != "off"
        self._tools = NotebookTools(
            live, settings, self._state, self._permissions, lambda count: self.store.note_runs(count), outlived=outlived
        )
        self._sandbox_note = SandboxNote()
        handlers = ClientHandlers(
            self._update,
            self._permissions.ask,
            services={"elicitation/create": self._elicitations.serve},
            listeners={"elicitation/complete": self._elicitations.complete},
            answer_form=settings.answer_form,
        )
        serve = self._services.serve
        self.agent = (
            shared.agent
            if shared
            else Agent(settings, handlers, serve, lambda: denied_tools(self.book, settings.folder), self._tools.ports)
        )
        # The session that the next prompt goes to; a later chat of this process can follow it.
        self.store = SessionStore(folder, notebook, self.agent.settings.agent or "copilot", self.agent.cwd)
        self._locks = SessionLocks(folder, place or (f"notebook {notebook}" if notebook else "another program"))
        self._sessions = SessionManager(
            self.agent,
            lambda: self._handle.end(),
            self._state,
            self._retry,
            self.store,
            self._locks,
            self._tools,
            self._reset_permissions,
            self._admit,
            live,
        )
        self._handle: Agent | SharedAgentHandle = (
            SharedAgentHandle(shared, handlers, serve, self._sessions, self._state) if shared else self.agent
        )
        # What the session is set to.
        self.options = SessionOptions(self._sessions, self._state)
        # Each is called after each change, with the update that made it, or None.
        self.observers = self._state.observers
        # The agent's own commands that were sent: kind of change, command, session, and its options until then.
        self._sent: list[tuple[Kind, str, Session, tuple[Json, ...]]] = []
        self._stop = Stop()
        self._failed: Turn | None = None
        # The one that got the prompt of the turn: an error may leave none.
        self._prompted: AgentInfo | None = None
        self._logged = 0

    async def __aenter__(self) -> Self:
        await self._handle.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        try:
            await self._leave_notebook()
            return await self._handle.__aexit__(*error)
        finally:
            self._locks.release()
            self.undo.close()

    async def _leave_notebook(self) -> None:
        """An agent that lives on keeps nothing that could reach the notebook."""
        if self._tools.must_close:
            await self._sessions.close_for_good()
        await self._tools.close()

    @property
    def conversation(self) -> Conversation:
        """What was said so far, and how the session is set."""
        return self._state.conversation

    @property
    def session(self) -> Session | None:
        """The open session, if the agent lives."""
        return self._sessions.current

    @property
    def info(self) -> AgentInfo | None:
        """What the agent said of itself, if it lives."""
        return self.agent.link.info if self.agent.link else None

    @property
    def agent_changes(self) -> tuple[AgentChange, ...]:
        """What commands, options and modes of this agent change that we rely on."""
        return changes_of(f"{self.settings.agent or 'copilot'} {self.info.name if self.info else ''}")

    @property
    def unseen(self) -> str:
        """What the agent cannot do with the notebook; empty if nothing is known of that."""
        return self._tools.unseen

    @property
    def standing(self) -> tuple[str, ...]:
        """What its own commands, options and modes have changed in the open session, whoever set them.

        A command that ends questions counts until the agent reports its options again.
        """
        if (session := self.session) is None or (state := self.conversation.state) is None:
            return ()
        sent = [each for each in self._sent if each[2] is session and (each[0] == "turns" or each[3] is state.options)]
        known = [*(each[:2] for each in sent), *(("questions", each) for each in unasking(self.agent_changes, state))]
        names = ((what, ", ".join(each for of, each in known if of == kind)) for kind, what in STANDING.items())
        return tuple(f"{what}: {each}" for what, each in names if each)

    # -- turns --------------------------------------------------------------------------------------------------------

    async def ask(self, blocks: Sequence[Block], view: View) -> Turn:
        """One turn: `blocks` go to the agent as `session/prompt`, `view` sees what comes of it (spec: prompt-turn).

        Prompts wait for one another; none is ever resent. A cancelled turn is not an error, but a Turn whose stop
        reason is `cancelled`. What the user says with a "no" is sent in a further turn, which is joined to this one.
        What an error leaves of a turn: see `failed`.
        """
        async with self._turns, self.undo.recording(lambda: self.conversation.turn):
            self._logged, self.sent = self.agent.log.count, ()
            feedback, turn = self._permissions.feedback, None
            try:
                turn = await self._turn((*blocks, *self.attached), view)
                while feedback and turn.stop_reason != "cancelled":
                    words = "\n\n".join(feedback)
                    feedback.clear()
                    self._state.notify("info", SENT.format(words))
                    turn = turn.joined(await self._turn((TextBlock(slash.as_text(words)),), view))
                return turn
            except CopilotError:
                self._failed = turn.joined(self._failed) if turn and self._failed else self._failed
                raise
            finally:
                if feedback:
                    self._state.update(NoticeUpdate("warning", UNSENT.format(" ".join(feedback))))
                    feedback.clear()

    def failed(self, error: CopilotError) -> Turn | None:
        """The turn that `error` has ended, as far as it came; None if it came before the turn, or is an older one."""
        return self._failed if self._failed is not None and self._failed.failure is error else None

    async def changes(self, turn: Turn) -> TurnChanges:
        """What `turn` has changed, which was the last one, and what else changed meanwhile: reads the files."""
        found = await net_changes(turn, self.settings.folder, self.undo)
        opened = map(os.path.realpath, await self._live.open_notebooks() if self._live and found.files else ())
        paths = {os.path.realpath(os.path.join(found.cwd, file.path)): file.path for file in found.files}
        return replace(found, opened=tuple(paths[each] for each in opened if each in paths))

    async def resume(self, session_id: str, view: View) -> Turn:
        """Switch to another session of the agent's; what was said in it is shown, where the agent can do that."""
        async with self._turns:
            self._logged = self.agent.log.count
            return await self._turn((), view, session_id)

    def cancel(self, at: float | None = None) -> None:
        """Stop the running turn, if there is one, whatever the agent answers.

        A second call ends the agent without waiting for it, unless both belong to a double click. `at`: see `Stop`.
        """
        self._stop.press(at)

    def attach(self, blocks: Sequence[Block]) -> None:
        """Send these with the next prompt, too."""
        self.attached += tuple(blocks)

    def log(self) -> list[str]:
        """What went over the wire since the last turn began, without secrets; `<` came, `>` went."""
        return list(readable(self.agent.log.since(self._logged)))

    async def _turn(self, blocks: Sequence[Block], view: View, session_id: str = "") -> Turn:
        started = time.monotonic()
        self._stop, self._prompted = Stop(), None
        stop = self._stop
        result, reason = PromptResult("cancelled"), FAILED
        try:
            self._state.begin(blocks, view, stop)
            if self.agent.link is None:
                self._state.status(STARTING)
            try:
                result = await self._run(blocks, view, stop, session_id)
                reason = result.stop_reason
            finally:
                for line in await compared(self.agent.sandbox):
                    self._state.notify("warning", line)
                self._monitor.end()
                self._state.end("cancelled" if stop.pressed else reason)
        except CopilotError as error:
            self._failed = replace(self._ended(FAILED, result, time.monotonic() - started), failure=error)
            raise
        except anyio.get_cancelled_exc_class():
            stop.press(by_user=False)
            raise
        finally:
            stop.end()
            await self._permissions.wait_closed()
        turn = self._ended("cancelled" if stop.pressed else reason, result, time.monotonic() - started)
        return replace(turn, stopped_by_user=stop.by_user)

    async def _run(self, blocks: Sequence[Block], view: View, stop: Stop, session_id: str) -> PromptResult:
        with stop.scope():
            if (sandbox := self.agent.sandbox) and sandbox.comparison.is_changed:
                await self._handle.end()
            if session_id:
                await self._sessions.resume(session_id)
            session = await self._sessions.ready()
            if slash.has_slash(blocks):
                commands = await self._state.commands_within(COMMANDS_SECONDS)
                blocks = slash.checked(blocks, [command.name for command in commands])
                made = await slash.admitted(blocks, self.agent_changes, view)
                self._sent += [(*each, session, (self.conversation.state or session.state).options) for each in made]
        if stop.pressed:
            return PromptResult("cancelled")
        return PromptResult("end_turn") if session_id else await self._prompt(session, blocks, stop)

    async def _prompt(self, session: Session, blocks: Sequence[Block], stop: Stop) -> PromptResult:
        """The agent's answer; if it does not come in time after a cancel, the agent is ended."""
        result, failure = PromptResult("cancelled"), None
        self.attached = tuple(block for block in self.attached if block not in blocks)
        await self.undo.begun()
        introduction = (
            *self._sandbox_note.introduction(self.agent.sandbox, blocks, session.id),
            *self._tools.introduction(blocks),
            *self.undo.introduction(blocks, session.id),
        )
        prepared = prepare(blocks, session.info)
        self.sent += (*blocks[1:], *introduction)
        await self._sessions.use()
        self._prompted = session.info
        activity = ActivityLine(
            self._state.status,
            lambda: self.conversation,
            lambda: self._permissions.open + self._elicitations.open,
            lambda: self._state.progress,
        )
        self._state.observers.append(activity.beat)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._cancel, session, stop, tasks.cancel_scope)
                tasks.start_soon(activity.run)
                tasks.start_soon(self._monitor.run)
                try:
                    result = await session.prompt((*prepared, *introduction))
                    self._state.failures.check("cancelled" if stop.pressed else result.stop_reason)
                    self.undo.told("cancelled" if stop.pressed else result.stop_reason)
                except AgentError as error:
                    failure = error
                tasks.cancel_scope.cancel()
        finally:
            self._state.observers.remove(activity.beat)
        if failure is not None and not stop.pressed:
            if failure.crashed:
                self._retry.crashed(failure)
            self._sessions.failed(failure)
            raise failure
        self._retry.recovered()
        if not self.conversation.answer:  # a dialect says everything at the end
            for chunk in parse_messages(result.messages):
                self._state.update(chunk)
        return result

    async def _cancel(self, session: Session, stop: Stop, prompt: anyio.CancelScope) -> None:
        await stop.wait()
        with anyio.move_on_after(self.settings.cancel_grace):
            session.cancel()
            await self._services.stop()
            await stop.wait_again()
        self._state.update(NoticeUpdate("warning", ENDED))
        await self._handle.end()
        self._sessions.drop()
        prompt.cancel()

    def _ended(self, stop_reason: str, result: PromptResult, seconds: float) -> Turn:
        now, info = self.conversation, self.info or self._prompted
        return Turn(
            number=now.turn,
            stop_reason=stop_reason,
            text=now.answer,
            tool_calls=tuple(e for e in now.of_turn(now.turn) if isinstance(e, ToolCall)),
            session_id=now.state.id if now.state else "",
            agent=(info.title or info.name) if info else "",
            model=(now.state.model if now.state else None) or "",
            mode=short_name((now.state.mode if now.state else None) or ""),
            usage=result.usage,
            context=now.usage,
            permission_mode=self.book.mode,
            standing=self.standing,
            seconds=seconds,
            agent_version=info.version if info else "",
        )

    # -- sessions -----------------------------------------------------------------------------------------------------

    async def sessions(self, here: bool = True) -> tuple[SessionInfo, ...]:
        """Those that the agent keeps, of this folder or of all; UsageError if it does not list them."""
        link = await self._sessions.link()
        return await link.sessions(self.agent.cwd if here else None)

    async def new(self) -> None:
        """Let the next prompt begin a new session."""
        async with self._turns:
            await self._sessions.begin_anew()

    async def close_session(self) -> None:
        """Close the open session; UsageError if there is none, or the agent does not offer that."""
        async with self._turns:
            session = self._sessions.current
            if session is None:
                raise UsageError("No session is open.", "The next prompt opens one.")
            await session.close()
            self._sessions.forget()

    async def delete(self, session_id: str) -> None:
        """Delete a session at the agent, the open one too; UsageError if the agent does not offer that."""
        async with self._turns:
            await self._sessions.delete(session_id)

    async def prepare(self) -> None:
        """Do what the first prompt would otherwise wait for, and what nobody notices: no session is opened."""
        self.undo.prepare()
        if await to_thread.run_sync(self._trust.is_settled):
            await self.agent.start_early()

    async def ready(self) -> None:
        """Open the session that the next prompt would go to, if it is not open."""
        await self._sessions.ready()

    # -- permissions --------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """Those of the beginning, and the rules that were saved since."""
        return self.policy.settings

    @property
    def book(self) -> Rulebook:
        """The permission mode and the rules that are in force, until the conversation is another one."""
        return self.policy.book

    @property
    def ledger(self) -> Ledger:
        """What was decided so far, and by whom."""
        return self._permissions.approvals.ledger

    def set_permission_mode(self, mode: str) -> None:
        """Until the conversation is another one. Raises UsageError if it is unknown or needs a sandbox."""
        if mode == SANDBOXED and (why := self.agent.sandbox_problem()):
            raise UsageError(f"The mode {mode} needs a sandbox: {why}.", "See: copilot-kernel doctor")
        self.policy.book = self.book.in_mode(mode)

    def remove_rule(self, rule: str) -> None:
        """For this conversation, also one of the settings. Raises UsageError if it is not in force."""
        self.policy.book = self.book.without(rule)

    def _reset_permissions(self) -> None:
        before = self.book
        self._permissions.reset()
        if self.book != before:
            self._state.notify("info", RESET)

    @property
    def trusted(self) -> TrustStore:
        """What the user trusts, in any folder."""
        return self._trust.store

    async def _admit(self) -> None:
        """Raise UsageError if the user does not trust what would run in the folder; hide what must not."""
        absent = await self._trust.check()
        if absent != self.agent.settings.absent:
            await self._handle.end()
            sandbox = "required" if absent else self._trust.settings.sandbox
            self.agent.settings = replace(self.agent.settings, sandbox=sandbox, absent=absent)

    # -- the agent ----------------------------------------------------------------------------------------------------

    async def authenticate(self, method: str = "") -> None:
        """Sign in by one of the agent's methods. A session that was refused for want of it is opened now."""
        link = await self._sessions.link()
        await link.authenticate(auth_method(link.info, method).id)
        await self._sessions.signed_in()

    async def logout(self) -> None:
        """Sign out; UsageError if the agent does not offer that. The next prompt says how to sign in."""
        link = await self._sessions.link()
        await link.logout()
        await self._handle.end()

    async def restart(self) -> None:
        """End the agent, even one that crashes in a loop; the next prompt starts it again."""
        self._retry.recovered()
        await self._handle.end()

    def _located(self, call: ToolCall) -> ToolCall:
        """Before anything else, save the files that it may change."""
        self.undo.observe(call)
        return self._locator.located(call)

    def _update(self, session_id: str, update: Update) -> None:
        self._sessions.update(session_id, update_of_agent(update))
