"""The agent's life: started when it is first needed, started again after it died, ended with the chat."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, Self

import anyio
import anyio.abc

from ..acp.agent_connection import AgentConnection, open_link
from ..acp.handlers import ClientHandlers, Service
from ..acp.locate import Launch, denying, locate
from ..acp.mcp import Offered, flagged, offer
from ..acp.transport import single_error
from ..acp.wirelog import WireLog
from ..config import Settings
from ..errors import AgentError, AgentNotFound, AgentStartFailed
from ..mcp_config import secrets
from ..redaction import register

END_LIMIT = 5.0
"""Seconds that ending an agent may take; the wire kills its process group well before."""


Serving = Callable[[], AbstractAsyncContextManager[Mapping[str, Service]]]
"""What is served to one agent, until its end, by method."""


@asynccontextmanager
async def _nothing_served() -> AsyncIterator[Mapping[str, Service]]:
    yield {}


class _Life:
    """One start of the agent, until its end."""

    def __init__(self) -> None:
        self.link: AgentConnection | None = None
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()


class Agent:
    """At most one agent at a time. `log` is what went over the wire, over all of its lives.

    `denied` is asked at each start for what the agent itself shall deny, if it can be told.
    """

    def __init__(
        self,
        settings: Settings,
        client_handlers: ClientHandlers,
        serving: Serving = _nothing_served,
        denied: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.settings, self.client_handlers, self._serving, self._denied = settings, client_handlers, serving, denied
        self.cwd = settings.folder
        self.log = WireLog()
        self._home = anyio.create_task_group()
        self._starting = anyio.Lock()
        self._life: _Life | None = None
        self.offered = Offered()
        """The MCP servers that this agent is told of."""
        self.is_copilot = False
        """Whether the agent that was started last is GitHub Copilot CLI, by its own name or by its command."""
        self._reached = False

    async def __aenter__(self) -> Self:
        await self._home.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        self._home.cancel_scope.cancel()
        return await self._home.__aexit__(*error)

    @property
    def link(self) -> AgentConnection | None:
        """The connection, if the agent lives."""
        link = self._life.link if self._life else None
        return None if link is None or link.closed.is_set() else link

    def elsewhere(self, session_id: str) -> bool:
        """No other conversation has a session of this agent: it is there for one alone."""
        return False

    async def ready(self) -> AgentConnection:
        """The connection, starting the agent if need be. Raises what `locate` and `open_link` raise."""
        async with self._starting:
            if self.link is None:
                await self.end()
                await self._start(denying(locate(self.settings.agent, os.environ), self._denied()))
        link = self._life.link if self._life else None
        assert link is not None
        return link

    async def end(self) -> None:
        """End the agent, and wait (bounded) until its processes are gone."""
        if self._life is not None and self._life.link is not None:
            self._life.scope.cancel()
            with anyio.move_on_after(END_LIMIT, shield=True):
                await self._life.over.wait()

    async def _start(self, launch: Launch) -> None:
        """An agent that listens, and that we have reached before, may only be about to come back."""
        self._life = _Life()
        try:
            await self._home.start(self._live, self._life, launch)
        except AgentNotFound as error:
            if launch.address is None or not self._reached:
                raise
            raise AgentStartFailed(str(error), error.hint, ended=True, remote=True) from error
        self._reached = True

    async def _live(self, life: _Life, launch: Launch, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            with life.scope:
                async with self._linked(launch) as life.link:
                    task_status.started()
                    await life.link.closed.wait()
        except AgentError:
            if life.link is None:
                raise
        finally:
            life.over.set()

    @asynccontextmanager
    async def _linked(self, launch: Launch) -> AsyncIterator[AgentConnection]:
        servers, timeout = self.settings.mcp_servers, self.settings.start_timeout
        register(secrets(servers))
        with single_error(), flagged(launch, servers) as launch:
            async with self._serving() as services:
                client_handlers = replace(self.client_handlers, services={**self.client_handlers.services, **services})
                member = self.settings.option_member
                async with open_link(
                    launch, self.cwd, client_handlers, start_timeout=timeout, log=self.log, option_member=member
                ) as link:
                    self.is_copilot = launch.is_copilot or link.info.is_copilot
                    self.offered = offer(servers, link.info, launch)
                    yield link
