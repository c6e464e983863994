"""The broker as a process: kernels on its socket, the agent on pipes, and nobody waits for anybody else.

The agent is read from whatever happens: many read nothing while they cannot write, so two that wait for each other
would never go on. A kernel that is too far behind is disconnected (`connection.py`).
"""

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

from ..acp.jsonrpc import MAX_LINE_BYTES, Lines
from ..acp.locate import Launch
from ..acp.mcp import with_mcp_flag
from ..acp.process import agent_process
from ..acp.transport import AgentTransport, Pace, single_error
from ..errors import AgentError
from . import wire
from .broker import Broker
from .connection import Connection
from .lifetime import Lifetime
from .start import StartSpec

MAX_KERNELS = 64
"""On one agent; the next one starts another."""
MAX_UNSENT_BYTES = 4 * 1024 * 1024
"""For an agent that does not read; then no kernel is read from, until it does. What it writes is always read."""
MAX_OWED_BYTES = MAX_UNSENT_BYTES + MAX_LINE_BYTES + 32 * 1024 * 1024
"""For an agent that does not read, with the last line of a kernel and the broker's own answers; then it is ended."""
LOOK_SECONDS = 1.0
"""Between two looks at whether a kernel that is not read from has left."""
END_SECONDS = 1.0
"""For an agent that has closed its input to end by itself."""

NOT_READING = "it does not read what it is sent"

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
                server = Server(spec, agent)
                await server.run(listener)
        await server.disconnect_all()


class Server:
    """The `Host` of the broker."""

    def __init__(self, spec: StartSpec, agent: AgentTransport) -> None:
        self.welcome = wire.notification(wire.WELCOME, msgspec.to_builtins(spec.welcome))
        self.broker = Broker(self, spec.answer_form)
        self.lifetime = Lifetime(spec.idle, lambda: self.end("no notebook needs it"))
        self.connections: set[Connection] = set()
        self._socket, self._agent = Path(spec.socket), agent
        self._identity = os.stat(self._socket).st_ino
        self._unsent: deque[bytes] = deque()
        self.unsent_bytes = 0
        self.is_full = False
        """What waits for the agent is so much that no kernel is read from."""
        self._is_looking = False
        self._to_send = asyncio.Event()
        self._is_left = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._why = ""
        self._listening: asyncio.Server | None = None

    async def run(self, listener: socket.socket) -> None:
        """Until the agent ends, or `end` is called."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.end, "it was asked to end")
        self._listening = await loop.create_unix_server(lambda: Connection(self), sock=listener, **_LEAVES_PATH)
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

    async def _write(self) -> None:
        try:
            while True:
                while not self._unsent:
                    self._to_send.clear()
                    await self._to_send.wait()
                await self._agent.send(self._unsent[0])
                self.unsent_bytes -= len(self._unsent.popleft())
                if self.is_full and self.unsent_bytes <= MAX_UNSENT_BYTES // 2:
                    self.is_full = False
                    self._read_kernels()
        except AgentError:  # it has closed its input, and should end by itself
            self.later(END_SECONDS, self._scope.cancel)

    def send(self, line: bytes) -> None:
        self._unsent.append(line)
        self.unsent_bytes += len(line)
        self._to_send.set()
        if self.unsent_bytes > MAX_OWED_BYTES:
            self.end(NOT_READING)
        elif self.unsent_bytes > MAX_UNSENT_BYTES and not self.is_full:
            self.is_full = True
            self._read_kernels()
            if not self._is_looking:
                self._look_again()

    def _read_kernels(self) -> None:
        for connection in self.connections:
            connection.read(wanted=not self.is_full)

    def _look(self) -> None:
        self._is_looking = False
        if self.is_full:
            for connection in self.connections:
                connection.look()
            self._look_again()

    def _look_again(self) -> None:
        self._is_looking = True
        self.later(LOOK_SECONDS, self._look)

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

    def join(self, connection: Connection, hello: dict[str, Any]) -> None:
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

    def _explain(self, connection: Connection) -> None:
        """Why the kernel may have waited in vain. The next one gets another agent."""
        if not self.broker.is_ready:
            self.broker.take_no_more()
            connection.send(wire.notification(wire.STDERR, {"stderr": self._agent.last_words()}))

    def leave(self, connection: Connection) -> None:
        """Its connection has ended."""
        self.connections.discard(connection)
        self._is_left.set()
        if connection.has_joined:
            self.broker.leave(connection)
            self.lifetime.set_kernels(len(self.broker.kernels))
