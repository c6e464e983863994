"""One kernel's connection to the broker: who it is, what it sends, and what waits for it to read."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, Protocol

from ..acp.jsonrpc import MAX_LINE_BYTES, Line, Lines
from . import wire
from .broker import Broker
from .sockets import has_hung_up, is_own

MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""For kernels that read slower than the agent writes. When it is more, those are disconnected that have `ITS_SHARE`."""
ITS_SHARE = MAX_UNREAD_BYTES // 8
PIECE_BYTES = 256 * 1024
"""Of lines that are written at once."""
END_SECONDS = 1.0
"""For a kernel to read the end of its connection."""

_log = logging.getLogger(__name__)


class Hub(Protocol):
    """What a connection needs from the process that it is in."""

    broker: Broker
    connections: set[Connection]
    is_full: bool

    @property
    def unread(self) -> int:
        """Bytes that wait for all kernels."""

    def join(self, connection: Connection, hello: dict[str, Any]) -> None:
        """It has introduced itself."""

    def leave(self, connection: Connection) -> None:
        """It has ended."""


class Connection(asyncio.Protocol):
    """A `Kernel` of the broker.

    What waits is counted here and handed over in large pieces: asyncio adds up all pieces that it has whenever it gets
    another, from Python 3.12 on.
    """

    def __init__(self, hub: Hub) -> None:
        self.grace = 5.0
        self.has_joined = False
        self.unread = 0
        """Bytes that wait for the kernel to read them."""
        self._hub = hub
        self._lines = Lines(MAX_LINE_BYTES)
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[bytes] = deque()
        self._handed_over = 0
        self._is_blocked = self._is_over = False

    # -- the transport's --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if not is_own(transport.get_extra_info("socket")):
            _log.warning("a connection of another user was refused")
            transport.abort()
            return
        transport.set_write_buffer_limits(high=0)  # it is blocked as soon as anything waits
        self._transport = transport
        self._hub.connections.add(self)

    def data_received(self, data: bytes) -> None:
        for line, length in self._lines.feed(data):
            if self._transport is None or self._transport.is_closing():
                return
            if length <= MAX_LINE_BYTES and line:
                self._take(line)
        if self._hub.is_full:
            self.read(wanted=False)

    def pause_writing(self) -> None:
        self._is_blocked = True

    def resume_writing(self) -> None:
        self._is_blocked = False
        self.unread -= self._handed_over
        self._hand_over()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._waiting.clear()
        self._hub.leave(self)

    # -- from the kernel --------------------------------------------------------------------------------------------

    def _take(self, line: Line) -> None:
        if self.has_joined:
            self._hub.broker.take(self, line)
            return
        message = wire.read(line)
        if message is None or message.method != wire.HELLO:
            self.close({"ending": "it was not introduced"})
            return
        self.has_joined = True
        self._hub.join(self, wire.members(message.params))

    def read(self, *, wanted: bool) -> None:
        """Read on, or stop reading, but not from one that has left: that ends by itself."""
        if self._transport is not None and not self._transport.is_closing() and not self._is_over:
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    def look(self) -> None:
        """Whether the kernel has left; asyncio does not tell while nothing is read. Its last words are read."""
        if self._transport is not None and has_hung_up(self._transport.get_extra_info("socket")):
            self.read(wanted=True)
            self._is_over = True

    # -- to the kernel ----------------------------------------------------------------------------------------------

    def send(self, line: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self.unread > ITS_SHARE and self._hub.unread > MAX_UNREAD_BYTES:
            _log.warning("a kernel was disconnected: it does not read")
            self._transport.abort()
            return
        self._waiting.append(line)
        self.unread += len(line)
        self._hand_over()

    def _hand_over(self) -> None:
        while self._waiting and not self._is_blocked and self._transport is not None:
            piece = self._next_piece()
            self._handed_over = len(piece)
            self._transport.write(piece)
            if not self._is_blocked:
                self.unread -= len(piece)

    def _next_piece(self) -> bytes:
        lines, size = list[bytes](), 0
        while self._waiting and size < PIECE_BYTES:
            lines.append(self._waiting.popleft())
            size += len(lines[-1])
        return b"".join(lines)

    def disconnect(self, why: str) -> None:
        self.close({"ending": why, "stderr": "", "crashed": False})

    def close(self, exited: dict[str, Any]) -> None:
        """Send this last, as far as it is read within `END_SECONDS`."""
        if self._transport is None or self._transport.is_closing():
            return
        self.send(wire.notification(wire.EXITED, exited))
        self._transport.write(b"".join(self._waiting))
        self._waiting.clear()
        self._transport.close()
        asyncio.get_running_loop().call_later(END_SECONDS, self._transport.abort)
