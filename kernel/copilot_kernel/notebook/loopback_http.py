"""HTTP/1.1 on loopback, as much as an MCP client needs: one request after the other, everything bounded.

Who has no valid token is answered before a body is read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

MAX_HEAD_BYTES = 16_384
MAX_BODY_BYTES = 8_000_000
MAX_CONNECTIONS = 32
"""Limit of the connections that have sent a valid token."""
MAX_UNAUTHENTICATED = 128
"""Connections without one; beyond that, the oldest are closed. asyncio accepts up to 100 at a time: each of those must
get to send a request."""

FIRST_SECONDS = 10.0
"""Time in which a new connection must have sent the head of its first request."""
IDLE_SECONDS = 120.0
"""Between two requests."""
BODY_SECONDS = 30.0
REST_SECONDS = 2.0
"""Time to read what a client still sends after its request was refused."""

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*")
_LENGTH = re.compile(r"[0-9]{1,12}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")
_ONCE = frozenset({"authorization", "content-length", "host", "transfer-encoding"})
"""Headers whose repetition is a trick."""

REASONS = {
    200: "OK",
    202: "Accepted",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class HttpError(Exception):
    """The request is refused with this status, and the connection is closed."""

    def __init__(self, status: int) -> None:
        super().__init__(REASONS[status])
        self.status = status


class Head(NamedTuple):
    """The head of a request; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    keep_alive: bool

    @property
    def length(self) -> int | None:
        """Bytes of the body; None if it comes in chunks. Raises HttpError if it says neither or both, or too many."""
        length, coding = self.headers.get("content-length", ""), self.headers.get("transfer-encoding", "")
        if coding:
            if length or coding.lower() != "chunked":  # programs disagree about where such a body ends
                raise HttpError(400)
            return None
        if not _LENGTH.fullmatch(length):
            raise HttpError(411)
        if int(length) > MAX_BODY_BYTES:
            raise HttpError(413)
        return int(length)


async def read_head(reader: asyncio.StreamReader, seconds: float) -> Head | None:
    """The next head; None at the end of the connection, or if nothing comes. Raises HttpError."""
    try:
        async with asyncio.timeout(seconds):
            data = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise HttpError(431) from error
    except asyncio.IncompleteReadError:
        return None
    except TimeoutError as error:
        raise HttpError(408) from error
    return parse_head(data)


def parse_head(data: bytes) -> Head:
    """Raises HttpError."""
    line, *rest = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = line.split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise HttpError(400)
    headers: dict[str, str] = {}
    for each in rest:
        found = _HEADER.fullmatch(each)
        name = found[1].lower() if found else ""
        if found is None or (name in _ONCE and name in headers):
            raise HttpError(400)
        headers[name] = found[2]
    keep_alive = words[2] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    return Head(words[0], words[1], headers, keep_alive)


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes:
    """Raises HttpError."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _chunks(reader) if head.length is None else await reader.readexactly(head.length)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise HttpError(400) from error
    except TimeoutError as error:
        raise HttpError(408) from error


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """A body in chunks; what stands beside their sizes and behind the last one counts for nothing. Raises HttpError."""
    body = bytearray()
    while size := _size(await reader.readuntil(b"\r\n")):
        if len(body) + size > MAX_BODY_BYTES:
            raise HttpError(413)
        body += await reader.readexactly(size)
        if await reader.readexactly(2) != b"\r\n":
            raise HttpError(400)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return bytes(body)


def _size(line: bytes) -> int:
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise HttpError(400)
    return int(found[1], 16)


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int) -> None:
    """Answer, and end the connection. If it were closed while the client sends, the answer would be lost."""
    with suppress(OSError):
        async with asyncio.timeout(REST_SECONDS):
            writer.write(response(status, close=True))
            writer.write_eof()
            while await reader.read(MAX_HEAD_BYTES):
                pass


def response(status: int, body: bytes = b"", *, close: bool = False) -> bytes:
    """A whole response, with JSON if there is a body."""
    kind = "Content-Type: application/json\r\n" if body else ""
    end = "Connection: close\r\n" if close else ""
    length = f"Content-Length: {len(body)}\r\n"
    return f"HTTP/1.1 {status} {REASONS[status]}\r\n{kind}{length}{_NO_STORE}{end}\r\n".encode() + body


def event_stream() -> bytes:
    """The head of a response whose events follow, until the connection is closed."""
    kind = "Content-Type: text/event-stream\r\n"
    return f"HTTP/1.1 200 OK\r\n{kind}{_NO_STORE}Connection: close\r\n\r\n".encode()


_NO_STORE = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
