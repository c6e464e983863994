"""One agent process for many conversations: each has a seat, and hears only what is said in its own session."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

from ..acp.agent_connection import AgentConnection
from ..acp.handlers import ClientHandlers, Service
from ..acp.jsonrpc import INVALID_PARAMS, RequestFailed, method_not_found
from ..acp.locate import deny_patterns
from ..acp.mcp import Offered
from ..acp.messages import ConfigUpdate, Json, Option, PermissionRequest, Update
from ..acp.wirelog import WireLog
from ..config import Settings
from ..errors import HostRefused
from ..permissions import policy
from ..permissions.rulebook import Rulebook
from .agent import Agent, Serving
from .params import session_id
from .services import COMMANDS, FILES

Hears = Callable[[str], bool]
"""Whether the conversation is in the session of this id, or about to open it."""


class SharedAgent:
    """`async with SharedAgent(settings) as shared`. `settings` say what to start, and where.

    `worn`: a session did not end when it was told to, or the agent refused for want of a sign-in. Those who sit there
    may stay; the next conversation is better begun with another one. `on_options` is told what sessions can be set to.
    `beside` are the agents that keep the same sessions, this one among them or not.
    """

    def __init__(
        self,
        settings: Settings,
        on_options: Callable[[ConfigUpdate], None] = lambda update: None,
        beside: Callable[[], Iterable[SharedAgent]] = tuple,
    ) -> None:
        self.seats: list[AgentHandle] = []
        self.worn = False
        self._on_options, self._beside = on_options, beside
        names = (*(FILES if settings.fs else ()), *(COMMANDS if settings.terminal else ()), "elicitation/create")
        client_handlers = self._doors(names, settings.answer_form)
        self.agent = Agent(settings, client_handlers, denied=self._denied)

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self.agent.__aexit__(*error)

    def seat(
        self, client_handlers: ClientHandlers, serving: Serving, hears: Hears, holds: Hears, runs: Callable[[], bool]
    ) -> AgentHandle:
        """Like an agent of its own, for one conversation; `holds`: it hears the session, or would go on with it;
        `runs`: whether it runs a turn.
        """
        return AgentHandle(self, client_handlers, serving, hears, holds, runs)

    def everyone(self) -> Iterator[AgentHandle]:
        """The conversations of all agents that keep the same sessions."""
        return (seat for shared in {self, *self._beside()} for seat in shared.seats)

    def _denied(self) -> tuple[str, ...]:
        settings = self.agent.settings
        return deny_patterns(Rulebook.of(settings).texts("deny"), settings.folder, os.path.expanduser("~"))

    # -- what comes from the agent --------------------------------------------------------------------------------

    def _doors(self, names: tuple[str, ...], answer_form: str) -> ClientHandlers:
        services = {name: self._service(name) for name in names}
        heard = {"elicitation/complete": self._complete}
        return ClientHandlers(self._update, self._permit, services, heard, answer_form)

    def _owners(self, session_id: str) -> list[AgentHandle]:
        """An agent speaks of a session before it has told its id; whoever opens one sorts that out.

        What names no session is for the only conversation; with several, it could be anybody's, and is nobody's.
        """
        owners = [seat for seat in self.seats if seat.hears(session_id)]
        return owners or (self.seats if session_id or len(self.seats) == 1 else [])

    def _owner(self, session_id: str) -> AgentHandle | None:
        """Nobody where there are several: each has rules of its own, and the wrong ones must not decide."""
        owners = [seat for seat in self.seats if seat.hears(session_id)] or ([] if session_id else self.seats)
        return owners[0] if len(owners) == 1 else None

    def _running(self) -> AgentHandle | None:
        """The only conversation that runs a turn; with several, the wrong rules could decide."""
        running = [seat for seat in self.seats if seat.runs()]
        return running[0] if len(running) == 1 else None

    def _addressee(self, params: Json) -> AgentHandle:
        """Raises RequestFailed."""
        try:
            seat = self._owner(session_id(params))
        except HostRefused as error:
            raise RequestFailed(INVALID_PARAMS, str(error)) from error
        if seat is None:
            raise RequestFailed(INVALID_PARAMS, "sessionId must be that of a session that is open in this client")
        return seat

    def _update(self, session_id: str, update: Update) -> None:
        if isinstance(update, ConfigUpdate):
            self._on_options(update)
        for seat in self._owners(session_id):
            seat.client_handlers.on_update(session_id, update)

    def _permit(self, request: PermissionRequest) -> Coroutine[Any, Any, Option | None]:
        """A question comes during a turn, and some agents do not say in which session."""
        seat = self._owner(request.session_id or "") or (None if request.session_id else self._running())
        return seat.client_handlers.on_permission(request) if seat else _reject(request)

    def _complete(self, params: Any) -> None:
        for seat in self.seats:
            for hear in seat.client_handlers.heard.values():
                hear(params)

    def _service(self, name: str) -> Service:
        def serve(params: Json) -> Coroutine[Any, Any, Any]:
            seat = self._addressee(params)
            if name not in seat.services:
                raise method_not_found(name)
            return seat.services[name](params)

        return serve


class AgentHandle:
    """What a conversation knows of its agent; the same as `Agent`, whose process it shares."""

    def __init__(
        self,
        shared: SharedAgent,
        client_handlers: ClientHandlers,
        serving: Serving,
        hears: Hears,
        holds: Hears,
        runs: Callable[[], bool],
    ) -> None:
        self.client_handlers, self.hears, self.holds, self.runs = client_handlers, hears, holds, runs
        self.services: Mapping[str, Service] = client_handlers.services
        self._shared, self._serving, self._stack = shared, serving, AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.services = {**self.client_handlers.services, **await self._stack.enter_async_context(self._serving())}
        self._shared.seats.append(self)
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        self._shared.seats.remove(self)
        return await self._stack.__aexit__(*error)

    @property
    def settings(self) -> Settings:
        return self._shared.agent.settings

    @property
    def cwd(self) -> str:
        return self._shared.agent.cwd

    @property
    def log(self) -> WireLog:
        """That of all conversations."""
        return self._shared.agent.log

    @property
    def offered(self) -> Offered:
        return self._shared.agent.offered

    @property
    def is_copilot(self) -> bool:
        """See `Agent.is_copilot`."""
        return self._shared.agent.is_copilot

    @property
    def link(self) -> AgentConnection | None:
        """See `Agent.link`."""
        return self._shared.agent.link

    async def ready(self) -> AgentConnection:
        """See `Agent.ready`."""
        return await self._shared.agent.ready()

    def elsewhere(self, session_id: str) -> bool:
        """Another conversation has this session."""
        return any(seat.holds(session_id) for seat in self._shared.everyone() if seat is not self)

    async def end(self) -> None:
        """End the agent if nobody else sits there; else it is only worn."""
        if list(self._others()):
            self._shared.worn = True
        else:
            await self._shared.agent.end()

    def _others(self) -> Iterator[AgentHandle]:
        return (seat for seat in self._shared.seats if seat is not self)


async def _reject(request: PermissionRequest) -> Option | None:
    """Nobody who could be asked."""
    return policy.reject(request.options)
