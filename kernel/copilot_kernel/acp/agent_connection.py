"""A connection to an initialized agent: open, list and delete its sessions, sign in and out.

Listing and deleting need neither a session nor, with most agents, a sign-in.
Spec: initialization, authentication, session-setup, session-list, session-delete.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio

from .. import __version__
from ..errors import AgentStartFailed, ResourceNotFound, UsageError
from .agent_errors import START_HINT, AgentErrors, adding_sign_in
from .compose import compose_initialize
from .connection import RpcConnection, WireLog
from .handlers import ClientHandlers
from .locate import Launch
from .messages import AgentInfo, Json, SessionInfo
from .process import agent_process
from .results import parse_initialize, parse_session, parse_sessions, with_sign_in
from .session import Session
from .tcp import agent_at
from .transport import AgentTransport

MAX_PAGES = 200
"""Of a list of sessions, in case an agent never ends it."""


class AgentConnection:
    """`info` is the result of `initialize`. Each method raises AgentRefused, AuthRequired, AgentExited.

    `start_timeout` is in seconds; `option_member` is the member of `session/set_config_option` that holds the option's
    id for this agent.
    """

    def __init__(
        self, rpc: RpcConnection, errors: AgentErrors, info: AgentInfo, start_timeout: float, option_member: str
    ) -> None:
        self.info, self.option_member = info, option_member
        self.has_no_options = False
        """The agent was given time to list its options, and did not."""
        self._rpc, self._errors, self._start_timeout = rpc, errors, start_timeout

    @property
    def closed(self) -> anyio.Event:
        return self._rpc.closed

    @property
    def log(self) -> WireLog:
        return self._rpc.log

    def can(self, name: str) -> bool:
        """Whether the agent supports `list`, `load`, `resume`, `close`, `delete`, or `logout`."""
        info = self.info
        return info.load_session if name == "load" else name in (info.auth if name == "logout" else info.session)

    def require(self, name: str) -> None:
        """Raise UsageError unless `can(name)`."""
        if not self.can(name):
            raise UsageError(f"{self._errors.label} does not support this ({name})", _INSTEAD.get(name, ""))

    # -- sessions -------------------------------------------------------------------------------------------------

    async def new(self, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/new` in the folder `cwd`, with these MCP servers. Raises AgentStartFailed too."""
        state = parse_session(await self._set_up("session/new", {"cwd": cwd, "mcpServers": [*servers]}))
        if not state.id:
            raise self._errors.start_failed("opened a session without a sessionId")
        return Session(self, state)

    async def load(self, session_id: str, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/load`: the agent replays the session before this returns. Raises UsageError, AgentStartFailed."""
        return await self._reopen("load", session_id, cwd, servers)

    async def resume(self, session_id: str, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/resume`: like `load`, without the replay."""
        return await self._reopen("resume", session_id, cwd, servers)

    async def sessions(self, cwd: str | None = None) -> tuple[SessionInfo, ...]:
        """`session/list`, all pages, optionally of one folder only. Raises UsageError."""
        self.require("list")
        found: dict[str, SessionInfo] = {}
        cursors = [""]
        while len(cursors) <= MAX_PAGES:
            params = {name: value for name, value in (("cwd", cwd), ("cursor", cursors[-1])) if value}
            page, cursor = parse_sessions(await self._set_up("session/list", params))
            found |= {session.id: session for session in page}
            if not cursor or cursor in cursors:
                break
            cursors.append(cursor)
        return tuple(session for session in found.values() if _is_in(session, cwd))

    async def delete(self, session_id: str) -> None:
        """`session/delete`; an unknown session counts as deleted. Raises UsageError."""
        self.require("delete")
        with suppress(ResourceNotFound):
            await self.request("session/delete", {"sessionId": session_id})

    # -- signing in -----------------------------------------------------------------------------------------------

    async def authenticate(self, method_id: str) -> None:
        """`authenticate`: may take as long as a person needs."""
        await self.request("authenticate", {"methodId": method_id})

    async def logout(self) -> None:
        """`logout`. Raises UsageError."""
        self.require("logout")
        await self.request("logout", {})

    # -- requests -------------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Json, **more: Any) -> Any:
        """See `RpcConnection.request`; an AuthRequired comes with the ways to sign in."""
        with adding_sign_in(self.info):
            return await self._rpc.request(method, params, **more)

    def post(self, method: str, params: Json) -> None:
        """See `RpcConnection.post`."""
        self._rpc.post(method, params)

    async def _reopen(self, how: str, session_id: str, cwd: str, servers: Sequence[Json]) -> Session:
        self.require(how)
        params = {"sessionId": session_id, "cwd": cwd, "mcpServers": [*servers]}
        return Session(self, parse_session(await self._set_up(f"session/{how}", params), session_id))

    async def _set_up(self, method: str, params: Json) -> Any:
        """A request that must be answered within the start timeout, and that may crash the agent."""
        with self._errors.starting(), anyio.CancelScope() as limit:
            limit.deadline = anyio.current_time() + self._start_timeout
            return await self.request(method, params)
        raise self._errors.start_failed(f"did not answer {method} within {self._start_timeout:g} s")


_INSTEAD = {
    "close": "You can start a new session without closing this one.",
    "logout": "The agent's own program may have a command for it.",
}


def _is_in(session: SessionInfo, cwd: str | None) -> bool:
    """Not every agent filters; some give the folder with links resolved, or not at all."""
    return not (cwd and session.cwd) or os.path.realpath(session.cwd) == os.path.realpath(cwd)


@asynccontextmanager
async def connect_agent(
    launch: Launch,
    cwd: str,
    client_handlers: ClientHandlers,
    *,
    start_timeout: float,
    log: WireLog | None = None,
    option_member: str = "configId",
) -> AsyncIterator[AgentConnection]:
    """Start the agent or connect to it, and `initialize`, within `start_timeout` seconds; end it at the exit.

    `cwd` is an absolute path. Raises AgentNotFound, AgentStartFailed, ProtocolUnsupported, AgentRefused.
    """
    deadline = anyio.current_time() + start_timeout
    async with _transport(launch, cwd, start_timeout) as transport:
        errors = AgentErrors(launch.label, transport)
        async with RpcConnection(
            transport,
            on_notification=client_handlers.notify,
            on_request=client_handlers.serve,
            on_diagnostic=client_handlers.diagnose,
            exited=errors.exited,
            log=log,
        ) as rpc:
            with errors.starting(), anyio.CancelScope(deadline=deadline) as limit:
                offers = {*client_handlers.offers, "auth"} if launch.argv else client_handlers.offers
                answer = await rpc.request("initialize", compose_initialize(__version__, offers))
                info = with_sign_in(parse_initialize(answer), launch.argv, is_copilot=launch.is_copilot)
            if limit.cancelled_caught:
                raise errors.start_failed(f"was not ready within {start_timeout:g} s")
            if info.protocol_version != 1:
                raise errors.unsupported(info)
            yield AgentConnection(rpc, errors, info, start_timeout, option_member)


@asynccontextmanager
async def _transport(launch: Launch, cwd: str, seconds: float) -> AsyncIterator[AgentTransport]:
    """The limit applies to entering only: a TCP connection may take its time."""
    address = launch.address
    opening: AbstractAsyncContextManager[AgentTransport]
    opening = agent_process(launch.argv, cwd) if address is None else agent_at(*address)
    with anyio.CancelScope(deadline=anyio.current_time() + seconds) as limit:
        async with opening as transport:
            limit.deadline = float("inf")
            yield transport
    if limit.cancelled_caught:
        raise AgentStartFailed(f"{launch.label} did not answer within {seconds:g} s", START_HINT)
