"""A session with one agent: start or connect, `initialize`, `session/new`, then prompts, one at a time.

What the agent says goes to two callbacks in the order of the wire; what it means is left to the chat.
Spec: initialization, session-setup, prompt-turn.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import anyio

from .. import __version__
from ..errors import AgentExited, AgentStartFailed, AuthRequired, ProtocolUnsupported
from .compose import compose_answer, compose_block, compose_initialize
from .connection import Connection
from .jsonrpc import method_not_found
from .locate import Launch
from .messages import AgentInfo, Block, Option, PermissionRequest, PromptResult, SessionState, Update
from .parse import parse_initialize, parse_permission, parse_prompt_result, parse_session, parse_update
from .process import ProcessTransport, agent_process
from .tcp import TcpTransport, agent_at
from .wirelog import WireLog

OnUpdate = Callable[[str, Update], None]
OnPermission = Callable[[PermissionRequest], Coroutine[Any, Any, Option | None]]
AgentTransport = ProcessTransport | TcpTransport
LAST_LINES = 10

_logger = logging.getLogger(__name__)


class Session:
    """An open session. `info` and `state` are what the agent told at the start; `log` is what went over the wire."""

    def __init__(self, connection: Connection, transport: AgentTransport, info: AgentInfo, state: SessionState) -> None:
        self.info, self.state = info, state
        self._connection, self._transport = connection, transport
        self._turn = anyio.Lock(fast_acquire=True)
        self._running = False

    @property
    def closed(self) -> anyio.Event:
        return self._connection.closed

    @property
    def log(self) -> WireLog:
        return self._connection.log

    def last_words(self) -> str:
        return self._transport.last_words()

    async def prompt(self, blocks: Sequence[Block]) -> PromptResult:
        """One turn; a second call waits for the first. Cancelling the call cancels the turn, without waiting for it.

        Raises AgentExited, AgentRefused, AuthRequired.
        """
        params = {"sessionId": self.state.id, "prompt": [compose_block(block) for block in blocks]}
        async with self._turn:
            self._running = True
            try:
                return parse_prompt_result(await self._prompt(params))
            except anyio.get_cancelled_exc_class():
                self._cancel()
                raise

    async def cancel(self) -> None:
        """End the running turn; its prompt then returns. Does nothing while no turn runs."""
        self._cancel()

    async def _prompt(self, params: dict[str, Any]) -> Any:
        with signing_in(self.info):
            return await self._connection.request("session/prompt", params, cancel=False, answered=self._answered)

    def _cancel(self) -> None:
        """Once a turn, and never after its answer came: agents take a cancel that comes late for the next turn's."""
        if self._running:
            self._running = False
            self._connection.post("session/cancel", {"sessionId": self.state.id})

    def _answered(self) -> None:
        self._running = False


@asynccontextmanager
async def open_session(
    launch: Launch,
    cwd: str,
    *,
    start_timeout: float,
    on_update: OnUpdate,
    on_permission: OnPermission,
    on_diagnostic: Callable[[str], None] | None = None,
) -> AsyncIterator[Session]:
    """Start the agent or connect to it, within `start_timeout` seconds; at the exit it is ended.

    `cwd` is an absolute path. `on_update(session_id, update)` may be called before this has yielded.
    Raises AgentNotFound, AgentStartFailed, ProtocolUnsupported, AgentRefused, AuthRequired.
    """
    deadline = anyio.current_time() + start_timeout
    async with _opened(launch, cwd, start_timeout) as transport:
        doors = _Doors(on_update, on_permission, on_diagnostic or _logger.info)
        async with Connection(
            transport,
            on_notification=doors.notice,
            on_request=doors.serve,
            on_diagnostic=doors.diagnose,
            exited=lambda: _exited(launch, transport),
        ) as connection:
            with _starting(launch, transport), anyio.CancelScope(deadline=deadline) as limit:
                session = await _shake_hands(launch, connection, transport, cwd)
            if limit.cancelled_caught:
                raise _start_failed(launch, transport, f"was not ready within {start_timeout:g} s")
            yield session


class _Doors:
    """What the agent may say and ask, by method; everything else is refused or reported."""

    def __init__(self, on_update: OnUpdate, on_permission: OnPermission, diagnose: Callable[[str], None]) -> None:
        self._on_update, self._on_permission, self.diagnose = on_update, on_permission, diagnose

    def notice(self, method: str, params: Any) -> None:
        """Spec: an unknown notification is ignored; ours are in the log of the wire all the same."""
        if method == "session/update":
            self._on_update(*_addressed(params))
        elif not method.startswith(("_", "$/")):
            self.diagnose(f"a notification that this client does not know: {method}")

    def serve(self, method: str, params: Any) -> Coroutine[Any, Any, Any]:
        if method != "session/request_permission":
            raise method_not_found(method)
        request = parse_permission(params)
        return _decide(request, self._on_permission(request))


def _addressed(params: Any) -> tuple[str, Update]:
    """An update that is not wrapped is taken as it stands."""
    members = params if isinstance(params, dict) else {}
    session_id = members.get("sessionId")
    return session_id if isinstance(session_id, str) else "", parse_update(members.get("update", params))


async def _decide(request: PermissionRequest, decision: Coroutine[Any, Any, Option | None]) -> dict[str, Any]:
    return compose_answer(request, await decision)


# -- starting -----------------------------------------------------------------------------------------------------


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


async def _shake_hands(launch: Launch, connection: Connection, transport: AgentTransport, cwd: str) -> Session:
    info = parse_initialize(await connection.request("initialize", compose_initialize(__version__)))
    if info.protocol_version != 1:
        raise _unsupported(launch, info)
    with signing_in(info):
        state = parse_session(await connection.request("session/new", {"cwd": cwd, "mcpServers": []}))
    if not state.id:
        raise _start_failed(launch, transport, "opened a session without a sessionId")
    return Session(connection, transport, info, state)


# -- what can go wrong --------------------------------------------------------------------------------------------

HINT = "Run the command in a terminal to see what it says, or give it more time (COPILOT_KERNEL_START_TIMEOUT)."


@contextmanager
def signing_in(info: AgentInfo) -> Iterator[None]:
    """Error -32000 means that the agent wants a sign-in; how, it told at the start (spec: authentication)."""
    try:
        yield
    except AuthRequired as error:
        raise AuthRequired(error.method, str(error), error.data, info.auth_methods) from error


@contextmanager
def _starting(launch: Launch, transport: AgentTransport) -> Iterator[None]:
    try:
        yield
    except AgentExited as error:
        raise _start_failed(launch, transport, f"ended before it was ready: {transport.ending()}") from error


def _start_failed(launch: Launch, transport: AgentTransport, what: str) -> AgentStartFailed:
    words = transport.last_words()
    lines = "\n".join(words.splitlines()[-LAST_LINES:])
    return AgentStartFailed(f"{launch.label} {what}" + (f"\n{lines}" if lines else ""), HINT, words)


def _exited(launch: Launch, transport: AgentTransport) -> AgentExited:
    hint = "It is started again with the next prompt; its memory of this conversation may be lost."
    return AgentExited(f"{launch.label} is gone: {transport.ending()}", hint, transport.last_words())


def _unsupported(launch: Launch, info: AgentInfo) -> ProtocolUnsupported:
    theirs = "none" if info.protocol_version is None else info.protocol_version
    message = f"{launch.label} speaks version {theirs!s:.40} of the protocol; this client speaks version 1"
    return ProtocolUnsupported(message, "Install a version of the agent that speaks version 1.")
