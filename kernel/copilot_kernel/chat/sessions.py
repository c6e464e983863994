"""Which session the prompts go to: the open one, else the one from before, else a new one.

After the agent or the kernel was started again, the conversation is resumed, if the agent still has it; what was said
then is not drawn again. When it cannot be resumed, a line says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio

from ..acp.agent_connection import AgentConnection
from ..acp.messages import (
    Chunk,
    CompactionChunk,
    CompactionUpdate,
    NoticeUpdate,
    PlanUpdate,
    SessionInfo,
    ToolCallUpdate,
    UnknownUpdate,
    Update,
)
from ..acp.session import Session
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
)
from ..rendering.plain import visible_line
from .agent import AgentHandle, Retry
from .session_store import Handover, SavedSession, SessionLock, SessionStore, lock_holder, lock_session
from .state import ConversationState

# What a replay would draw again; the other updates say how the session is now.
DRAWN = Chunk | ToolCallUpdate | PlanUpdate | NoticeUpdate | CompactionUpdate | CompactionChunk | UnknownUpdate
MAX_LOAD_ATTEMPTS = 3

FORGOTTEN = "The agent was restarted and does not remember the conversation before this point."
RESTARTED = "The agent was restarted and continues the conversation."
REOPENED = "The agent's session was opened again, and the conversation continues."
CLOSED = "The agent's session has ended; a new one begins, without the conversation before this point."
EXPIRED = "The agent's session has expired; a new one begins, without the conversation before this point."
GONE = "The agent no longer has the conversation before this point; a new one begins."
LOST = "Could not resume the previous conversation; starting a new one: {}"
IN_USE = "This conversation is already open in {}."
ELSEWHERE = "{} A new conversation starts here. When it is closed there, `%resume {}` returns to it."
WHERE_ELSE = "Continue there, or close it there and try again; or begin a new one here."
UNSHOWN = "The conversation continues; the agent cannot show what was said before."


class SessionLocks:
    """At most one session is held, so that no other conversation opens it, in this process or another.

    `place` is where the conversation is open, for others who want it: "notebook /home/me/book.ipynb", "a chat".
    """

    def __init__(self, agent: AgentHandle, folder: Path, place: str) -> None:
        self._agent, self._folder, self._place = agent, folder, place
        self._held: SessionLock | None = None

    @contextmanager
    def reserved(self, session_id: str) -> Iterator[SessionLock]:
        """Keep every other conversation out of a session until the block ends, or longer, if the lock is held then.

        Raises SessionInUse: two conversations in one session would hear and answer each other's questions.
        """
        held = self._held
        lock = held if held is not None and held.session_id == session_id else self.lock(session_id)
        try:
            yield lock
        finally:
            if lock is not self._held:
                lock.release()

    def lock(self, session_id: str) -> SessionLock:
        """Raises SessionInUse."""
        self.check(session_id)
        lock = lock_session(self._folder, session_id, self._place)
        if lock is None:
            raise self._in_use(session_id)
        return lock

    def check(self, session_id: str) -> None:
        """Another conversation with this agent may be about to open the session. Raises SessionInUse."""
        if self._agent.elsewhere(session_id):
            raise self._in_use(session_id)

    def hold(self, lock: SessionLock) -> None:
        """Keep `lock` instead of the one that is held."""
        if lock is not self._held:
            self.release()
            self._held = lock

    def release(self) -> None:
        """Let others open the session that is held."""
        if self._held is not None:
            self._held.release()
            self._held = None

    def _in_use(self, session_id: str) -> SessionInUse:
        return SessionInUse(IN_USE.format(lock_holder(self._folder, session_id)), WHERE_ELSE)


@dataclass(slots=True)
class _Opening:
    """A session that is being opened, and the updates that came before it was known what they belong to."""

    # Empty for a new session, which has no id yet.
    id: str
    updates: list[tuple[str, Update]] = field(default_factory=list)


class _NotResumable(Exception):
    """The session from before cannot be resumed; `str` says why, for the user."""


class SessionManager:
    """At most one session is open, and locked.

    `on_new_conversation` is called when the conversation is another one than before. (More than ten attributes: five
    collaborators, and the states of a session whose agent may end, refuse and forget it independently.)
    """

    def __init__(
        self,
        agent: AgentHandle,
        state: ConversationState,
        retry: Retry,
        store: SessionStore,
        locks: SessionLocks,
        on_new_conversation: Callable[[], None],
    ) -> None:
        self._agent, self._state, self._retry = agent, state, retry
        self._store, self._locks, self._on_new_conversation = store, locks, on_new_conversation
        self._session: Session | None = None
        self._opening: _Opening | None = None
        self._lock = anyio.Lock()
        # The id of the last session that was opened, and its connection.
        self._last: tuple[str, AgentConnection | None] | None = None
        # The agent wanted a sign-in, or lost a connection: it is started again before the next attempt.
        self._needs_restart = False
        # The agent has ended the session for good.
        self._is_expired = False
        self._has_shown_notes = False

    # -- the open session ---------------------------------------------------------------------------------------------

    @property
    def current(self) -> Session | None:
        """The open session, if the agent lives."""
        return None if self._session is None or self._session.closed.is_set() else self._session

    async def ready(self) -> Session:
        """The session that the prompts go to. Raises what `link` and `AgentConnection.new` raise."""
        async with self._lock:
            return self.current or await self._open()

    async def link(self) -> AgentConnection:
        """The agent, started if need be. Raises AgentNotFound, AgentStartFailed, ProtocolUnsupported, AgentRefused."""
        return await self._retry(self._agent.ready, self._state.status)

    def use(self) -> None:
        """Note that a prompt goes to the session."""
        session = self._store.session
        if session and not session.used:
            self._store.write(replace(session, used=True))

    def failed(self, error: AgentError) -> None:
        """Note what the failure of a prompt means for its session."""
        match error:
            case AgentError(signed_out=True) | ConnectionLost():
                self._session, self._needs_restart = None, True
            case SessionExpired():
                self._session, self._is_expired = None, True
            case ResourceNotFound():
                self.drop()

    def drop(self) -> None:
        """Note that the agent no longer has it open; the next prompt resumes it if possible."""
        self._session = None

    def signed_in(self) -> bool:
        """Note that the agent accepted a sign-in; return whether a session had been refused before."""
        was_refused, self._needs_restart = self._needs_restart, False
        return was_refused

    def hears(self, session_id: str) -> bool:
        """Whether it is the session that is open, or that is being opened by its id."""
        current = self._session.id if self._session else ""
        return bool(session_id) and session_id in (current, self._opening.id if self._opening else "")

    def holds(self, session_id: str) -> bool:
        """Whether it hears the session, or would resume it after the agent was started again."""
        saved = self._store.session
        return self.hears(session_id) or (saved is not None and saved.id == session_id)

    def update(self, session_id: str, update: Update) -> None:
        """Take in an update. Agents speak of a session before they have sent its id; over TCP also of other sessions.

        What comes for a session that is being opened waits until its id is known.
        """
        is_ours = self._session is not None and session_id in ("", self._session.id)
        if self._opening and (session_id == self._opening.id or not is_ours):
            self._opening.updates.append((session_id, update))
        elif is_ours:
            self._state.update(update)

    # -- other sessions -----------------------------------------------------------------------------------------------

    async def resume(self, session_id: str) -> None:
        """Switch to another session; what was said in it comes before this returns.

        Raises UsageError where the agent offers neither load nor resume, SessionInUse, AgentRefused, AgentStartFailed,
        AuthRequired.
        """
        async with self._lock:
            link = await self.link()
            link.require("resume" if link.can("resume") and not link.can("load") else "load")
            before = self.current
            with self._locks.reserved(session_id) as lock:
                session = await self._replayed(link, session_id)
                if before is not None and before.id != session_id:
                    await self._close(before)
                self._locks.hold(lock)
                self._adopt(session, SavedSession(session_id, used=True))

    async def begin_anew(self) -> None:
        """Let the next prompt begin a new session; the open one is closed, where the agent offers that."""
        if self.current:
            await self._close(self.current)
        self.forget()

    def forget(self) -> None:
        """Let the next prompt begin a new session, also in a later kernel."""
        self._session = self._last = None
        self._on_new_conversation()
        self._locks.release()
        self._store.clear()

    async def delete(self, session_id: str) -> None:
        """Delete a session at the agent. Raises UsageError, SessionInUse, AgentRefused."""
        link = await self.link()
        with self._locks.reserved(session_id):
            await link.delete(session_id)
        saved = self._store.read()
        if saved is not None and saved.id == session_id:
            self.forget()

    @property
    def handover(self) -> Handover:
        """What a later chat needs to resume this conversation."""
        return Handover(self._agent.settings.agent, self._agent.cwd, self._store.session)

    def follow(self, before: Handover) -> None:
        """Resume what another chat would have resumed, if that was of the same agent and folder."""
        ours = self.handover
        if (ours.agent, ours.cwd) == (before.agent, before.cwd):
            self._store.session = before.session

    def leave(self) -> None:
        """The chat ends; what is saved stays."""
        self._locks.release()

    async def _close(self, session: Session) -> None:
        if self._agent.link and self._agent.link.can("close"):
            with suppress(AgentError):
                await session.close()

    # -- opening ------------------------------------------------------------------------------------------------------

    async def _open(self) -> Session:
        """An agent reads its credentials when it starts: after a refusal it is started again."""
        if self._needs_restart:
            await self._agent.end()
        saved = self._store.read()
        try:
            session = (await self._resumed(saved) if saved else None) or await self._begun()
        except (AuthRequired, ConnectionLost):
            self._needs_restart = True
            raise
        except AgentStartFailed:
            await self._agent.end()
            raise
        self._needs_restart = False
        return session

    async def _begun(self) -> Session:
        """A new session, saved and locked the moment it is known."""
        session = await self._retry(partial(self._opened, "new", ""), self._state.status)
        self._locks.release()
        with suppress(SessionInUse):  # the agent's business, if it gives one id to two sessions
            self._locks.hold(self._locks.lock(session.id))
        self._adopt(session, SavedSession(session.id))
        return session

    async def _resumed(self, saved: SavedSession) -> Session | None:
        """The session from before; None if it cannot be resumed, which a line says unless nothing was said in it."""
        try:
            return await self._resume_saved(saved)
        except _NotResumable as obstacle:
            self._store.session = None
            self._locks.release()
            if saved.used:
                self._state.notify("warning", str(obstacle))
            return None

    async def _resume_saved(self, saved: SavedSession) -> Session:
        if self._is_expired:
            raise _NotResumable(EXPIRED)
        link = await self.link()
        is_same_link = self._last is not None and self._last[1] is link
        how = next((name for name in ("resume", "load") if link.can(name)), None)
        if how is None:
            raise _NotResumable(CLOSED if is_same_link else FORGOTTEN)
        info = await self._find(link, saved.id)
        try:
            with self._locks.reserved(saved.id) as lock:
                open_saved = partial(self._opened, how, saved.id)
                session = await self._retry(open_saved, self._state.status, MAX_LOAD_ATTEMPTS)
                self._locks.hold(lock)
        except AuthRequired:
            raise
        except SessionInUse as error:
            raise _NotResumable(ELSEWHERE.format(error, saved.id)) from error
        except (AgentRefused, AgentStartFailed, AgentExited) as error:
            raise _NotResumable(LOST.format(str(error).partition("\n")[0])) from error
        self._state.notify("info", REOPENED if is_same_link else RESTARTED if self._store.session else _continues(info))
        self._state.is_resumed = True
        self._adopt(session, saved, draws=False)
        return session

    async def _find(self, link: AgentConnection, session_id: str) -> SessionInfo:
        """What the agent says of a session; an agent that does not list them is asked by trying."""
        unknown = SessionInfo(session_id)
        if not link.can("list"):
            return unknown
        try:
            for cwd in (self._agent.cwd, None):
                if found := [info for info in await link.sessions(cwd) if info.id == session_id]:
                    return found[0]
        except (AgentRefused, AgentStartFailed):
            return unknown
        raise _NotResumable(GONE)

    async def _replayed(self, link: AgentConnection, session_id: str) -> Session:
        """By load, which shows what was said; by resume if that fails or is not offered."""
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
        """What comes meanwhile is kept, until it is known what it belongs to."""
        self._locks.check(session_id)
        self._opening = _Opening(session_id)
        try:
            link = await self._agent.ready()
            cwd, servers = self._agent.cwd, self._agent.offered.servers
            if how == "new":
                return await link.new(cwd, servers)
            return await (link.load if how == "load" else link.resume)(session_id, cwd, servers)
        except BaseException as error:
            self._opening = None
            self._add_blame(error)
            if isinstance(error, ConnectionLost):
                await self._agent.end()
            raise

    def _add_blame(self, error: BaseException) -> None:
        """Agents start MCP servers with the session, and do not always say that one of them is the trouble."""
        blame = self._agent.offered.blame
        if blame and isinstance(error, AgentRefused | AgentStartFailed) and not isinstance(error, AuthRequired):
            error.hint = " ".join(filter(None, (error.hint, blame)))

    def _adopt(self, session: Session, saved: SavedSession, *, draws: bool = True) -> None:
        """Make it the current one, and take in what came early, in its order; without `draws`, not what was said."""
        early = self._opening.updates if self._opening else []
        self._session, self._opening = session, None
        if self._last and self._last[0] != session.id:
            self._on_new_conversation()
        self._last, self._is_expired = (session.id, self._agent.link), False
        if not self._has_shown_notes:
            for note in self._agent.offered.notes:
                self._state.notify("info", note)
        self._has_shown_notes = True
        self._store.write(saved)
        self._state.open_session(session.state)
        for session_id, update in early:
            if session_id in ("", session.id) and (draws or not isinstance(update, DRAWN)):
                self._state.update(update)


def _continues(info: SessionInfo) -> str:
    day = re.match(r"\d{4}-\d\d-\d\d", info.updated_at)
    of = f" of {day[0]}" if day else ""
    about = f": {visible_line(info.title)}" if info.title else "."
    return f"Continues the conversation{of}{about}"
