"""The broker as a process: kernels on its socket, the agent on pipes, and nobody waits for anybody else."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec

from ..acp.jsonrpc import MAX_LINE_BYTES, Line, Lines
from ..acp.lenient import as_dict
from ..acp.locate import Launch
from ..acp.mcp import with_mcp_flag
from ..acp.process import ProcessTransport, agent_process
from ..acp.transport import Pace, single_error
from ..errors import AgentError
from . import wire
from .broker import Broker
from .lifetime import Lifetime
from .sockets import is_own
from .start import StartSpec

MAX_KERNELS = 64
"""On one agent; the next one starts another."""
MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""For kernels that read slower than the agent writes. When it is more, those are disconnected that have `ITS_SHARE`."""
ITS_SHARE = MAX_UNREAD_BYTES // 8
MAX_UNSENT_BYTES = 4 * 1024 * 1024
"""For an agent that does not read; then nobody is read from, until it does."""
END_SECONDS = 1.0
"""For the other side of a connection, or the agent, to take note of its end."""

_LEAVES_PATH: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""By the time that the listener is closed, another broker may have a socket at its path."""

_log = logging.getLogger(__name__)


async def serve(spec: StartSpec, listener: socket.socket) -> None:
    """Run the agent for those who connect to `listener`, until nobody needs it. Raises AgentError."""
    folder = Path(spec.folder) if spec.welcome.sandbox else None
    launch = Launch(spec.argv, label=spec.label, is_copilot=spec.is_copilot)
    with with_mcp_flag(launch, spec.servers, folder) as launch:
        prefix = spec.welcome.sandbox.sandbox().command((), spec.cwd) if spec.welcome.sandbox else ()
        with single_error():
            async with agent_process((*prefix, *launch.argv), spec.cwd) as agent:
                server = _Server(spec, agent)
                await server.run(listener)
        await server.disconnect_all()


class _Server:
    """The `Host` of the broker."""

    def __init__(self, spec: StartSpec, agent: ProcessTransport) -> None:
        self.welcome = wire.notification(wire.WELCOME, msgspec.to_builtins(spec.welcome))
        self.broker = Broker(self, spec.answer_form)
        self.lifetime = Lifetime(spec.idle, lambda: self.end("no notebook needs it"))
        self.connections: set[_Connection] = set()
        self._socket, self._agent = Path(spec.socket), agent
        self._identity = os.stat(self._socket).st_ino
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._to_send, self._has_room = asyncio.Event(), asyncio.Event()
        self._has_room.set()
        self._is_left = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._why = ""
        self._listening: asyncio.Server | None = None

    async def run(self, listener: socket.socket) -> None:
        """Until the agent ends, or `end` is called."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.end, "it was asked to end")
        self._listening = await loop.create_unix_server(lambda: _Connection(self), sock=listener, **_LEAVES_PATH)
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._write)
                    await self._read()
                    tasks.cancel_scope.cancel()
        finally:
            self.give_up_socket()

    async def disconnect_all(self) -> None:
        """When the agent has ended."""
        ending, stderr = self._why or self._agent.ending(), "" if self._why else self._agent.last_words()
        for connection in list(self.connections):
            connection.close({"ending": ending, "stderr": stderr, "crashed": not self._why})
        while self.connections:
            self._is_left.clear()
            await self._is_left.wait()

    # -- the agent --------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        lines, pace = Lines(MAX_LINE_BYTES), Pace()
        while data := await self._agent.receive():
            for line, length in lines.feed(data):
                if length <= MAX_LINE_BYTES:
                    self.broker.take_from_agent(line)
                await pace()
            await pace()
            await self._has_room.wait()

    async def _write(self) -> None:
        try:
            while True:
                while not self._unsent:
                    self._to_send.clear()
                    await self._to_send.wait()
                await self._agent.send(self._unsent[0])
                self._unsent_bytes -= len(self._unsent.popleft())
                if self._unsent_bytes <= MAX_UNSENT_BYTES // 2:
                    self._read_kernels(wanted=True)
        except AgentError:  # it has closed its input, and should end by itself
            self.later(END_SECONDS, self._scope.cancel)

    def _read_kernels(self, *, wanted: bool) -> None:
        if wanted != self._has_room.is_set():
            (self._has_room.set if wanted else self._has_room.clear)()
            for connection in self.connections:
                connection.read(wanted=wanted)

    def send(self, line: bytes) -> None:
        self._unsent.append(line)
        self._unsent_bytes += len(line)
        self._to_send.set()
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            self._read_kernels(wanted=False)

    # -- the end ----------------------------------------------------------------------------------------------------

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, work)

    def give_up_socket(self) -> None:
        """First the path and then the listener: whoever still connects finds that nobody answers, and starts anew."""
        if self._listening is None:
            return
        with suppress(OSError):
            if os.stat(self._socket).st_ino == self._identity:
                self._socket.unlink()
        self._listening.close()
        self._listening = None

    def end(self, why: str) -> None:
        self._why = self._why or why
        self.give_up_socket()
        self._scope.cancel()

    # -- kernels ----------------------------------------------------------------------------------------------------

    @property
    def unread(self) -> int:
        """Bytes that wait for all kernels."""
        return sum(connection.unread for connection in self.connections)

    def join(self, connection: _Connection, hello: dict[str, Any]) -> None:
        """A kernel has introduced itself."""
        grace, server = hello.get("grace"), hello.get("server")
        connection.grace = float(grace) if isinstance(grace, int | float) else connection.grace
        connection.send(self.welcome)
        self.broker.join(connection)
        self.lifetime.set_kernels(len(self.broker.kernels))
        patience = hello.get("patience")
        if isinstance(patience, int | float):
            self.later(0.9 * patience, lambda: self._explain(connection))
        if isinstance(server, int) and server > 1:
            self.lifetime.add_server(server)
        if len(self.broker.kernels) >= MAX_KERNELS:
            self.broker.take_no_more()

    def _explain(self, connection: _Connection) -> None:
        """Why the kernel may have waited in vain."""
        if not self.broker.is_ready:
            connection.send(wire.notification(wire.STDERR, {"stderr": self._agent.last_words()}))

    def leave(self, connection: _Connection) -> None:
        """Its connection has ended."""
        self.connections.discard(connection)
        self._is_left.set()
        if connection.has_joined:
            self.broker.leave(connection)
            self.lifetime.set_kernels(len(self.broker.kernels))


