"""A broker in the process that runs it: its agent, its kernels, and what waits for either of them.

Agent and kernels are read whatever happens: many read nothing while they cannot write, so two that wait for each other
would never go on. Instead, what waits is bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import anyio

from ..acp.jsonrpc import MAX_LINE_BYTES, Line, Lines
from ..acp.transport import AgentTransport, Pace
from ..errors import AgentError, AgentExited
from . import wire
from .broker import Broker
from .start import Welcome, dump

MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Limit of what waits for slow kernels. Beyond it, kernels are disconnected that have `ITS_SHARE` of it."""
ITS_SHARE = MAX_UNREAD_BYTES // 8
PIECE_BYTES = 256 * 1024
"""Size of the pieces in which a kernel gets its lines."""
MAX_UNSENT_BYTES = 256 * 1024 * 1024
"""Limit of what waits for an agent that does not read. Beyond it, the agent is ended."""
CONNECT_SECONDS = 1.0
"""Time for the first kernel to connect, also where agents end as soon as nobody needs them."""
LAST_SECONDS = 1.0
"""Time for an agent to end after its input was closed, and for a kernel to read the end of its connection."""

NOT_READING = "it does not read its messages"
NOT_INTRODUCED = "it did not say which kernel it is"
UNNEEDED = "no notebook needs it"
LEFT = "The connection to the agent is closed"

_log = logging.getLogger(__name__)


class Client:
    """A `Kernel` of the broker: `take` gets what it writes, `receive` returns what it shall read."""

    def __init__(self, hub: Hub) -> None:
        self.grace = 5.0
        self.over = anyio.Event()
        """Set when nothing more comes than what waits."""
        self.unread = 0
        """Bytes that wait for it, those included that it was given last."""
        self._given = 0
        self._hub, self._lines = hub, Lines(MAX_LINE_BYTES)
        self._waiting: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._has_joined = False
        hub.clients.add(self)

    def take(self, data: bytes) -> None:
        """Take what the kernel has written."""
        for line, length in self._lines.feed(data):
            if line and length <= MAX_LINE_BYTES and not self.over.is_set():
                self._take(line)

    def _take(self, line: Line) -> None:
        if self._has_joined:
            self._hub.broker.take(self, line)
        elif (message := wire.read(line)) and message.method == wire.HELLO:
            self._has_joined = True
            self._hub.join(self, wire.members(message.params))
        else:
            self.close({"ending": NOT_INTRODUCED})

    async def receive(self) -> bytes:
        """Wait for the next lines; empty at the end. Not before the next call do they count as read."""
        self.unread -= self._given
        self._given = 0
        self._hub.was_read.set()
        while not self._waiting:
            if self.over.is_set():
                return b""
            self._changed.clear()
            await self._changed.wait()
        lines = list[bytes]()
        while self._waiting and self._given < PIECE_BYTES:
            lines.append(self._waiting.popleft())
            self._given += len(lines[-1])
        return b"".join(lines)

    def send(self, line: bytes) -> None:
        if self.over.is_set():
            return
        if self.unread > ITS_SHARE and self._hub.unread > MAX_UNREAD_BYTES:
            _log.warning("a kernel was disconnected: it does not read")
            self._end()
            return
        self._waiting.append(line)
        self.unread += len(line)
        self._changed.set()

    def disconnect(self, why: str) -> None:
        self.close({"ending": why, "stderr": "", "crashed": False})

    def close(self, exited: dict[str, Any]) -> None:
        """Let it read this last."""
        self.send(wire.notification(wire.EXITED, exited))
        self.over.set()
        self._changed.set()

    def leave(self) -> None:
        """Note that the other end no longer reads."""
        self._end()
        self._hub.leave(self)

    def _end(self) -> None:
        self._waiting.clear()
        self.unread = self._given
        self.over.set()
        self._changed.set()


class LocalTransport:
    """The way of a conversation in this process to the hub."""

    def __init__(self, hub: Hub) -> None:
        self._client = Client(hub)

    async def send(self, data: bytes) -> None:
        if self._client.over.is_set():
            raise AgentExited(LEFT)
        self._client.take(data)

    async def receive(self) -> bytes:
        return await self._client.receive()

    async def close(self) -> None:
        self._client.leave()


