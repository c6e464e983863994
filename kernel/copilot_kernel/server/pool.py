"""The agent processes of this server, each with many conversations; none is started before it is needed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from typing import Any
from weakref import WeakSet

from ..chat import Chat, SharedAgent, open_chat
from ..chat.agent import Retry
from ..config import Settings
from ..errors import AgentError, CopilotError
from ..frontend.chat_runner import CLOSE_LIMIT, ChatRunner
from .catalogue import ModelCatalogue, ModelObject

CHAT_PLACE = "a chat of the server"
API_PLACE = "the HTTP endpoint of the server"
"""Where a session is open, for the message to others who want it."""
MAX_STARTS = 2
"""Attempts to start an agent, for one request: a client is waiting."""

_log = logging.getLogger(__name__)


class Process:
    """One agent process, which lives in a task of its own."""

    def __init__(self, shared: SharedAgent) -> None:
        self.shared = shared
        self.used = asyncio.get_running_loop().time()
        """When a conversation last began here, on the loop's clock."""
        self.entered = asyncio.Event()
        """It accepts sessions, or has ended."""
        self._leaving = asyncio.Event()
        self._life = asyncio.get_running_loop().create_task(self._live(), context=Context())

    @property
    def conversations(self) -> int:
        """How many there are."""
        return len(self.shared.handles)

    @property
    def connection(self) -> object | None:
        """The connection to the agent; None unless it runs."""
        return self.shared.agent.link

    @property
    def takes_conversations(self) -> bool:
        """New conversations may begin here."""
        return not (self.shared.retiring or self._life.done())

    async def close(self) -> None:
        """End the agent, in bounded time."""
        self._leaving.set()
        await asyncio.wait({self._life}, timeout=CLOSE_LIMIT)
        self._life.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._life

    async def _live(self) -> None:
        try:
            async with self.shared.agent:
                self.entered.set()
                await self._leaving.wait()
        finally:
            self.entered.set()


class AgentPool:
    """At most `size` agents that take new conversations, and retired ones until their conversations have ended.

    `settings` say which agent to start; `catalogue` learns its models.
    """

    def __init__(self, settings: Settings, size: int, catalogue: ModelCatalogue) -> None:
        self.settings, self.catalogue = settings, catalogue
        self.processes: list[Process] = []
        self._size = size
        self._runners: WeakSet[ChatRunner] = WeakSet()
        self._listing = asyncio.Lock()

    @property
    def running(self) -> int:
        """Agents that were started and have not ended."""
        return sum(process.connection is not None for process in self.processes)

    @property
    def conversations(self) -> int:
        """Conversations of all agents."""
        return sum(process.conversations for process in self.processes)

    @property
    def open_sessions(self) -> set[str]:
        """The ids of the sessions that conversations are in."""
        return {session for process in self.processes for session in process.shared.open_sessions}

    # -- conversations ----------------------------------------------------------------------------------------------

    async def runner(self, settings: Settings, place: str) -> ChatRunner:
        """A new conversation under the rules of `settings`; the caller closes it. `place` names it to others."""
        await self._prepare()
        runner = ChatRunner(
            lambda: open_chat(
                settings, retry=Retry(max_attempts=MAX_STARTS), shared=self._least_used().shared, place=place
            )
        )
        self._runners.add(runner)
        return runner

    async def open_session(self, chat: Chat) -> None:
        """Open the session of a conversation and learn the agent's models. Raises CopilotError."""
        try:
            state = await chat.options.offered("models")
        except AgentError as error:
            self.note_failure(error)
            raise
        if chat.info is not None:
            self.catalogue.learn(state, chat.info, chat.agent.link)

    async def models(self) -> dict[str, ModelObject]:
        """Those that the agent offers; a session is opened to ask it, once for each agent. Raises CopilotError."""
        async with self._listing:
            if not any(self.catalogue.is_from(process.connection) for process in self.processes):
                runner = await self.runner(self.settings, API_PLACE)
                try:
                    await runner.do(self.open_session)
                finally:
                    await self.end_session(runner, delete=True)
        return self.catalogue.models

    async def end_session(self, runner: ChatRunner, *, delete: bool = False) -> None:
        """End a conversation. The agent may forget it, unless it keeps it on disk; `delete`: it should, if it can."""
        session = runner.chat.session if runner.chat else None
        try:
            if session is not None:
                await _attempt(runner, lambda chat: _end(chat, session.id if delete else ""))
        finally:
            await runner.close(CLOSE_LIMIT)
            self._runners.discard(runner)

    # -- processes --------------------------------------------------------------------------------------------------

    async def sweep(self, seconds: float) -> None:
        """End the agents that were idle for so long; retired ones at once."""
        await self._reap()
        now = asyncio.get_running_loop().time()
        for process in self.processes:
            if not process.conversations and process.connection and now - process.used > seconds:
                await process.shared.agent.end()

    def note_failure(self, error: CopilotError) -> None:
        """Retire all agents if `error` asks for a sign-in: agents read their credentials when they start."""
        if isinstance(error, AgentError) and error.signed_out:
            for process in self.processes:
                process.shared.retiring = True

    async def close(self) -> None:
        """End all conversations, then all agents, each concurrently."""
        runners, self._runners = [*self._runners], WeakSet()
        await asyncio.gather(*(runner.close(CLOSE_LIMIT) for runner in runners))
        processes, self.processes = self.processes, []
        await asyncio.gather(*(process.close() for process in processes))

    async def _reap(self) -> None:
        """End retired processes whose last conversation has ended."""
        over = [process for process in self.processes if not (process.conversations or process.takes_conversations)]
        self.processes = [process for process in self.processes if process not in over]
        await asyncio.gather(*(process.close() for process in over))

    async def _prepare(self) -> None:
        """Have a process that takes a new conversation."""
        await self._reap()
        usable = [process for process in self.processes if process.takes_conversations]
        if len(usable) < self._size and all(process.conversations for process in usable):
            self.processes.append(Process(SharedAgent(self.settings, self.catalogue.update)))
        for process in self.processes:
            await process.entered.wait()

    def _least_used(self) -> Process:
        found = min(self.processes, key=lambda process: (not process.takes_conversations, process.conversations))
        found.used = asyncio.get_running_loop().time()
        return found


async def _end(chat: Chat, deleted: str) -> None:
    """Close the session, then delete that of this id: agents need not delete an open one."""
    await chat.new()
    if deleted and chat.agent.link is not None and chat.agent.link.can("delete"):
        await chat.delete(deleted)


async def _attempt(runner: ChatRunner, work: Callable[[Chat], Coroutine[Any, Any, None]]) -> None:
    """Do what the agent may refuse, in bounded time; a failure is only logged."""
    error: BaseException | None
    try:
        async with asyncio.timeout(CLOSE_LIMIT):
            (error,) = await asyncio.gather(runner.do(work), return_exceptions=True)
    except TimeoutError as late:
        error = late
    if isinstance(error, CopilotError | TimeoutError | asyncio.CancelledError):
        _log.debug("the agent did not end a session: %s", str(error) or type(error).__name__)
    elif error is not None:
        raise error
