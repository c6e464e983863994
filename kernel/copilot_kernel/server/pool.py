"""The agent processes of this server, each with many conversations; none is started before it is needed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from typing import Any
from weakref import WeakSet

from ..acp.messages import ConfigUpdate
from ..chat import Chat, SharedAgent
from ..chat.retry import Retry
from ..config import Settings
from ..errors import CopilotError
from ..frontend.chat_runner import CLOSE_LIMIT, ChatRunner

IN_CHAT = "a chat of the server"
AT_ENDPOINT = "the HTTP endpoint of the server"
"""Where a conversation of this server is open."""
ATTEMPTS = 2
"""To start an agent, for one request: somebody waits for the answer."""

_log = logging.getLogger(__name__)


class Process:
    """One agent process, which lives in a task of its own."""

    def __init__(self, shared: SharedAgent) -> None:
        self.shared = shared
        self.used = asyncio.get_running_loop().time()
        """When a conversation last began here, on the loop's clock."""
        self._leaving, self._entered = asyncio.Event(), asyncio.Event()
        self._life = asyncio.get_running_loop().create_task(self._live(), context=Context())

    @property
    def seats(self) -> int:
        """Conversations."""
        return len(self.shared.seats)

    @property
    def link(self) -> object | None:
        """The connection, if the agent lives."""
        return self.shared.agent.link

    @property
    def lives(self) -> bool:
        """The agent was started, and has not ended."""
        return self.link is not None

    @property
    def fresh(self) -> bool:
        """New conversations may begin here."""
        return not (self.shared.worn or self._life.done())

    async def entered(self) -> None:
        """Until conversations may sit down."""
        await self._entered.wait()

    async def close(self) -> None:
        """End the agent, within a limit."""
        self._leaving.set()
        await asyncio.wait({self._life}, timeout=CLOSE_LIMIT)
        self._life.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._life

    async def _live(self) -> None:
        try:
            async with self.shared:
                self._entered.set()
                await self._leaving.wait()
        finally:
            self._entered.set()


class Pool:
    """At most `size` agents that take new conversations, and worn ones until their conversations have ended."""

    def __init__(self, settings: Settings, size: int, on_options: Callable[[ConfigUpdate], None]) -> None:
        self.settings = settings
        self._size, self._on_options = size, on_options
        self.processes: list[Process] = []
        self._homes: WeakSet[ChatRunner] = WeakSet()

    @property
    def link(self) -> object | None:
        """To any agent that lives."""
        return next((process.link for process in self.processes if process.link), None)

    async def home(self, settings: Settings, place: str) -> ChatRunner:
        """Where a new conversation lives, whose rules are those of `settings`; whoever asked for it closes it.

        `place` names it to others who want its session.
        """
        await self._ready()
        home = ChatRunner(lambda: Chat(settings, retry=Retry(most=ATTEMPTS), shared=self._pick().shared, place=place))
        self._homes.add(home)
        return home

    async def leave(self, home: ChatRunner) -> None:
        """A conversation is over: the agent may forget it."""
        try:
            await _end_session(home)
        finally:
            await self._close(home)

    async def forget(self, home: ChatRunner) -> None:
        """The same for one that nobody can go on with: it is deleted, where the agent offers that (session-delete)."""
        try:
            session = home.chat.session if home.chat else None
            if session is not None:
                await _attempt(home, lambda chat: _delete(chat, session.id))
            await _end_session(home)
        finally:
            await self._close(home)

    async def _close(self, home: ChatRunner) -> None:
        await home.close(CLOSE_LIMIT)
        self._homes.discard(home)

    async def sweep(self, seconds: float) -> None:
        """End the agents that nobody has talked to for so long; worn ones at once."""
        await self._bury()
        now = asyncio.get_running_loop().time()
        for process in self.processes:
            if not process.seats and process.lives and now - process.used > seconds:
                await process.shared.agent.end()

    def wear(self) -> None:
        """Agents read their credentials when they start: after a sign-in, others are to be asked."""
        for process in self.processes:
            process.shared.worn = True

    async def close(self) -> None:
        """End all conversations, then all agents, each at the same time."""
        homes, self._homes = [*self._homes], WeakSet()
        await asyncio.gather(*(home.close(CLOSE_LIMIT) for home in homes))
        closing, self.processes = self.processes, []
        await asyncio.gather(*(process.close() for process in closing))

    async def _bury(self) -> None:
        """Worn ones, when their last conversation is over."""
        over = [process for process in self.processes if not (process.seats or process.fresh)]
        self.processes = [process for process in self.processes if process not in over]
        await asyncio.gather(*(process.close() for process in over))

    async def _ready(self) -> None:
        await self._bury()
        fresh = [process for process in self.processes if process.fresh]
        if len(fresh) < self._size and all(process.seats for process in fresh):
            self.processes.append(Process(SharedAgent(self.settings, self._on_options, self._shared)))
        for process in self.processes:
            await process.entered()

    def _shared(self) -> list[SharedAgent]:
        return [process.shared for process in self.processes]

    def _pick(self) -> Process:
        """The one with the fewest conversations."""
        found = min(self.processes, key=lambda process: (not process.fresh, process.seats))
        found.used = asyncio.get_running_loop().time()
        return found


async def _delete(chat: Chat, session_id: str) -> None:
    """Closed first: agents need not delete what is open."""
    await chat.new()
    if chat.agent.link is not None and chat.agent.link.can("delete"):
        await chat.delete(session_id)


async def _end_session(home: ChatRunner) -> None:
    if home.chat is not None and home.chat.session is not None:
        await _attempt(home, lambda chat: chat.new())


async def _attempt(home: ChatRunner, work: Callable[[Chat], Coroutine[Any, Any, None]]) -> None:
    """What an agent should do for us, and need not: within a limit, and without a word to the user."""
    doing = asyncio.create_task(home.do(work))
    try:
        await asyncio.wait({doing}, timeout=CLOSE_LIMIT)
    finally:
        in_time = doing.done()
        doing.cancel()
    if not in_time:
        _log.debug("the agent does not end a session within %s s", CLOSE_LIMIT)
    elif doing.cancelled():
        _log.debug("the conversation has ended before its session")
    elif isinstance(error := doing.exception(), CopilotError):
        _log.debug("the agent does not end a session: %s", error)
    else:
        doing.result()
