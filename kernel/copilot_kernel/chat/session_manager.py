"""Session that the prompts go to: the open one, else the one from before, else a new one.

After the agent or the kernel was started again, the conversation is resumed, if the agent still has it; what was said
then is not drawn again. When it cannot be resumed, a line says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import anyio
from anyio import to_thread

from ..acp.agent_connection import AgentConnection, Session
from ..acp.agent_errors import HINTS, UNEXPLAINED
from ..acp.jsonrpc import NOT_FOUND
from ..acp.messages import CommandsUpdate, ConfigUpdate, InfoUpdate, ModeUpdate, SessionInfo, UsageUpdate
from ..errors import (
    AgentError,
    AgentExited,
    AgentRefused,
    AgentStartFailed,
    AuthRequired,
    ConnectionLost,
    ResourceNotFound,
    SessionExpired,
    SessionInUse,
    UsageError,
)
from ..notebook.live import LiveNotebook, NotebookState
from ..rendering.plain import visible_line
from .agent import Agent
from .notebook_tools import KERNEL_ENDED, NotebookTools
from .retry import Retry
from .session_store import SavedSession, SessionLocks, SessionStore
from .state import ConversationState, SessionUpdates
from .trust import TrustGate
from .variables import note

# How the session is now; a replay would draw the other updates again.
STATE = CommandsUpdate | ConfigUpdate | InfoUpdate | ModeUpdate | UsageUpdate
MAX_LOAD_ATTEMPTS = 3
# Seconds that closing a session may take when the chat ends.
CLOSE_SECONDS = 2.0

_REPEAT = "A new conversation starts here; repeat what the agent needs to know."
FORGOTTEN = f"The agent was restarted and cannot resume the conversation. {_REPEAT}"
RESTARTED = "The agent was restarted and continues the conversation."
REOPENED = "The agent's session was reopened, and the conversation continues."
REOPENED_NOW = "The agent has opened its session again. Run this cell again; nothing was sent again."
PERHAPS_GONE = "If the agent no longer has this session, `%new` starts a new one."
CLOSED = f"The agent's session has ended and cannot be resumed. {_REPEAT}"
EXPIRED = f"The agent's session has expired. {_REPEAT}"
PREVIOUS_GONE = f"The agent no longer has the previous conversation. {_REPEAT}"
NEW_CONVERSATION = "A new conversation starts here, because the previous one could not be resumed: {}"
ELSEWHERE = "{} A new conversation starts here. To return to the other one, close it there and run `%resume {}`."
OTHER_NOTEBOOK = (
    "A new conversation starts here, because no cell of the previous one is left in this notebook. "
    "To return to it, run `%resume {}`."
)
KEPT = "If it still refuses after you sign in, run `%restart`; it will have lost this conversation."
NOT_KEPT = "A new conversation starts here, and a later kernel will not resume it. {}"
UNSHOWN = "The conversation was resumed, but the agent cannot show its earlier messages."


class _NotResumable(Exception):
    """The session from before cannot be resumed; `str` says why, for the user."""


class SessionManager:
    """Manager of the session. At most one is open, and locked.

    `on_new_conversation` is called when the conversation is another one than before. `trust` says whether the agent may
    start or open a session. A conversation is resumed where a cell that it was in is still in the `notebook`.
    """

    def __init__(
        self,
        agent: Agent,
        updates: SessionUpdates,
        state: ConversationState,
        retry: Retry,
        store: SessionStore,
        locks: SessionLocks,
        tools: NotebookTools,
        on_new_conversation: Callable[[], None],
        trust: TrustGate,
        notebook: LiveNotebook | None = None,
    ) -> None:
        self.retry, self._trust, self._notebook = retry, trust, notebook
        self._agent, self._updates, self._state = agent, updates, state
        self.store, self._locks, self._tools, self._on_new_conversation = store, locks, tools, on_new_conversation
        # The one that was opened last.
        self._last: Session | None = None
        self._lock = anyio.Lock()
        # The agent wanted a sign-in, or lost a connection: it is started again before the next attempt.
        self._needs_restart = False
        # The agent has ended the session for good.
        self._is_expired = False
        self._has_shown_notes = False

    # -- the open session ---------------------------------------------------------------------------------------------

    @property
    def current(self) -> Session | None:
        """The open session, if the agent lives."""
        return self._updates.current

    async def ready(self) -> Session:
        """The session that the prompts go to. Raises what `link` and `AgentConnection.new` raise."""
        async with self._lock:
            return self.current or await self._open()

    async def link(self) -> AgentConnection:
        """The agent, started if need be.

        Raises AgentNotFound, AgentStartFailed, ProtocolUnsupported, AgentRefused, UsageError.
        """
        await self._admit()
        return await self.retry(self._agent.ready, self._state.status)

    async def _admit(self) -> None:
        """Raise UsageError if the user does not trust what would run in the folder; hide what must not.

        Give the agent only those variables of the project that the user gives it.
        """
        absent, settings = await self._trust.check(), self._agent.settings
        given = await to_thread.run_sync(self._trust.store.given)
        if (absent, given) != (settings.absent, settings.given):
            await self._agent.end()
            sandbox = "required" if absent else self._trust.settings.sandbox
            self._agent.settings = replace(settings, sandbox=sandbox, absent=absent, given=given)

    async def use(self) -> None:
        """Note that a prompt goes to the session; what could not be saved before may be by now."""
        if session := self.store.session:
            used = session.used_by(await self._snapshot() if self.store.is_kept else NotebookState(()))
            if used != session or not self.store.is_saved:
                self.store.write(used)

    async def _snapshot(self) -> NotebookState:
        return await self._notebook.snapshot() if self._notebook else NotebookState(())

    async def failed(self, error: AgentError) -> None:
        """Find out what the failure of a prompt means for its session, and for the next start of the agent."""
        if error.crashed:
            self.retry.crashed(error)
        self._explain(error)
        match error, self._agent.link:
            case AuthRequired(), AgentConnection() as link if not (link.can("load") or link.can("resume")):
                error.hint = " ".join(filter(None, (error.hint, KEPT)))
            case AgentError(signed_out=True) | ConnectionLost(), _:
                self._updates.session, self._needs_restart = None, True
            case SessionExpired(), _:
                self._updates.session, self._is_expired = None, True
            case ResourceNotFound(), _:
                self.drop()
            case AgentRefused(hint=hint), AgentConnection() as link if hint in UNEXPLAINED:
                if self.current and self.store.session:
                    await self._check(link, self.current.id, self.store.session, error)

    async def _check(self, link: AgentConnection, id: str, saved: SavedSession, error: AgentError) -> None:
        """Ask the agent whether it still has the session, and add the answer to `error`."""
        how = next((name for name in ("list", "resume", "load") if link.can(name)), None)
        try:
            if how is None:
                error.hint = f"{error.hint} {PERHAPS_GONE}"
            elif how == "list":
                await self._find(link, id)
            else:
                self._adopt(await self._opened(how, id), saved, draws=False)
                error.hint = REOPENED_NOW
        except (_NotResumable, AgentRefused) as answer:
            if not isinstance(answer, AuthRequired | ConnectionLost):
                self.drop()
                error.hint = HINTS[NOT_FOUND]
        except AgentError:
            pass  # the next prompt will meet it

    def _explain(self, error: AgentError) -> None:
        """What the agent needs to sign in may be among the variables that it is not given."""
        if isinstance(error, AuthRequired) and (line := note(self._agent.settings)) not in error.hint:
            error.hint = "\n".join(filter(None, (error.hint, line)))

    def drop(self) -> None:
        """Note that the agent no longer has it open; the next prompt resumes it if possible."""
        self._updates.session = None

    async def signed_in(self) -> None:
        """Open the session that was refused before the agent accepted a sign-in."""
        if self._needs_restart:
            self._needs_restart = False
            await self.ready()

    # -- other sessions -----------------------------------------------------------------------------------------------

    async def resume(self, session_id: str) -> None:
        """Switch to another session; what was said in it comes before this returns.

        Raises UsageError where the agent offers neither load nor resume, SessionInUse, AgentRefused, AgentStartFailed,
        AuthRequired.
        """
        async with self._lock:
            link = await self.link()
            with self._locks.reserved(session_id) as lock:
                session = await self._replayed(link, session_id)
                if self.current and self.current.id != session_id:
                    await self._close()
                self._locks.hold(lock)
                self._adopt(session, SavedSession(session_id).used_by(await self._snapshot()))

    async def begin_anew(self) -> None:
        """Let the next prompt begin a new session; the open one is closed, where the agent offers that."""
        await self._close()
        self.forget()

    def forget(self) -> None:
        """Let the next prompt begin a new session, also in a later kernel."""
        self._updates.session = self._last = None
        self._on_new_conversation()
        self._locks.release()
        self.store.clear()

    async def delete(self, session_id: str) -> None:
        """Delete a session at the agent. Raises UsageError, SessionInUse, AgentRefused."""
        link = await self.link()
        with self._locks.reserved(session_id):
            await link.delete(session_id)
        saved = self.store.read()
        if saved is not None and saved.id == session_id:
            self.forget()

    async def close_for_good(self) -> None:
        """Close the open session, where the agent offers that, so that nothing of this chat is left in it."""
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            await self._close()

    def release(self) -> None:
        """Let others open the session."""
        self._locks.release()

    async def _close(self) -> None:
        if self.current and self._agent.link and self._agent.link.can("close"):
            with suppress(AgentError):
                await self.current.close()

    # -- opening ------------------------------------------------------------------------------------------------------

    async def _open(self) -> Session:
        """An agent reads its credentials when it starts: after a refusal it is started again.

        One that was started early is started again at once, since the user may have signed in meanwhile.
        """
        if self._needs_restart:
            await self._agent.end()
        was_early = self._agent.is_early
        try:
            session = await self._resumed(await self.link()) or await self._begun()
        except (AuthRequired, ConnectionLost) as error:
            self._needs_restart = True
            self._explain(error)
            if was_early and isinstance(error, AuthRequired):
                return await self._open()
            raise
        except AgentStartFailed:
            await self._agent.end()
            raise
        self._needs_restart = False
        return session

    async def _begun(self) -> Session:
        """A new session, saved and locked the moment it is known."""
        session = await self.retry(partial(self._opened, "new", ""), self._state.status)
        self._locks.release()
        # It is the agent's business if it gives one id to two sessions.
        with suppress(SessionInUse), self._locks.reserved(session.id) as lock:
            self._locks.hold(lock)
        self._adopt(session, SavedSession(session.id))
        return session

    async def _resumed(self, link: AgentConnection) -> Session | None:
        """The session from before; None if it cannot be resumed, which a line says unless nothing was said in it."""
        saved = self.store.read()
        if saved is None:
            if self.store.problem:
                self._state.notify("warning", NOT_KEPT.format(self.store.problem))
            return None
        if saved.runs:
            self._state.notify("warning", KERNEL_ENDED)
        try:
            if self._notebook and not self.store.session and not saved.is_of(await self._snapshot()):
                raise _NotResumable(OTHER_NOTEBOOK.format(saved.id))
            return await self._resume_saved(link, saved)
        except AuthRequired:
            raise
        except _NotResumable as error:
            line = str(error)
        except SessionInUse as error:
            line = ELSEWHERE.format(error, saved.id)
        except (AgentRefused, AgentStartFailed, AgentExited) as error:
            line = NEW_CONVERSATION.format(error.title)
        self.store.session = None
        self._locks.release()
        if saved.used:
            self._state.notify("warning", line)
        return None

    async def _resume_saved(self, link: AgentConnection, saved: SavedSession) -> Session:
        if self._is_expired:
            raise _NotResumable(EXPIRED)
        is_same_agent = self._last is not None and not self._last.connection.closed.is_set()
        how = next((name for name in ("resume", "load") if link.can(name)), None)
        if how is None:
            raise _NotResumable(CLOSED if is_same_agent else FORGOTTEN)
        info = await self._find(link, saved.id)
        with self._locks.reserved(saved.id) as lock:
            open_saved = partial(self._opened, how, saved.id)
            session = await self.retry(open_saved, self._state.status, MAX_LOAD_ATTEMPTS)
            self._locks.hold(lock)
        restarted = RESTARTED if self.store.session else _resumption(info)
        self._state.notify("info", REOPENED if is_same_agent else restarted)
        self._state.is_resumed = True
        self._adopt(session, saved, draws=False)
        return session

    async def _find(self, link: AgentConnection, session_id: str) -> SessionInfo:
        """Return what the agent says of a session; an agent that does not list them is asked by trying."""
        try:
            for cwd in (self._agent.settings.folder, None):
                for info in await link.sessions(cwd):
                    if info.id == session_id:
                        return info
        except (AgentRefused, AgentStartFailed, UsageError):
            return SessionInfo(session_id)
        raise _NotResumable(PREVIOUS_GONE)

    async def _replayed(self, link: AgentConnection, session_id: str) -> Session:
        """Replay a session by load, which shows what was said; by resume if that fails or is not offered."""
        if link.can("load"):
            try:
                return await self._opened("load", session_id)
            except AgentRefused as error:
                if isinstance(error, AuthRequired) or not link.can("resume"):
                    raise
        session = await self._opened("resume", session_id)
        self._state.notify("warning", UNSHOWN)
        return session

    async def _opened(self, how: str, session_id: str) -> Session:
        """Keep what comes meanwhile, until `_adopt` knows what it belongs to."""
        await self._admit()
        self._updates.begin(session_id)
        try:
            link = await self._agent.ready()
            ours = await self._tools.servers(link, session_id, self._agent.handover)
            cwd, servers = self._agent.settings.folder, [*self._agent.offered.servers, *ours]
            if how == "new":
                return await link.new(cwd, servers)
            return await link.reopen(how, session_id, cwd, servers)
        except BaseException as error:
            self._updates.end()
            if isinstance(error, AgentRefused | AgentStartFailed) and not isinstance(error, AuthRequired):
                # Agents start MCP servers with the session, and do not always say that one of them is the trouble.
                error.hint = " ".join(filter(None, (error.hint, self._agent.offered.blame)))
            if isinstance(error, ConnectionLost):
                await self._agent.end()
            raise

    def _adopt(self, session: Session, saved: SavedSession, *, draws: bool = True) -> None:
        """Make it the current one, and take in what came early, in its order; without `draws`, not what was said."""
        early = self._updates.end()
        self._tools.adopt(session.id, code_ended_kernel=saved.runs)
        if self._last and self._last.id != session.id:
            self._on_new_conversation()
        self._updates.session = self._last = session
        self._is_expired = self._agent.is_early = False
        if not self._has_shown_notes:
            for note in (*filter(None, [self._agent.running.unsandboxed]), *self._agent.offered.notes):
                self._state.notify("info", note)
        self._has_shown_notes = True
        self.store.write(saved)
        self._state.open_session(session.state)
        for session_id, update in early:
            if session_id in ("", session.id) and (draws or isinstance(update, STATE)):
                self._state.receive(update)


def _resumption(info: SessionInfo) -> str:
    day = re.match(r"\d{4}-\d\d-\d\d", info.updated_at)
    dated = f" from {day[0]}" if day else ""
    about = f": {visible_line(info.title)}" if info.title else "."
    return f"Resumed the conversation{dated}{about}"