class Hub:
    """The `Host` of a broker. It ends `idle` seconds after its last kernel has left.

    `waits_for_kernels`: the agent is not read while much waits for them. Only where they read in any case.
    """

    def __init__(
        self,
        agent: AgentTransport,
        welcome: Welcome,
        idle: float,
        answer_form: str = "nested",
        *,
        waits_for_kernels: bool = False,
    ) -> None:
        self.broker = Broker(self, answer_form)
        self.clients: set[Client] = set()
        self.was_read = asyncio.Event()
        self._idle = idle
        self._idle_end = self.later(max(idle, CONNECT_SECONDS), lambda: self.end(UNNEEDED))
        self._welcome = wire.notification(wire.WELCOME, dump(welcome))
        self._agent, self._waits_for_kernels = agent, waits_for_kernels
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._to_send = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._why = ""

    async def run(self) -> None:
        """Route messages until the agent ends or `end` is called."""
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._write)
                    await self._read()
                    tasks.cancel_scope.cancel()
        finally:
            self.broker.take_no_more()

    async def disconnect_all(self) -> None:
        """Disconnect every kernel, because the agent has ended."""
        ending, stderr = self._why or self._agent.ending(), "" if self._why else self._agent.last_words()
        crashed = not (self._why or self._agent.is_remote)
        for client in tuple(self.clients):
            client.close({"ending": ending, "stderr": stderr, "crashed": crashed})

    # -- the agent --------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        lines, pace = Lines(MAX_LINE_BYTES), Pace()
        while data := await self._agent.receive():
            for line, length in lines.feed(data):
                if length <= MAX_LINE_BYTES:
                    self.broker.take_from_agent(line)
                await pace()
            await pace()
            while self._waits_for_kernels and self.unread > ITS_SHARE:
                self.was_read.clear()
                await self.was_read.wait()

    async def _write(self) -> None:
        try:
            while True:
                while not self._unsent:
                    self._to_send.clear()
                    await self._to_send.wait()
                await self._agent.send(self._unsent[0])
                self._unsent_bytes -= len(self._unsent.popleft())
        except AgentError:  # it has closed its input, and should end by itself
            self.later(LAST_SECONDS, self._scope.cancel)

    def send(self, line: bytes) -> None:
        self._unsent.append(line)
        self._unsent_bytes += len(line)
        self._to_send.set()
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            self.end(NOT_READING)

    # -- the end ----------------------------------------------------------------------------------------------------

    def later(self, seconds: float, work: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, work)

    def give_up_socket(self) -> None:
        """Stop taking connections; a hub without a socket does nothing."""

    def end(self, why: str) -> None:
        self._why = self._why or why
        self.broker.take_no_more()
        self._scope.cancel()

    # -- kernels ----------------------------------------------------------------------------------------------------

    @property
    def unread(self) -> int:
        """Bytes that wait for all kernels."""
        return sum(client.unread for client in self.clients)

    def join(self, client: Client, hello: dict[str, Any]) -> None:
        """A kernel has introduced itself."""
        grace, patience = hello.get("grace"), hello.get("patience")
        client.grace = float(grace) if isinstance(grace, int | float) else client.grace
        client.send(self._welcome)
        self.broker.join(client)
        self._idle_end.cancel()
        if isinstance(patience, int | float):
            self.later(0.9 * patience, lambda: self._explain(client))

    def _explain(self, client: Client) -> None:
        """Why the kernel may have waited in vain. The next one gets another agent."""
        if not self.broker.is_ready:
            self.broker.take_no_more()
            client.send(wire.notification(wire.STDERR, {"stderr": self._agent.last_words()}))

    def leave(self, client: Client) -> None:
        """Forget a kernel whose connection has ended."""
        self.clients.discard(client)
        self.was_read.set()
        self.broker.leave(client)
        if not self.broker.kernels:
            self._idle_end.cancel()
            self._idle_end = self.later(self._idle, lambda: self.end(UNNEEDED))
