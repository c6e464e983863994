"""One JSON-RPC connection on anyio: read, hand on in the order of the wire, write.

Neutral as to who is agent and who is client. Nothing the other side sends ends the reader; what cannot be used goes to
`on_diagnostic` and stays in the `log`. Handlers run on the reader's turn, so a slow one stops the reading.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.lowlevel import checkpoint

from ..errors import AgentExited
from . import jsonrpc
from .jsonrpc import Event, Garbage, Id, Notification, Peer, Request, RequestFailed, Response
from .refusal import refusal
from .transport import PIECE, Pace, Transport, single_error
from .wirelog import WireLog

OnNotification = Callable[[str, Any], None]
OnRequest = Callable[[str, Any], Coroutine[Any, Any, Any]]
CANCEL = "$/cancel_request"
MAX_OPEN = 1_000
"""Requests of the other side that may wait for our answer at the same time."""
PATIENCE = 1.0
"""Seconds until a connection that cannot be written to counts as ended, should the other side not end it itself."""

TOO_MANY = RequestFailed(jsonrpc.INTERNAL_ERROR, f"More than {MAX_OPEN} requests wait for an answer")
WITHDRAWN = RequestFailed(jsonrpc.CANCELLED, "Request cancelled")

_logger = logging.getLogger(__name__)


class _Waiting:
    """A request of ours that waits for its answer; None means that the connection ended first."""

    def __init__(self, answered: Callable[[], None] | None) -> None:
        self.done = anyio.Event()
        self.response: Response | None = None
        self._answered = answered

    def settle(self, response: Response | None) -> None:
        if self.done.is_set():
            return
        self.response = response
        self.done.set()
        if self._answered is not None:
            self._answered()


class _Serving:
    """A request of the other side that is being answered."""

    def __init__(self, request: Request, answer: Coroutine[Any, Any, Any]) -> None:
        self.request, self.answer, self.scope = request, answer, anyio.CancelScope()


class Connection:
    """`async with Connection(transport, on_notification=…, on_request=…) as connection`; closes the transport.

    `on_notification(method, params)` is called in the order of the wire. So is `on_request(method, params)`; the
    coroutine it returns runs as a task, and either may raise `RequestFailed`. `exited` makes the error that our waiting
    requests get when the other side is gone. `log` may outlive the connection.
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
    ) -> None:
        self.closed = anyio.Event()
        self.log = log or WireLog()
        self._transport, self._peer = transport, Peer(self.log.add)
        self._on_notification, self._on_request = on_notification, on_request
        self._on_diagnostic = on_diagnostic or _logger.info
        self._exited = exited or (lambda: AgentExited("The connection ended", stderr=transport.last_words()))
        self._tasks = anyio.create_task_group()
        self._writing = anyio.Lock(fast_acquire=True)
        self._waiting: dict[Id, _Waiting] = {}
        self._serving: list[_Serving] = []
        self._unsent = 0

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

    # -- what we say ----------------------------------------------------------------------------------------------

    async def request(
        self, method: str, params: dict[str, Any], *, cancel: bool = True, answered: Callable[[], None] | None = None
    ) -> Any:
        """The result. Raises AgentRefused for an error answer, AgentExited when the connection ends.

        Cancelling this call sends `$/cancel_request`, unless `cancel` is False. `answered()` is called in the order of
        the wire when the answer came or the connection ended, before this call returns.
        """
        if self.closed.is_set():
            raise self._exited()
        number, line = self._peer.request(method, params)
        waiting = self._waiting[number] = _Waiting(answered)
        self._tasks.start_soon(self._send_or_end, line)
        try:
            await waiting.done.wait()
        except anyio.get_cancelled_exc_class():
            if cancel:
                self.post(CANCEL, {"requestId": number})
            raise
        return self._result(method, waiting.response)

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        """Raises AgentExited. Returns when the transport took the message."""
        await self._send(self._peer.notification(method, params))

    def post(self, method: str, params: dict[str, Any]) -> None:
        """A notification that goes out in turn, without waiting for it; lost when the connection has ended."""
        if not self.closed.is_set():
            self._tasks.start_soon(self._send_quietly, self._peer.notification(method, params))

    async def _send_or_end(self, line: bytes) -> None:
        """A task, because the end may come while a long request is still on its way out."""
        if await self._send_quietly(line):
            return
        with anyio.move_on_after(PATIENCE):
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

    def _result(self, method: str, response: Response | None) -> Any:
        if response is None:
            raise self._exited()
        if response.error is not None:
            raise refusal(method, response.error)
        return response.result

    # -- what we hear ---------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            pace = Pace()
            while data := await self._transport.receive():
                for start in range(0, len(data), PIECE):
                    await self._take(data[start : start + PIECE], pace)
                    await pace()
        finally:
            self._end()

    async def _take(self, piece: bytes, pace: Pace) -> None:
        for event in self._peer.receive(piece):
            try:
                self._handle(event)
            except Exception as error:
                self._fault(event, error)
            # Whoever waits for an answer goes on before what follows it on the wire is handled.
            await (checkpoint() if isinstance(event, Response) else pace())
            await self._let_answers_out()

    def _handle(self, event: Event) -> None:
        match event:
            case Notification(method, params) if method == CANCEL:
                self._withdraw(params)
            case Notification(method, params):
                self._on_notification(method, params)
            case Request():
                self._accept(event)
            case Response():
                self._settle(event)
            case Garbage(reason, excerpt, length):
                self._report(f"{reason} ({length} bytes): {excerpt}")

    def _settle(self, response: Response) -> None:
        waiting = self._waiting.pop(response.id, None)
        if waiting is None:
            self._report(f"an answer to no request of ours, with the id {response.id!r}")
        else:
            waiting.settle(response)

    def _end(self) -> None:
        self.closed.set()
        while self._waiting:
            self._waiting.popitem()[1].settle(None)
        for serving in self._serving:
            serving.scope.cancel()

    def _fault(self, event: Event, error: Exception) -> None:
        """Our own mistake: the log gets the traceback, the other side never does."""
        subject = getattr(event, "method", type(event).__name__)
        _logger.error("handling %s failed", subject, exc_info=error)
        self._report(f"handling {subject} failed: {error!r}")

    def _report(self, text: str) -> None:
        try:
            self._on_diagnostic(text)
        except Exception:
            _logger.exception("cannot report: %s", text)

    # -- what we are asked ----------------------------------------------------------------------------------------

    def _accept(self, request: Request) -> None:
        """All requests pass here: each gets exactly one task, and that sends exactly one answer."""
        answer = self._call(request) if len(self._serving) < MAX_OPEN else _fail(TOO_MANY)
        serving = _Serving(request, answer)
        self._serving.append(serving)
        self._tasks.start_soon(self._serve, serving)

    def _call(self, request: Request) -> Coroutine[Any, Any, Any]:
        try:
            return self._on_request(request.method, request.params)
        except Exception as error:
            return _fail(error)

    async def _serve(self, serving: _Serving) -> None:
        line = b""
        with serving.scope:
            line = await self._answer(serving)
        self._serving.remove(serving)
        self._unsent += 1
        # What was posted before this answer was composed, such as a cancel that led to it, goes first.
        await checkpoint()
        await self._send_quietly(line or self._peer.failure(serving.request.id, WITHDRAWN))
        self._unsent -= 1

    async def _answer(self, serving: _Serving) -> bytes:
        id = serving.request.id
        try:
            try:
                return self._peer.result(id, await serving.answer)
            except RequestFailed as error:
                return self._peer.failure(id, error)
        except Exception as error:
            self._fault(serving.request, error)
            return self._peer.failure(id, RequestFailed(jsonrpc.INTERNAL_ERROR, "Internal error"))

    def _withdraw(self, params: Any) -> None:
        """Spec: cancellation. An id that we do not serve was answered already."""
        id = params.get("requestId") if isinstance(params, dict) else None
        for serving in self._serving:
            if serving.request.id == id and type(serving.request.id) is type(id):
                serving.scope.cancel()

    async def _let_answers_out(self) -> None:
        """An agent that asks and asks without reading our answers is not read until it does."""
        if self._unsent > MAX_OPEN:
            async with self._writing:
                pass


async def _fail(error: Exception) -> Any:
    raise error
