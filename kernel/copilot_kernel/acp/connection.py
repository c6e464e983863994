"""A JSON-RPC connection on anyio: reads, dispatches in wire order, writes. Serves agents and clients alike.

Nothing that the other side sends ends the reader; unusable input goes to `on_diagnostic` and stays in the `log`.
Handlers run in the reader task, so a slow one stops the reading.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.lowlevel import checkpoint

from ..errors import AgentExited
from ..system.processes import PIECE_BYTES
from . import jsonrpc
from .agent_errors import error_from_answer
from .jsonrpc import Id, InvalidLine, Line, RequestFailed, RpcCodec, RpcEvent, RpcNotification, RpcRequest, RpcResponse
from .transport import Pace, Transport, single_error

OnNotification = Callable[[str, Any], None]
OnRequest = Callable[[str, Any], Coroutine[Any, Any, Any]]
CANCEL = "$/cancel_request"
MAX_OPEN = 1_000
"""Requests of the other side that may be open at the same time: not answered, or the answer not sent."""
BROKEN_SECONDS = 1.0
"""Time after which a connection that cannot be written to counts as ended."""

TOO_MANY = RequestFailed(jsonrpc.INTERNAL_ERROR, f"More than {MAX_OPEN} requests are open")
WITHDRAWN = RequestFailed(jsonrpc.CANCELLED, "Request cancelled")

_logger = logging.getLogger(__name__)


class WireLog:
    """The last lines sent (`">"`) and received (`"<"`), as `(direction, line)`, oldest first."""

    def __init__(self, max_lines: int = 1_000, max_bytes: int = 4 * 1024 * 1024) -> None:
        self.lines: deque[tuple[str, bytes]] = deque()
        self.count = 0
        """All lines so far, kept or not."""
        self._max_lines, self._max_bytes, self._size = max_lines, max_bytes, 0

    def add(self, direction: str, line: Line) -> None:
        line = bytes(line[: self._max_bytes])
        self.lines.append((direction, line))
        self.count += 1
        self._size += len(line)
        while self._size > self._max_bytes or len(self.lines) > self._max_lines:
            self._size -= len(self.lines.popleft()[1])

    def since(self, count: int) -> list[tuple[str, bytes]]:
        """The lines after the first `count`, as far as they are kept."""
        missing = self.count - len(self.lines)
        return list(self.lines)[max(0, count - missing) :]


class _Pending:
    """A pending request of ours; the response None means that the connection ended first."""

    def __init__(self, answered: Callable[[], None]) -> None:
        self.done = anyio.Event()
        self.response: RpcResponse | None = None
        self._answered = answered

    def settle(self, response: RpcResponse | None) -> None:
        self.response = response
        self.done.set()
        self._answered()


class RpcConnection:
    """`async with RpcConnection(transport, on_notification=…, on_request=…) as connection`; closes the transport.

    `on_notification(method, params)` and `on_request(method, params)` are called in wire order. The coroutine that the
    latter returns runs as a task; either may raise `RequestFailed`. `exited` makes the error that our pending requests
    raise when the other side is gone. `log` may outlive the connection. For `read`, see `RpcCodec`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        on_notification: OnNotification,
        on_request: OnRequest,
        on_diagnostic: Callable[[str], None] | None = None,
        exited: Callable[[], AgentExited] | None = None,
        log: WireLog | None = None,
        read: Callable[[Line], RpcEvent | None] = lambda line: None,
    ) -> None:
        self.closed = anyio.Event()
        self.log = log or WireLog()
        self._transport, self._peer = transport, RpcCodec(self.log.add, read=read)
        self._on_notification, self._on_request = on_notification, on_request
        self._on_diagnostic = on_diagnostic or _logger.info
        self._exited = exited or (lambda: AgentExited("The connection has ended"))
        self._tasks = anyio.create_task_group()
        self._writing = anyio.Lock(fast_acquire=True)
        self._pending: dict[Id, _Pending] = {}
        self._serving: dict[anyio.CancelScope, RpcRequest] = {}

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._read)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._tasks.cancel_scope.cancel()
        try:
            with single_error():
                return await self._tasks.__aexit__(kind, error, trace)
        finally:
            with anyio.CancelScope(shield=True):
                await self._transport.close()

    # -- sending -------------------------------------------------------------------------------------------------

    async def request(
        self, method: str, params: dict[str, Any], *, cancel: bool = True, answered: Callable[[], None] = lambda: None
    ) -> Any:
        """Send a request and return its result. Raises AgentRefused for an error answer, AgentExited.

        Cancelling this call sends `$/cancel_request`, unless `cancel` is False. `answered()` is called in wire order
        when the answer has come or the connection has ended, before this call returns.
        """
        if self.closed.is_set():
            raise self._exited()
        number, line = self._peer.request(method, params)
        pending = self._pending[number] = _Pending(answered)
        self._tasks.start_soon(self._send_or_end, line)
        try:
            await pending.done.wait()
        except anyio.get_cancelled_exc_class():
            if cancel:
                self.post(CANCEL, {"requestId": number})
            raise
        if pending.response is None:
            raise self._exited()
        if pending.response.error is not None:
            raise error_from_answer(method, pending.response.error)
        return pending.response.result

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification; returns when the transport has taken it. Raises AgentExited."""
        await self._send(self._peer.notification(method, params))

    def post(self, method: str, params: dict[str, Any]) -> None:
        """Queue a notification without waiting; it is lost if the connection has ended."""
        if not self.closed.is_set():
            self._tasks.start_soon(self._send_quietly, self._peer.notification(method, params))

    async def _send_or_end(self, line: bytes) -> None:
        """Runs as a task: the connection may end while a long request is still on its way out."""
        if await self._send_quietly(line):
            return
        with anyio.move_on_after(BROKEN_SECONDS):
            await self.closed.wait()
        self._end()

    async def _send_quietly(self, line: bytes) -> bool:
        try:
            await self._send(line)
        except AgentExited as error:
            _logger.debug("not sent: %s", error)
            return False
        return True

    async def _send(self, line: bytes) -> None:
        async with self._writing:
            await self._transport.send(line)

    # -- receiving ------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            pace = Pace()
            while data := await self._transport.receive():
                for start in range(0, len(data), PIECE_BYTES):
                    await self._take(data[start : start + PIECE_BYTES], pace)
                    await pace()
        finally:
            self._end()

    async def _take(self, piece: bytes, pace: Pace) -> None:
        for event in self._peer.receive(piece):
            try:
                self._handle(event)
            except Exception as error:
                self._fault(event, error)
            # The task that gets the answer runs before the next message is handled.
            await (checkpoint() if isinstance(event, RpcResponse) else pace())
            await self._let_answers_out()

    def _handle(self, event: RpcEvent) -> None:
        match event:
            case RpcNotification(method, params) if method == CANCEL:
                self._withdraw(params)
            case RpcNotification(method, params):
                self._on_notification(method, params)
            case RpcRequest():
                self._accept(event)
            case RpcResponse():
                self._settle(event)
            case InvalidLine(reason, excerpt, length):
                self._on_diagnostic(f"{reason} ({length} bytes): {excerpt}")

    def _settle(self, response: RpcResponse) -> None:
        pending = self._pending.pop(response.id, None)
        if pending is None:
            self._on_diagnostic(f"an answer with the id {response.id!r}, which no request of ours has")
        else:
            pending.settle(response)

    def _end(self) -> None:
        self.closed.set()
        while self._pending:
            self._pending.popitem()[1].settle(None)
        for scope in self._serving:
            scope.cancel()

    def _fault(self, event: RpcEvent, error: Exception) -> None:
        """A bug of ours: the log gets the traceback, the other side never does."""
        subject = getattr(event, "method", type(event).__name__)
        _logger.error("handling %s failed", subject, exc_info=error)
        self._on_diagnostic(f"handling {subject} failed: {error!r}")

    # -- serving requests ------------------------------------------------------------------------------------------

    def _accept(self, request: RpcRequest) -> None:
        """Give each request exactly one task, which sends exactly one answer."""
        answer = self._call(request) if len(self._serving) < MAX_OPEN else _fail(TOO_MANY)
        scope = anyio.CancelScope()
        self._serving[scope] = request
        self._tasks.start_soon(self._serve, request, answer, scope)

    def _call(self, request: RpcRequest) -> Coroutine[Any, Any, Any]:
        try:
            return self._on_request(request.method, request.params)
        except Exception as error:
            return _fail(error)

    async def _serve(self, request: RpcRequest, answer: Coroutine[Any, Any, Any], scope: anyio.CancelScope) -> None:
        line = b""
        with scope:
            line = await self._answer(request, answer)
        # Messages queued before this answer, such as the cancel that led to it, go first.
        await checkpoint()
        await self._send_quietly(line or self._peer.failure(request.id, WITHDRAWN))
        del self._serving[scope]

    async def _answer(self, request: RpcRequest, answer: Coroutine[Any, Any, Any]) -> bytes:
        try:
            try:
                return self._peer.result(request.id, await answer)
            except RequestFailed as error:
                return self._peer.failure(request.id, error)
        except Exception as error:
            self._fault(request, error)
            return self._peer.failure(request.id, RequestFailed(jsonrpc.INTERNAL_ERROR, "Internal error"))

    def _withdraw(self, params: Any) -> None:
        """Spec: cancellation. An unknown id was answered already."""
        id = params.get("requestId") if isinstance(params, dict) else None
        for scope, request in self._serving.items():
            if request.id == id and type(request.id) is type(id):
                scope.cancel()

    async def _let_answers_out(self) -> None:
        """Stop reading from an agent that keeps asking without reading our answers."""
        if len(self._serving) > MAX_OPEN // 2:
            async with self._writing:
                pass


async def _fail(error: Exception) -> Any:
    raise error
