"""Which session the prompts go to: the open one, else the one from before, else a new one.

After the agent or the kernel was started again, the conversation goes on where it was, if the agent still has it; what
was said then is not drawn again. When it cannot go on, a line says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
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
    Unknown,
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
from .agent import Agent
from .record import ConversationState
from .retry import Retry
from .saved import Handover, Lock, Past, SessionStore, holder, lock
from .shared import AgentHandle

SAID = Chunk | ToolCallUpdate | PlanUpdate | NoticeUpdate | CompactionUpdate | CompactionChunk | Unknown
"""What a replay would draw again; the other updates say how the session is now."""

LOAD_ATTEMPTS = 3

FORGOTTEN = "The agent was started again; it does not remember the conversation before this point."
RESTARTED = "The agent was started again and goes on with the conversation."
REOPENED = "The agent's session was opened again, and the conversation goes on."
CLOSED = "The agent's session has ended; a new one begins, without the conversation before this point."
EXPIRED = "The agent's session has expired; a new one begins, without the conversation before this point."
GONE = "The agent no longer has the conversation before this point; a new one begins."
LOST = "The conversation before this point cannot be gone on with, so a new one begins: {}"
IN_USE = "This conversation is already open in {}."
ELSEWHERE = "{} A new conversation starts here. When it is closed there, `%resume {}` returns to it."
WHERE_ELSE = "Go on there, or close it there and try again; or begin a new one here."
UNSHOWN = "The conversation goes on; the agent cannot show what was said before."


class Sessions:
    """At most one session is open, and locked in `folder`. Without a notebook, no session is remembered.

    `place` is where the conversation is open, for others who want it: "notebook /home/me/book.ipynb", "a chat".
    """

    def __init__(
        self,
        agent: Agent | AgentHandle,
        record: ConversationState,
        retry: Retry,
        folder: Path,
        notebook: str,
        place: str,
    ) -> None:
        self._agent, self._record, self._retry = agent, record, retry
        self._folder, self._place = folder, place or (f"notebook {notebook}" if notebook else "another program")
        key = (notebook, agent.settings.agent or "copilot", agent.cwd)
        self._saved = SessionStore(folder, key) if notebook else None
        self._session: Session | None = None
        self._past: Past | None = None
        self._lock: Lock | None = None
        self._opening = anyio.Lock()
        self._awaited: str | None = None
        """The id of the session that is being opened; empty for a new one, which has none yet."""
        self._early: list[tuple[str, Update]] = []
        self._told = False
        self._refused = False
        """It wanted a sign-in, or lost a connection: it is started again before the next attempt, unless signed in."""
        self._expired = False
        """The agent has ended the session for good."""
        self._link: AgentConnection | None = None
        """Through which the last session was opened."""
        self.on_another: Callable[[], None] = lambda: None
        """The conversation is another one than the one before."""
        self._last = ""

    @property
    def current(self) -> Session | None:
        """The open session, if the agent lives."""
        return None if self._session is None or self._session.closed.is_set() else self._session

    async def ready(self) -> Session:
        """The session that the prompts go to. Raises what `link` and `AgentConnection.new` raise."""
        async with self._opening:
            return self.current or await self._open()

    async def link(self) -> AgentConnection:
        """The agent, started if need be. Raises AgentNotFound, AgentStartFailed, ProtocolUnsupported, AgentRefused."""
        return await self._retry(self._agent.ready, self._record.status)

    async def resume(self, session_id: str) -> None:
        """Go on with another session; what was said in it comes before this returns.

        Raises UsageError where the agent offers neither load nor resume, SessionInUse, AgentRefused, AgentStartFailed,
        AuthRequired.
        """
        async with self._opening:
            link = await self.link()
            link.require("resume" if link.can("resume") and not link.can("load") else "load")
            before = self.current
            with self.reserved(session_id) as lock:
                session = await self._shown_again(link, session_id)
                if before is not None and before.id != session_id:
                    await self.close(before)
                self._keep(lock)
                self._adopt(session, Past(session_id, used=True))

    async def begin_anew(self) -> None:
        """The next prompt begins a new session; the open one is closed, where the agent offers that."""
        if self.current:
            await self.close(self.current)
        self.forget()

    async def close(self, session: Session) -> None:
        """Tell the agent that it is not used any more, if it wants to know."""
        if self._agent.link and self._agent.link.can("close"):
            with suppress(AgentError):
                await session.close()

    def failed(self, error: AgentError) -> None:
        """A prompt failed: what that says of its session."""
        match error:
            case AgentError(signed_out=True) | ConnectionLost():
                self._session, self._refused = None, True
            case SessionExpired():
                self._session, self._expired = None, True
            case ResourceNotFound():
                self.drop()

    def drop(self) -> None:
        """The agent has let go of it; the next prompt goes on with it if that can be done."""
        self._session = None

    def forget(self) -> None:
        """Nothing is gone on with."""
        self._session = self._past = None
        self._last = ""
        self.on_another()
        self._release()
        if self._saved:
            self._saved.forget()

    @property
    def left(self) -> Handover:
        """What `follow` needs."""
        return Handover(self._agent.settings.agent, self._agent.cwd, self._past)

    def follow(self, before: Handover) -> None:
        """Go on with what another would have gone on with, if that was of the same agent and folder."""
        ours = self.left
        if (ours.agent, ours.cwd) == (before.agent, before.cwd):
            self._past = before.past

    def would_go_on_with(self, session_id: str) -> bool:
        """It is where the next prompt would go."""
        past = self._before()
        return past is not None and past.id == session_id

    def leave(self) -> None:
        """The chat ends; what is saved stays."""
        self._release()

    def use(self) -> None:
        """A prompt goes to the session."""
        if self._past and not self._past.used:
            self._remember(replace(self._past, used=True))

    def signed_in(self) -> bool:
        """The agent said so; True if a session had been refused before."""
        refused, self._refused = self._refused, False
        return refused

    def hears(self, session_id: str) -> bool:
        """It is the session that is open, or that is being opened by its id."""
        current = self._session.id if self._session else ""
        return bool(session_id) and session_id in (current, self._awaited)

    def holds(self, session_id: str) -> bool:
        """It hears the session, or would go on with it after the agent was started again."""
        return self.hears(session_id) or (self._past is not None and self._past.id == session_id)

    @contextmanager
    def reserved(self, session_id: str) -> Iterator[Lock]:
        """Keep every other conversation out of a session, in all processes, until the block ends.

        Raises SessionInUse: two conversations in one session would hear and answer each other's questions.
        """
        ours = self._lock
        lock = ours if ours is not None and ours.session_id == session_id else self._locked(session_id)
        try:
            yield lock
        finally:
            if lock is not self._lock:
                lock.release()

    def update(self, session_id: str, update: Update) -> None:
        """From the wire. Agents speak of a session before they have told its id; over TCP also of somebody else's."""
        current = self._session.id if self._session else None
        is_ours = current is not None and session_id in ("", current)
        if self._awaited is not None and (session_id == self._awaited or not is_ours):
            self._early.append((session_id, update))
        elif is_ours:
            self._record.update(update)

    # -- opening --------------------------------------------------------------------------------------------------

    async def _open(self) -> Session:
        """An agent reads its credentials when it starts: after a refusal it is started again."""
        if self._refused:
            await self._agent.end()
        past = self._before()
        if past and self._expired:
            self._give_up(past, EXPIRED)
            past = None
        try:
            session = (await self._gone_on(past) if past else None) or await self._begun()
        except (AuthRequired, ConnectionLost):
            self._refused = True
            raise
        except AgentStartFailed:
            await self._agent.end()
            raise
        self._refused = False
        return session

    async def _begun(self) -> Session:
        """A new session, saved and locked the moment it is known."""
        session = await self._retry(partial(self._opened, "new", ""), self._record.status)
        self._release()
        with suppress(SessionInUse):  # the agent's business, if it gives one id to two sessions
            self._lock = self._locked(session.id)
        self._adopt(session, Past(session.id))
        return session

    async def _gone_on(self, past: Past) -> Session | None:
        """The session from before; None after the line that says why not."""
        link = await self.link()
        again, forgotten = self._lines(link)
        how = next((name for name in ("resume", "load") if link.can(name)), "")
        info = await self._find(link, past.id) if how else None
        obstacle = forgotten if not how else GONE if info is None else ""
        if info and not obstacle:
            try:
                with self.reserved(past.id) as lock:
                    session = await self._retry(partial(self._opened, how, past.id), self._record.status, LOAD_ATTEMPTS)
                    self._keep(lock)
            except AuthRequired:
                raise
            except SessionInUse as error:
                obstacle = ELSEWHERE.format(error, past.id)
            except (AgentRefused, AgentStartFailed, AgentExited) as error:
                obstacle = LOST.format(str(error).partition("\n")[0])
            else:
                self._record.tell("info", again or _continues(info))
                self._record.resumed = True
                self._adopt(session, past, quietly=True)
                return session
        self._give_up(past, obstacle)
        return None

    def _lines(self, link: AgentConnection) -> tuple[str, str]:
        """What is true when the conversation goes on, if not that it is an earlier kernel's; and when it cannot."""
        if link is self._link:
            return REOPENED, CLOSED
        return RESTARTED if self._past else "", FORGOTTEN

    def _give_up(self, past: Past, why: str) -> None:
        """Nobody misses a session in which nothing was said."""
        self._past = None
        self._release()
        if past.used:
            self._record.tell("warning", why)

    async def _find(self, link: AgentConnection, session_id: str) -> SessionInfo | None:
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
        return None

    async def _shown_again(self, link: AgentConnection, session_id: str) -> Session:
        """By load, which shows what was said; by resume if that fails or is not there."""
        if link.can("load"):
            try:
                return await self._opened("load", session_id)
            except AgentRefused as error:
                if isinstance(error, AuthRequired) or not link.can("resume"):
                    raise
        session = await self._opened("resume", session_id)
        self._record.tell("warning", UNSHOWN)
        return session

    async def _opened(self, how: str, session_id: str) -> Session:
        """What comes meanwhile is kept, until it is known what it belongs to."""
        self._refuse_elsewhere(session_id)
        self._awaited, self._early = session_id, []
        try:
            link = await self._agent.ready()
            cwd, servers = self._agent.cwd, self._agent.offered.servers
            if how == "new":
                return await link.new(cwd, servers)
            return await (link.load if how == "load" else link.resume)(session_id, cwd, servers)
        except BaseException as error:
            self._awaited = None
            self._blame(error)
            if isinstance(error, ConnectionLost):
                await self._agent.end()
            raise

    def _blame(self, error: BaseException) -> None:
        """Agents start MCP servers with the session, and do not always say that one of them is the trouble."""
        blame = self._agent.offered.blame
        if blame and isinstance(error, AgentRefused | AgentStartFailed) and not isinstance(error, AuthRequired):
            error.hint = " ".join(filter(None, (error.hint, blame)))

    def _adopt(self, session: Session, past: Past, quietly: bool = False) -> None:
        """It is the current one; what came early is told, in its order."""
        self._session, self._awaited = session, None
        self._link, self._expired = self._agent.link, False
        if self._last not in ("", session.id):
            self.on_another()
        self._last = session.id
        self._tell_servers()
        self._remember(past)
        self._record.opened(session.state)
        early, self._early = self._early, []
        for session_id, update in early:
            if session_id in ("", session.id) and not (quietly and isinstance(update, SAID)):
                self._record.update(update)

    def _tell_servers(self) -> None:
        """Once: what became of the MCP servers of the settings."""
        if not self._told:
            for note in self._agent.offered.notes:
                self._record.tell("info", note)
        self._told = True

    # -- memory ---------------------------------------------------------------------------------------------------

    def _before(self) -> Past | None:
        return self._past or (self._saved.read() if self._saved else None)

    def _remember(self, past: Past) -> None:
        self._past = past
        if self._saved:
            self._saved.write(past)

    def _locked(self, session_id: str) -> Lock:
        """Raises SessionInUse."""
        self._refuse_elsewhere(session_id)
        found = lock(self._folder, session_id, self._place)
        if found is None:
            raise self._in_use(session_id)
        return found

    def _refuse_elsewhere(self, session_id: str) -> None:
        """A conversation of this process that shares the agent may be about to open it. Raises SessionInUse."""
        if self._agent.elsewhere(session_id):
            raise self._in_use(session_id)

    def _in_use(self, session_id: str) -> SessionInUse:
        return SessionInUse(IN_USE.format(holder(self._folder, session_id)), WHERE_ELSE)

    def _keep(self, lock: Lock) -> None:
        """The lock of the open session, from now on."""
        if lock is not self._lock:
            self._release()
            self._lock = lock

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _continues(info: SessionInfo) -> str:
    day = re.match(r"\d{4}-\d\d-\d\d", info.updated_at)
    of = f" of {day[0]}" if day else ""
    about = f": {visible_line(info.title)}" if info.title else "."
    return f"Continues the conversation{of}{about}"