class _Connection(asyncio.Protocol):
    """A `Kernel` of the broker."""

    def __init__(self, server: _Server) -> None:
        self.grace = 5.0
        self.has_joined = False
        self._server = server
        self._lines = Lines(MAX_LINE_BYTES)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if not is_own(transport.get_extra_info("socket")):
            _log.warning("a connection of another user was refused")
            transport.abort()
            return
        self._transport = transport
        self._server.connections.add(self)

    def data_received(self, data: bytes) -> None:
        for line, length in self._lines.feed(data):
            if self._transport is None or self._transport.is_closing():
                return
            if length <= MAX_LINE_BYTES and line:
                self._take(line)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._server.leave(self)

    def _take(self, line: Line) -> None:
        if self.has_joined:
            self._server.broker.take(self, line)
            return
        message = wire.read(line)
        if message is None or message.method != wire.HELLO:
            self.close({"ending": "it was not introduced"})
            return
        self.has_joined = True
        self._server.join(self, as_dict(msgspec.json.decode(message.params)))

    def send(self, line: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self.unread > ITS_SHARE and self._server.unread > MAX_UNREAD_BYTES:
            _log.warning("a kernel was disconnected: it does not read")
            self._transport.abort()
        else:
            self._transport.write(line)

    @property
    def unread(self) -> int:
        """Bytes that wait for the kernel to read them."""
        return self._transport.get_write_buffer_size() if self._transport else 0

    def disconnect(self, why: str) -> None:
        self.close({"ending": why, "stderr": "", "crashed": False})

    def close(self, exited: dict[str, Any]) -> None:
        """Send this last, as far as it is read within `END_SECONDS`."""
        if self._transport is not None and not self._transport.is_closing():
            self.send(wire.notification(wire.EXITED, exited))
            self._transport.close()
            self._server.later(END_SECONDS, self._transport.abort)

    def read(self, *, wanted: bool) -> None:
        """Read on, or stop reading."""
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()
