"""JSON-RPC 2.0 in lines: bytes to events and messages to bytes, without I/O.

A line that is not a message becomes an `InvalidLine`. See `lenient.load` for what an event may hold.
Spec: transports (stdio), JSON-RPC 2.0 without batches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from msgspec import Struct, field

from .lenient import load

MAX_LINE_BYTES = 64 * 1024 * 1024
EXCERPT_BYTES = 2_000

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
AUTH_REQUIRED, NOT_FOUND, CANCELLED = -32000, -32002, -32800
PARSE_ERROR, UNSUPPORTED = -32700, -32022
TIMEOUT, EXPIRED = -32001, -32003
"""Used by a dialect; the specification has neither."""
IN_USE, IN_USE_MESSAGE = -32004, "This conversation is open in another notebook."
"""Error of our own broker (`agentd`)."""

Id = int | float | str | None


class RpcRequest(Struct, frozen=True):
    """A request of the other side. `params` is any JSON; absent params are `{}`."""

    id: Id
    method: str
    params: Any = field(default_factory=dict)


class RpcNotification(Struct, frozen=True):
    """A notification of the other side. `params` is any JSON; absent params are `{}`."""

    method: str
    params: Any = field(default_factory=dict)


class RpcError(Struct, frozen=True):
    """An `error` member; `code` is None if the other side gave no number."""

    code: int | None
    message: str
    data: Any = None


class RpcResponse(Struct, frozen=True):
    """The answer to our request `id`; a string of digits is read as the number that we sent."""

    id: Id
    result: Any = None
    error: RpcError | None = None


class InvalidLine(Struct, frozen=True):
    """A line that is not a message: why, its beginning, and its length in bytes."""

    reason: str
    excerpt: str
    length: int


RpcEvent = RpcRequest | RpcNotification | RpcResponse | InvalidLine
Line = bytes | bytearray
"""One that came in several pieces is a bytearray: a huge one is not copied."""
Trace = Callable[[str, Line], None]


class RequestFailed(Exception):
    """Raise this while serving a request; the other side gets it as the error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def method_not_found(method: str) -> RequestFailed:
    """The answer to an unknown method."""
    return RequestFailed(METHOD_NOT_FOUND, f"Method not found: {method}")


class RpcCodec:
    """One end of a connection. `trace(direction, line)` sees every line, received (`"<"`) and sent (`">"`).

    `read` is tried first, and returns the event of a frequent line, or None.
    """

    def __init__(
        self,
        trace: Trace | None = None,
        max_line: int = MAX_LINE_BYTES,
        read: Callable[[Line], RpcEvent | None] = lambda line: None,
    ) -> None:
        self._trace, self._read = trace or (lambda direction, line: None), read
        self._lines = Lines(max_line)
        self._ids = count()

    def receive(self, data: bytes) -> list[RpcEvent]:
        """The events that `data` completes; the rest is kept for the next call."""
        return [event for line in self._lines.feed(data) if (event := self._event(*line)) is not None]

    def request(self, method: str, params: Any) -> tuple[int, bytes]:
        """The id of a new request, and the bytes to send."""
        number = next(self._ids)
        return number, self._message({"id": number, "method": method, "params": params})

    def notification(self, method: str, params: Any) -> bytes:
        return self._message({"method": method, "params": params})

    def result(self, id: Id, result: Any) -> bytes:
        """Raises TypeError or ValueError for a result that is not JSON."""
        return self._message({"id": id, "result": result})

    def failure(self, id: Id, error: RequestFailed) -> bytes:
        data = {} if error.data is None else {"data": error.data}
        return self._message({"id": id, "error": {"code": error.code, "message": error.message, **data}})

    def _event(self, line: Line, length: int) -> RpcEvent | None:
        if length > self._lines.limit:
            self._trace("<", line)
            return _invalid(f"a line longer than {self._lines.limit} bytes was skipped", line, length)
        if not line or line.isspace():
            return None
        self._trace("<", line)
        return self._read(line) or _parse(line)

    def _message(self, members: dict[str, Any]) -> bytes:
        line = json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":"), allow_nan=False).encode("ascii")
        self._trace(">", line)
        return line + b"\n"


# -- bytes to lines -----------------------------------------------------------------------------------------------


class Lines:
    """Splits pieces of any size into lines with their lengths; one over `limit` bytes loses all but its beginning."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._begun = bytearray()
        self._length = 0

    def feed(self, data: bytes) -> Iterator[tuple[Line, int]]:
        *ends, rest = data.split(b"\n")
        for piece in ends:
            if self._length or len(piece) > self.limit:
                self._add(piece)
                yield self._take()
            else:
                yield piece, len(piece)
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._begun += piece
        self._length += len(piece)
        if self._length > self.limit:
            del self._begun[EXCERPT_BYTES:]

    def _take(self) -> tuple[Line, int]:
        line, length = self._begun, self._length
        self._begun, self._length = bytearray(), 0
        return line, length


# -- lines to events ----------------------------------------------------------------------------------------------


def _parse(line: Line) -> RpcEvent:
    try:
        message = load(line)
    except (ValueError, RecursionError) as error:
        return _invalid("not JSON" if isinstance(error, json.JSONDecodeError) else f"not JSON: {error}", line)
    if not isinstance(message, dict):
        return _invalid("a batch" if isinstance(message, list) else "not a JSON object", line)
    return _classify(message) or _invalid("not a JSON-RPC message", line)


def _classify(message: dict[str, Any]) -> RpcEvent | None:
    method, params, id = message.get("method"), message.get("params"), message.get("id")
    if isinstance(id, bool) or not isinstance(id, Id):
        return None
    if method is None and "id" in message:
        return RpcResponse(_own_id(id), message.get("result"), _error(message.get("error")))
    if not isinstance(method, str):
        return None
    params = {} if params is None else params
    return RpcRequest(id, method, params) if "id" in message else RpcNotification(method, params)


def _own_id(value: Id) -> Id:
    if isinstance(value, str):
        return int(value) if re.fullmatch("[0-9]{1,18}", value) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _error(raw: Any) -> RpcError | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        return RpcError(None, _words(raw))
    code = raw.get("code")
    known = isinstance(code, int) and not isinstance(code, bool)
    return RpcError(code if known else None, _words(raw.get("message", "")), raw.get("data"))


def _words(raw: Any) -> str:
    return raw if isinstance(raw, str) else json.dumps(raw)


def _invalid(reason: str, line: Line, length: int | None = None) -> InvalidLine:
    excerpt = line[:EXCERPT_BYTES].decode("utf-8", "replace").strip()
    return InvalidLine(reason, excerpt, len(line) if length is None else length)
