"""A connection to an agent that has introduced itself: its sessions are listed, opened and deleted here.

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
from .agent_errors import HINT, AgentErrors, AgentTransport, signing_in
from .compose import compose_initialize
from .connection import Connection
from .handlers import ClientHandlers
from .handshake import with_commands, with_sign_in
from .locate import Launch
from .messages import AgentInfo, Json, SessionInfo
from .parse import parse_initialize, parse_session, parse_sessions
from .process import agent_process
from .session import Session
from .tcp import agent_at
from .wirelog import WireLog

MAX_PAGES = 200
"""Of a list of sessions; an agent that never ends is not followed for ever."""


class AgentConnection:
    """`info` is what the agent told at the start. Each method raises AgentRefused, AuthRequired, AgentExited."""

    def __init__(
        self, connection: Connection, trouble: AgentErrors, info: AgentInfo, start_timeout: float, option_member: str
    ) -> None:
        self.info = info
        self.option_member = option_member
        """The member of `session/set_config_option` that this agent reads the option's id from."""
        self.tells_no_options = False
        """It was given time to tell what can be set, and told nothing."""
        self._connection, self._trouble, self._start_timeout = connection, trouble, start_timeout

    @property
    def closed(self) -> anyio.Event:
        return self._connection.closed

    @property
    def log(self) -> WireLog:
        return self._connection.log

    def last_words(self) -> str:
        return self._trouble.last_words()

    def can(self, name: str) -> bool:
        """Whether the agent advertises `list`, `load`, `resume`, `close`, `delete`, or `logout`."""
        info = self.info
        return info.load_session if name == "load" else name in (info.auth if name == "logout" else info.session)

    def require(self, name: str) -> None:
        """Raises UsageError if the agent does not advertise it."""
        if not self.can(name):
            raise UsageError(f"{self._trouble.label} does not offer this ({name})", _INSTEAD.get(name, ""))

    # -- sessions -------------------------------------------------------------------------------------------------

    async def new(self, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/new` in the folder `cwd`; `servers` are those of MCP. Raises AgentStartFailed too."""
        state = parse_session(await self._set_up("session/new", {"cwd": cwd, "mcpServers": [*servers]}))
        if not state.id:
            raise self._trouble.start_failed("opened a session without a sessionId")
        return Session(self, state)

    async def load(self, session_id: str, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/load`: what was said comes as updates before this returns. Raises UsageError, AgentStartFailed."""
        return await self._reopen("load", session_id, cwd, servers)

    async def resume(self, session_id: str, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/resume`: like `load`, but nothing is said again."""
        return await self._reopen("resume", session_id, cwd, servers)

    async def sessions(self, cwd: str | None = None) -> tuple[SessionInfo, ...]:
        """`session/list`, all pages; with `cwd` only those of that folder. Raises UsageError."""
        self.require("list")
        found: dict[str, SessionInfo] = {}
        cursors = [""]
        while len(cursors) <= MAX_PAGES:
            page, cursor = await self._page(cwd, cursors[-1])
            found |= {session.id: session for session in page}
            if not cursor or cursor in cursors:
                break
            cursors.append(cursor)
        return tuple(session for session in found.values() if _is_in(session, cwd))

    async def delete(self, session_id: str) -> None:
        """`session/delete`; one that is unknown is deleted already. Raises UsageError."""
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

    # -- what sessions need ---------------------------------------------------------------------------------------

    async def request(self, method: str, params: Json, **more: Any) -> Any:
        """See `Connection.request`; an error that means a sign-in becomes AuthRequired."""
        with signing_in(self.info):
            return await self._connection.request(method, params, **more)

    def post(self, method: str, params: Json) -> None:
        """See `Connection.post`."""
        self._connection.post(method, params)

    async def _reopen(self, how: str, session_id: str, cwd: str, servers: Sequence[Json]) -> Session:
        self.require(how)
        params = {"sessionId": session_id, "cwd": cwd, "mcpServers": [*servers]}
        return Session(self, parse_session(await self._set_up(f"session/{how}", params), session_id))

    async def _page(self, cwd: str | None, cursor: str) -> tuple[tuple[SessionInfo, ...], str]:
        params = {name: value for name, value in (("cwd", cwd), ("cursor", cursor)) if value}
        return parse_sessions(await self._set_up("session/list", params))

    async def _set_up(self, method: str, params: Json) -> Any:
        """A request that an agent in order answers in time, and that one may die of."""
        with self._trouble.starting(), anyio.CancelScope() as limit:
            limit.deadline = anyio.current_time() + self._start_timeout
            return await self.request(method, params)
        raise self._trouble.start_failed(f"did not answer {method} within {self._start_timeout:g} s")


_INSTEAD = {
    "close": "A new session can be begun without closing this one.",
    "logout": "Its own program may have a command for that.",
}


def _is_in(session: SessionInfo, cwd: str | None) -> bool:
    """Not every agent filters, and some tell the folder without its links, or not at all."""
    return not (cwd and session.cwd) or os.path.realpath(session.cwd) == os.path.realpath(cwd)


@asynccontextmanager
async def open_link(
    launch: Launch,
    cwd: str,
    client_handlers: ClientHandlers,
    *,
    start_timeout: float,
    log: WireLog | None = None,
    option_member: str = "configId",
) -> AsyncIterator[AgentConnection]:
    """Start the agent or connect to it, and `initialize`, within `start_timeout` seconds; at the exit it is ended.

    `cwd` is an absolute path. Raises AgentNotFound, AgentStartFailed, ProtocolUnsupported, AgentRefused.
    """
    deadline = anyio.current_time() + start_timeout
    async with _opened(launch, cwd, start_timeout) as transport:
        trouble = AgentErrors(launch.label, transport)
        async with Connection(
            transport,
            on_notification=client_handlers.notice,
            on_request=client_handlers.serve,
            on_diagnostic=client_handlers.diagnose,
            exited=trouble.exited,
            log=log,
        ) as connection:
            with trouble.starting(), anyio.CancelScope(deadline=deadline) as limit:
                offers = {*client_handlers.offers, "auth"} if launch.argv else client_handlers.offers
                answer = await connection.request("initialize", compose_initialize(__version__, offers))
                info = with_sign_in(parse_initialize(answer), is_copilot=launch.is_copilot)
                info = with_commands(info, launch.argv)
            if limit.cancelled_caught:
                raise trouble.start_failed(f"was not ready within {start_timeout:g} s")
            if info.protocol_version != 1:
                raise trouble.unsupported(info)
            yield AgentConnection(connection, trouble, info, start_timeout, option_member)


@asynccontextmanager
async def _opened(launch: Launch, cwd: str, seconds: float) -> AsyncIterator[AgentTransport]:
    """The limit holds for entering; a TCP connection may take its time."""
    with anyio.CancelScope(deadline=anyio.current_time() + seconds) as limit:
        async with _transport(launch, cwd) as transport:
            limit.deadline = float("inf")
            yield transport
    if limit.cancelled_caught:
        raise AgentStartFailed(f"{launch.label} did not answer within {seconds:g} s", HINT)


def _transport(launch: Launch, cwd: str) -> AbstractAsyncContextManager[AgentTransport]:
    if launch.address is not None:
        return agent_at(*launch.address)
    return agent_process(launch.argv, cwd)
