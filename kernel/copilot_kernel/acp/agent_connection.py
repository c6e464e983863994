"""A connection to an initialized agent, and the sessions opened on it: prompts, and what a session can be set to.

Listing and deleting sessions need neither a session nor, with most agents, a sign-in.
Spec: initialization, authentication, session-setup, session-list, session-delete, prompt-turn, session-modes,
session-config-options.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import Any, TypeVar

import anyio

from .. import __version__
from ..errors import AgentRefused, AgentStartFailed, ResourceNotFound, UsageError
from .agent_errors import SLOW, AgentErrors, adding_sign_in
from .compose import compose_block, compose_initialize
from .connection import RpcConnection, WireLog
from .handlers import ClientHandlers, read_chunk
from .jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from .lenient import as_dict
from .locate import Launch
from .messages import AgentInfo, Block, Json, PromptResult, SessionInfo, SessionState
from .parse import read_options
from .process import agent_process
from .results import parse_initialize, parse_prompt_result, parse_session, parse_sessions
from .tcp import agent_at
from .transport import AgentTransport

T = TypeVar("T")

UNSUPPORTED = "{} does not support this ({})"
UNLISTED = "{} can't list its conversations."
NO_SESSION_ID = "opened a session without a sessionId"
NOT_READY = "was not ready within {:g} s"
MAX_PAGES = 200
"""Limit of the pages of a list of sessions, in case an agent never ends it."""
OPTIONS_DELAY = 1.0
"""Seconds: some agents answer `session/new` with an id alone, and send modes and models right after it."""


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
        self.closed, self.log = rpc.closed, rpc.log
        self._rpc, self._errors, self._start_timeout = rpc, errors, start_timeout

    def can(self, name: str) -> bool:
        """Return True if the agent supports `list`, `load`, `resume`, `close`, `delete`, or `logout`."""
        info = self.info
        return info.load_session if name == "load" else name in (info.auth if name == "logout" else info.session)

    def require(self, name: str) -> None:
        """Raise UsageError unless `can(name)`."""
        if not self.can(name):
            raise UsageError(
                (UNLISTED if name == "list" else UNSUPPORTED).format(self._errors.label, name), _INSTEAD.get(name, "")
            )

    # -- sessions -------------------------------------------------------------------------------------------------

    async def new(self, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/new` in the folder `cwd`, with these MCP servers. Raises AgentStartFailed too."""
        state = parse_session(await self._set_up("session/new", {"cwd": cwd, "mcpServers": [*servers]}))
        if not state.id:
            raise self._errors.start_failed(NO_SESSION_ID, "`%log` shows its answer.")
        return Session(self, state)

    async def reopen(self, how: str, session_id: str, cwd: str, servers: Sequence[Json] = ()) -> Session:
        """`session/load`: the agent replays the session before this returns; or `session/resume`, without the replay.

        `how` is `load` or `resume`. Raises UsageError, AgentStartFailed.
        """
        self.require(how)
        params = {"sessionId": session_id, "cwd": cwd, "mcpServers": [*servers]}
        return Session(self, parse_session(await self._set_up(f"session/{how}", params), session_id))

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
        """Send a request as `RpcConnection.request` does; an AuthRequired comes with the ways to sign in."""
        with adding_sign_in(self.info):
            return await self._rpc.request(method, params, **more)

    def post(self, method: str, params: Json) -> None:
        """Send a request as `RpcConnection.post` does."""
        self._rpc.post(method, params)

    async def _set_up(self, method: str, params: Json) -> Any:
        """A request that must be answered within the start timeout, and that may crash the agent."""
        with self._errors.starting(), anyio.CancelScope() as limit:
            limit.deadline = anyio.current_time() + self._start_timeout
            return await self.request(method, params)
        raise self._errors.start_failed(f"did not answer {method} within {self._start_timeout:g} s", SLOW)


_INSTEAD = {
    "close": "You can start a new session without closing this one.",
    "logout": "The agent's own program may have a command for it.",
}


def _is_in(session: SessionInfo, cwd: str | None) -> bool:
    """Return True if a session is of this folder. Not every agent filters; some resolve links, or give no folder."""
    return not (cwd and session.cwd) or os.path.realpath(os.path.join(cwd, session.cwd)) == os.path.realpath(cwd)


