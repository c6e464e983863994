"""One agent process for many conversations, each of which hears only what is said in its own session."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Self

from ..acp.handlers import ClientHandlers, Service
from ..acp.jsonrpc import INVALID_PARAMS, RequestFailed, method_not_found
from ..acp.messages import ConfigUpdate, Json, PermissionOption, PermissionRequest, Update
from ..config import Settings
from ..errors import HostRefused
from ..permissions import policy
from .agent import Agent, RunningAgent, Serving
from .operations import FS_METHODS, TERMINAL_METHODS, session_id
from .rules import PolicyEvaluator
from .session_updates import SessionUpdates
from .state import ConversationState


class SharedAgent:
    """`async with shared.agent`: it runs inside. `settings` say what to start, and where.

    `retiring`: a session did not end when it was told to, or the agent refused for want of a sign-in. The conversations
    on it may stay; the next one should begin with another agent. `on_options` is called with what sessions can be set
    to.
    """

    def __init__(self, settings: Settings, on_options: Callable[[ConfigUpdate], None] = lambda update: None) -> None:
        self.handles: list[SharedAgentHandle] = []
        self.retiring = False
        self._on_options = on_options
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
        # It is shared already, and stays apart from those of notebooks.
        settings = replace(settings, agent_sharing="off")
        self.agent = Agent(settings, RunningAgent(), handlers, denied=PolicyEvaluator(settings).denied_tools)

    @property
    def open_sessions(self) -> set[str]:
        """The ids of the sessions that the conversations are in."""
        return {session.id for handle in self.handles if (session := handle.updates.current)}

    def _owners(self, session_id: str) -> list[SharedAgentHandle]:
        """Those in the session, else those that begin one whose id only the agent knows.

        What names no session is for the only conversation, if there is just one.
        """
        if not session_id:
            return self.handles if len(self.handles) == 1 else []
        owners = [handle for handle in self.handles if handle.updates.hears(session_id)]
        return owners or [handle for handle in self.handles if handle.updates.serves(session_id)]

    def _owner(self, session_id: str) -> SharedAgentHandle | None:
        """None where there are several: each has rules of its own, and the wrong ones must not decide."""
        return _only(self._owners(session_id))

    def _update(self, session_id: str, update: Update) -> None:
        if isinstance(update, ConfigUpdate):
            self._on_options(update)
        for handle in self._owners(session_id):
            handle.client_handlers.on_update(session_id, update)

    def _ask(self, request: PermissionRequest) -> Coroutine[Any, Any, PermissionOption | None]:
        """A request comes during a turn, and some agents do not say in which session."""
        handle = self._owner(request.session_id or "")
        if handle is None and not request.session_id:
            handle = _only([each for each in self.handles if each.state.prompt_runs])
        return handle.client_handlers.on_permission(request) if handle else _reject(request)

    def _complete(self, params: Any) -> None:
        for handle in self.handles:
            handle.client_handlers.notify("elicitation/complete", params)

    def _service(self, method: str) -> Service:
        async def serve(params: Json) -> Any:
            try:
                handle = await self._known_owner(session_id(params))
            except HostRefused as error:
                raise RequestFailed(INVALID_PARAMS, str(error)) from error
            if handle is None:
                raise RequestFailed(INVALID_PARAMS, "sessionId must be that of a session that is open in this client")
            if method not in handle.services:
                raise method_not_found(method)
            return await handle.services[method](params)

        return serve

    async def _known_owner(self, session_id: str) -> SharedAgentHandle | None:
        """Where several conversations begin a session, wait until the agent has said which is whose."""
        while (owner := self._owner(session_id)) is None and any(each.updates.hears("") for each in self.handles):
            await self.agent.session_opened.wait()
        return owner


class SharedAgentHandle:
    """One conversation on a shared agent, from the start to the end of its block."""

    def __init__(
        self,
        shared: SharedAgent,
        client_handlers: ClientHandlers,
        serving: Serving,
        updates: SessionUpdates,
        state: ConversationState,
    ) -> None:
        self.client_handlers, self.updates, self.state = client_handlers, updates, state
        self.services: Mapping[str, Service] = client_handlers.services
        self._shared, self._serving, self._stack = shared, serving, AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.services = {**self.client_handlers.services, **await self._stack.enter_async_context(self._serving())}
        self._shared.handles.append(self)
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        self._shared.handles.remove(self)
        return await self._stack.__aexit__(*error)

    async def end(self) -> None:
        """End the agent if no other conversation uses it; else it only retires."""
        if any(handle is not self for handle in self._shared.handles):
            self._shared.retiring = True
        else:
            await self._shared.agent.end()


def _only(handles: list[SharedAgentHandle]) -> SharedAgentHandle | None:
    return handles[0] if len(handles) == 1 else None


async def _reject(request: PermissionRequest) -> PermissionOption | None:
    """There is no user who could be asked."""
    return policy.reject(request.options)
