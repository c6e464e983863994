"""The agent processes of this server, each with many conversations; none is started before it is needed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any
from weakref import WeakSet

from ..agentd.client import BrokerTransport, local_agent
from ..agentd.hub import Hub
from ..chat import Chat, open_chat
from ..chat.agent_start import run_agent
from ..chat.retry import Retry
from ..commands.chat_runner import CLOSE_LIMIT, ChatRunner
from ..config import Settings
from ..errors import AgentError, CopilotError
from .catalogue import ModelCatalogue, ModelObject

CHAT_PLACE = "a chat of the server"
API_PLACE = "the HTTP endpoint of the server"
"""Place where a session is open, for the message to others who want it."""
MAX_STARTS = 2
"""Attempts to start an agent, for one request: a client is waiting."""
STOPPING = "the server is stopping"

_log = logging.getLogger(__name__)


class AgentPool:
    """Pool of at most `size` agents that take new conversations, and of retired ones that still have some.

    `settings` say which agent to start; one that is idle for `idle_seconds` is ended. `catalogue` learns its models.
    """

    def __init__(self, settings: Settings, size: int, idle_seconds: float, catalogue: ModelCatalogue) -> None:
        self.settings, self.catalogue = settings, catalogue
        self._size, self._idle_seconds = size, idle_seconds
        self._agents: dict[asyncio.Task[None], asyncio.Future[Hub]] = {}
        self._runners: WeakSet[ChatRunner] = WeakSet()
        self._listing, self._starting = asyncio.Lock(), asyncio.Lock()

    @property
    def hubs(self) -> list[Hub]:
        """Hubs whose agents were started and have not ended."""
        return [started.result() for started in self._agents.values() if started.done()]

    @property
    def conversations(self) -> int:
        """Conversations of all agents."""
        return sum(len(hub.broker.kernels) for hub in self.hubs)

    @property
    def open_sessions(self) -> set[str]:
        """The ids of the sessions that conversations are in."""
        return {session for hub in self.hubs for session in hub.broker.open_sessions}

    # -- conversations ----------------------------------------------------------------------------------------------

    def runner(self, settings: Settings, place: str) -> ChatRunner:
        """A new conversation under the rules of `settings`; the caller closes it. `place` names it to others."""
        runner = ChatRunner(lambda: self._chat(settings, place))
        self._runners.add(runner)
        return runner

    def _chat(self, settings: Settings, place: str) -> Chat:
        chat = open_chat(settings, retry=Retry(max_attempts=MAX_STARTS), connect=self._connect, place=place)
        chat.state.observers.append(self.catalogue.update)
        return chat

    async def open_session(self, chat: Chat) -> None:
        """Open the session of a conversation and learn the agent's models. Raises CopilotError."""
        state = await chat.options.offered("models")
        if chat.info is not None:
            hub = next((hub for hub in self.hubs if state.id in hub.broker.open_sessions), None)
            self.catalogue.learn(state, chat.info, hub)

    async def models(self) -> dict[str, ModelObject]:
        """Return the models that the agent offers; a session is opened to ask it, once for each agent. Raises
        CopilotError.
        """
        async with self._listing:
            if self.catalogue.source not in self.hubs:
                runner = self.runner(self.settings, API_PLACE)
                try:
                    await runner.do(self.open_session)
                finally:
                    await self.end_session(runner, delete=True)
        return self.catalogue.models

    async def end_session(self, runner: ChatRunner, *, delete: bool = False) -> None:
        """End a conversation. The agent may forget it, unless it keeps it on disk; `delete`: it should, if it can."""
        session = runner.chat.session if runner.chat else None
        try:
            if delete and session is not None:
                async with asyncio.timeout(CLOSE_LIMIT):
                    await runner.do(lambda chat: _delete(chat, session.id))
        except (CopilotError, TimeoutError, asyncio.CancelledError) as error:  # its work is cancelled by `close`
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            _log.debug("the agent did not end a session: %s", str(error) or type(error).__name__)
        finally:
            await runner.close()
            self._runners.discard(runner)

    # -- agents -----------------------------------------------------------------------------------------------------

    def note_failure(self, error: CopilotError) -> None:
        """Retire all agents if `error` asks for a sign-in: agents read their credentials when they start."""
        if isinstance(error, AgentError) and error.signed_out:
            for hub in self.hubs:
                hub.broker.retire()

    async def close(self) -> None:
        """End all conversations, then all agents, each concurrently and in bounded time."""
        runners, self._runners = [*self._runners], WeakSet()
        await asyncio.gather(*(runner.close() for runner in runners))
        for hub in self.hubs:
            hub.end(STOPPING)
        if self._agents:
            await asyncio.wait(self._agents, timeout=CLOSE_LIMIT)
        for task in self._agents:
            task.cancel()

    @asynccontextmanager
    async def _connect(self, settings: Settings, *of_notebooks: Any) -> AsyncIterator[BrokerTransport]:
        """Connect to the agent with the fewest conversations, or start one, as the settings of the server say."""
        async with self._starting:
            usable = [hub for hub in self.hubs if not hub.broker.retiring]
            if len(usable) < self._size and all(hub.broker.kernels for hub in usable):
                usable = [await self._start()]
        async with local_agent(min(usable, key=lambda hub: len(hub.broker.kernels)), settings) as transport:
            yield transport

    async def _start(self) -> Hub:
        """Start an agent, in a task of its own. Raises AgentError."""
        loop = asyncio.get_running_loop()
        started: asyncio.Future[Hub] = loop.create_future()
        work = run_agent(self.settings, self._idle_seconds, started.set_result)
        agent = loop.create_task(work, context=Context())
        self._agents[agent] = started
        agent.add_done_callback(self._agents.pop)
        either: set[asyncio.Future[Any]] = {agent, started}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if agent.done():
            agent.result()
        return started.result()


async def _delete(chat: Chat, session_id: str) -> None:
    """Close the session first: agents need not delete an open one."""
    await chat.new()
    if chat.agent.link is not None and chat.agent.link.can("delete"):
        await chat.delete(session_id)