class Session:
    """`state` is what the agent sent when the session was opened; later changes come as updates, or as results here."""

    def __init__(self, connection: AgentConnection, state: SessionState) -> None:
        self.id, self.state = state.id, state
        self.connection = connection
        self._turn = anyio.Lock(fast_acquire=True)
        self._running = False
        self._opened = anyio.current_time()

    # -- turns ----------------------------------------------------------------------------------------------------

    async def prompt(self, blocks: Sequence[Block]) -> PromptResult:
        """Run one turn; a second call waits for the first. Cancelling the call cancels the turn, without waiting.

        Raises AgentExited, AgentRefused, AuthRequired.
        """
        params = {"sessionId": self.id, "prompt": [compose_block(block) for block in blocks]}
        async with self._turn:
            self._running = True
            try:
                answer = await self.connection.request(
                    "session/prompt", params, cancel=False, answered=self._set_answered
                )
            except anyio.get_cancelled_exc_class():
                self.cancel()
                raise
            return parse_prompt_result(answer)

    def cancel(self) -> None:
        """End the running turn; its prompt then returns. Does nothing while no turn runs.

        Sent once a turn, and never after its answer came: agents apply a late cancel to the next turn.
        """
        if self._running:
            self._running = False
            self.connection.post("session/cancel", {"sessionId": self.id})

    def _set_answered(self) -> None:
        self._running = False

    # -- what it can be set to ------------------------------------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        """`session/set_mode`, for agents that offer modes but no options. Raises AgentRefused, AgentExited."""
        await self._request("session/set_mode", modeId=mode_id)

    async def set_model(self, model_id: str) -> None:
        """`session/set_model`, removed from the specification; agents that list `models` support it.

        An agent that does not know the method gets the option `model` of older agents once; see `set_option`.
        """
        try:
            await self._request("session/set_model", modelId=model_id)
        except AgentRefused as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            await self._set_by_option_id("model", model_id, error)

    async def set_option(self, option_id: str, value: str | bool) -> tuple[Json, ...] | None:
        """`session/set_config_option`; returns the whole new list of options, or None if the answer has none.

        Older agents expect `optionId` for `configId`, and not all of them say so: after "invalid params", that is tried
        once. If it works, it is used from then on; otherwise the first error is raised.
        """
        try:
            answer = await self._set_option(self.connection.option_member, option_id, value)
        except AgentRefused as error:
            if self.connection.option_member != "configId" or error.code != INVALID_PARAMS:
                raise
            answer = await self._set_by_option_id(option_id, value, error)
        options = as_dict(answer).get("configOptions")
        return read_options(options) if isinstance(options, list) else None

    async def close(self) -> None:
        """`session/close`: the agent ends what runs and frees its memory; an unknown session counts as closed.

        Raises UsageError if the agent does not offer it, AgentRefused, AgentExited.
        """
        self.connection.require("close")
        with suppress(ResourceNotFound):
            await self._request("session/close")

    @property
    def options_delay(self) -> float:
        """Seconds in which options may still arrive, if there were none in the answer that opened the session."""
        state = self.state
        if self.connection.has_no_options or state.modes or state.models or state.options:
            return 0
        return max(0, self._opened + OPTIONS_DELAY - anyio.current_time())

    def set_no_options(self) -> None:
        """Do not wait for this agent's options again."""
        self.connection.has_no_options = True

    async def _set_by_option_id(self, option_id: str, value: str | bool, first: AgentRefused) -> Any:
        names_it = "optionId" in f"{first} {json.dumps(first.data)}"
        try:
            answer = await self._set_option("optionId", option_id, value)
        except AgentRefused as second:
            raise (second if names_it else first) from None
        self.connection.option_member = "optionId"
        return answer

    async def _set_option(self, member: str, option_id: str, value: str | bool) -> Any:
        typed = {"type": "boolean"} if isinstance(value, bool) else {}
        return await self._request("session/set_config_option", **{member: option_id, **typed, "value": value})

    async def _request(self, method: str, **more: Any) -> Any:
        return await self.connection.request(method, {"sessionId": self.id, **more})


# -- connecting ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def connect_agent(
    launch: Launch,
    cwd: str,
    client_handlers: ClientHandlers,
    *,
    start_timeout: float,
    log: WireLog | None = None,
    option_member: str = "configId",
    transport: AgentTransport | None = None,
) -> AsyncIterator[AgentConnection]:
    """Start the agent or connect to it, and `initialize`, within `start_timeout` seconds; end it at the exit.

    `cwd` is an absolute path. A `transport` is a connection that is open already.
    Raises AgentNotFound, AgentStartFailed, ProtocolUnsupported, AgentRefused.
    """
    deadline = anyio.current_time() + start_timeout
    opened = open_transport(launch, cwd, start_timeout) if transport is None else nullcontext(transport)
    async with opened as transport:
        errors = AgentErrors(launch, transport)
        async with RpcConnection(
            transport,
            on_notification=client_handlers.notify,
            on_request=client_handlers.serve,
            on_diagnostic=client_handlers.diagnose,
            exited=errors.exited,
            log=log,
            read=read_chunk,
        ) as rpc:
            with errors.starting(), anyio.CancelScope(deadline=deadline) as limit:
                offers = {*client_handlers.offers, "auth"} if launch.argv else client_handlers.offers
                answer = await rpc.request("initialize", compose_initialize(__version__, offers))
                info = parse_initialize(answer, launch.argv, is_copilot=launch.is_copilot)
                errors.label = info.title or info.name or launch.label  # which may be only `python`
            if limit.cancelled_caught:
                raise errors.start_failed(NOT_READY.format(start_timeout), SLOW)
            if info.protocol_version != 1:
                raise errors.unsupported(info)
            yield AgentConnection(rpc, errors, info, start_timeout, option_member)


def open_transport(launch: Launch, cwd: str, seconds: float) -> AbstractAsyncContextManager[AgentTransport]:
    """Start the agent or connect to it. Raises AgentNotFound, AgentStartFailed."""
    address = launch.address
    opening: AbstractAsyncContextManager[AgentTransport]
    command = (*launch.prefix, *launch.argv)
    opening = agent_process(command, cwd, environ=launch.environ) if address is None else agent_at(*address)
    return opened_within(seconds, opening, launch.label)


@asynccontextmanager
async def opened_within(seconds: float, opening: AbstractAsyncContextManager[T], label: str) -> AsyncIterator[T]:
    """Enter `opening` in this time; what is opened may take its own. Raises AgentStartFailed."""
    with anyio.CancelScope(deadline=anyio.current_time() + seconds) as limit:
        async with opening as opened:
            limit.deadline = float("inf")
            yield opened
    if limit.cancelled_caught:
        raise AgentStartFailed(f"{label} did not answer within {seconds:g} s", SLOW)
