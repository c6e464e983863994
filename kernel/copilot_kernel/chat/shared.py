"""One agent process for many conversations, each of which hears only what is said in its own session."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

from ..acp.agent_connection import AgentConnection
from ..acp.connection import WireLog
from ..acp.handlers import ClientHandlers, Service
from ..acp.jsonrpc import INVALID_PARAMS, RequestFailed, method_not_found
from ..acp.locate import deny_patterns
from ..acp.mcp import McpOffer
from ..acp.messages import ConfigUpdate, Json, PermissionOption, PermissionRequest, Update
from ..config import Settings
from ..errors import HostRefused
from ..permissions import policy
from ..permissions.rulebook import Rulebook
from .agent import Agent, Serving
from .operations import FS_METHODS, TERMINAL_METHODS, session_id


class SharedAgent:
    """`async with SharedAgent(settings) as shared`. `settings` say what to start, and where.

    `retiring`: a session did not end when it was told to, or the agent refused for want of a sign-in. The conversations
    on it may stay; the next one should begin with another agent. `on_options` is called with what sessions can be set
    to. `beside` returns the agents that keep the same sessions, this one among them or not.
    """

    def __init__(
        self,
        settings: Settings,
        on_options: Callable[[ConfigUpdate], None] = lambda update: None,
        beside: Callable[[], Iterable[SharedAgent]] = tuple,
    ) -> None:
        self.handles: list[SharedAgentHandle] = []
        self.retiring = False
        self._on_options, self._beside = on_options, beside
        methods = [
            *(FS_METHODS if settings.fs else ()),
            *(TERMINAL_METHODS if settings.terminal else ()),
            "elicitation/create",
        ]
        handlers = ClientHandlers(
            self._update,
            self._ask,
            services={method: self._service(method) for method in methods},
            listeners={"elicitation/complete": self._complete},
            answer_form=settings.answer_form,
        )
        self.agent = Agent(settings, handlers, denied=lambda: denied_tools(Rulebook.of(settings), settings.folder))

    async def __aenter__(self) -> Self:
        await self.agent.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self.agent.__aexit__(*error)

    def all_handles(self) -> Iterator[SharedAgentHandle]:
        """The conversations of all agents that keep the same sessions."""
        return (handle for shared in {self, *self._beside()} for handle in shared.handles)

    def _owners(self, session_id: str) -> list[SharedAgentHandle]:
        """Those who hear the session; what names none is for the only conversation, if there is just one."""
        owners = [handle for handle in self.handles if handle.hears(session_id)]
        return owners or (self.handles if not session_id and len(self.handles) == 1 else [])

    def _owner(self, session_id: str) -> SharedAgentHandle | None:
        """None where there are several: each has rules of its own, and the wrong ones must not decide."""
        return _only(self._owners(session_id))

    def _update(self, session_id: str, update: Update) -> None:
        """An agent speaks of a session before it has sent its id: the conversations that open one sort that out."""
        if isinstance(update, ConfigUpdate):
            self._on_options(update)
        for handle in self._owners(session_id) or (self.handles if session_id else ()):
            handle.client_handlers.on_update(session_id, update)

    def _ask(self, request: PermissionRequest) -> Coroutine[Any, Any, PermissionOption | None]:
        """A request comes during a turn, and some agents do not say in which session."""
        handle = self._owner(request.session_id or "")
        if handle is None and not request.session_id:
            handle = _only([each for each in self.handles if each.prompt_runs()])
        return handle.client_handlers.on_permission(request) if handle else _reject(request)

    def _complete(self, params: Any) -> None:
        for handle in self.handles:
            handle.client_handlers.notify("elicitation/complete", params)

    def _service(self, method: str) -> Service:
        def serve(params: Json) -> Coroutine[Any, Any, Any]:
            try:
                handle = self._owner(session_id(params))
            except HostRefused as error:
                raise RequestFailed(INVALID_PARAMS, str(error)) from error
            if handle is None:
                raise RequestFailed(INVALID_PARAMS, "sessionId must be that of a session that is open in this client")
            if method not in handle.services:
                raise method_not_found(method)
            return handle.services[method](params)

        return serve


class SharedAgentHandle:
    """An `AgentHandle` for one conversation on a shared agent.

    `hears`: whether the conversation is in a session, or about to open it. `holds`: whether it hears it, or would
    resume it after the agent was started again. `prompt_runs`: whether it runs a turn.
    """

    def __init__(
        self,
        shared: SharedAgent,
        client_handlers: ClientHandlers,
        serving: Serving,
        *,
        hears: Callable[[str], bool],
        holds: Callable[[str], bool],
        prompt_runs: Callable[[], bool],
    ) -> None:
        self.client_handlers, self.hears, self.holds, self.prompt_runs = client_handlers, hears, holds, prompt_runs
        self.services: Mapping[str, Service] = client_handlers.services
        self._shared, self._serving, self._stack = shared, serving, AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.services = {**self.client_handlers.services, **await self._stack.enter_async_context(self._serving())}
        self._shared.handles.append(self)
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        self._shared.handles.remove(self)
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
    def offered(self) -> McpOffer:
        return self._shared.agent.offered

    @property
    def is_copilot(self) -> bool:
        return self._shared.agent.is_copilot

    @property
    def link(self) -> AgentConnection | None:
        return self._shared.agent.link

    async def ready(self) -> AgentConnection:
        return await self._shared.agent.ready()

    def elsewhere(self, session_id: str) -> bool:
        return any(each.holds(session_id) for each in self._shared.all_handles() if each is not self)

    async def end(self) -> None:
        """End the agent if no other conversation uses it; else it only retires."""
        if any(handle is not self for handle in self._shared.handles):
            self._shared.retiring = True
        else:
            await self._shared.agent.end()


def denied_tools(book: Rulebook, folder: str) -> tuple[str, ...]:
    """The deny rules as patterns for an agent that can enforce them itself."""
    return deny_patterns(book.texts("deny"), folder, os.path.expanduser("~"))


def _only(handles: list[SharedAgentHandle]) -> SharedAgentHandle | None:
    return handles[0] if len(handles) == 1 else None


async def _reject(request: PermissionRequest) -> PermissionOption | None:
    """There is no user who could be asked."""
    return policy.reject(request.options)
