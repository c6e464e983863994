"""Kernels on a socket, line by line, and an agent in memory for the broker's process."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from copilot_kernel.acp.jsonrpc import MAX_LINE_BYTES, Lines
from copilot_kernel.agentd.client import shared_agent
from copilot_kernel.agentd.key import AgentSpec
from copilot_kernel.agentd.server import Server
from copilot_kernel.agentd.sockets import listen, socket_path
from copilot_kernel.agentd.start import StartSpec, Welcome
from copilot_kernel.system.processes import PIECE_BYTES

Json = dict[str, Any]


async def no_sandbox(folder: Path) -> tuple[None, str]:
    return None, ""


class Wire:
    """One kernel, line by line."""

    def __init__(self, transport: Any) -> None:
        self.transport, self._lines, self._read = transport, Lines(MAX_LINE_BYTES), list[Any]()

    async def request(self, id: int, method: str, **params: Any) -> Any:
        """What is answered; it waits for that only."""
        await self.send(id, method, **params)
        while True:
            message = await self.receive()
            if message.get("id") == id:
                return message.get("result")

    async def send(self, id: int, method: str, **params: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        await self.transport.send(line.encode() + b"\n")

    async def receive(self) -> Any:
        while not self._read:
            data = await self.transport.receive()
            assert data, "the connection has ended"
            self._read += [json.loads(line) for line, _ in self._lines.feed(data) if line]
        return self._read.pop(0)

    async def opened(self) -> str:
        await self.request(1, "initialize", protocolVersion=1)
        session: str = (await self.request(2, "session/new", cwd="/", mcpServers=[]))["sessionId"]
        return session


@asynccontextmanager
async def joined(spec: AgentSpec, runtime: Path) -> AsyncIterator[Wire]:
    async with shared_agent(spec, no_sandbox, runtime=runtime, idle=60) as transport:
        yield Wire(transport)


def prompt(text: str) -> list[Any]:
    return [{"type": "text", "text": text}]


class OneThreadAgent:
    """One that reads nothing while what it writes is not read, as programs of one thread do."""

    is_remote = False

    def __init__(self) -> None:
        self.got: list[Json] = []
        self.reads = anyio.Event()
        self._written, self._to_read = anyio.create_memory_object_stream[bytes](0)
        self.pipe = ExitStack()
        for stream in (self._written, self._to_read):
            self.pipe.enter_context(stream)
        self._lines, self._changed = Lines(MAX_LINE_BYTES), anyio.Event()

    async def write(self, *messages: Json) -> None:
        """Returns when the broker has read all of it."""
        data = b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in messages)
        for start in range(0, len(data), PIECE_BYTES):
            await self._written.send(data[start : start + PIECE_BYTES])

    async def take(self, method: str) -> Json:
        """The next message with this method; those before it are dropped."""
        while True:
            while self.got:
                if (message := self.got.pop(0)).get("method") == method:
                    return message
            self._changed = anyio.Event()
            await self._changed.wait()

    async def begin(self, session: str) -> None:
        """Answer as much as gives a kernel this session."""
        if session == "0":
            await self.write({"id": (await self.take("initialize"))["id"], "result": {}})
        await self.write({"id": (await self.take("session/new"))["id"], "result": {"sessionId": session}})

    async def send(self, data: bytes) -> None:
        await self.reads.wait()
        self.got += [json.loads(line) for line, _ in self._lines.feed(data) if line]
        self._changed.set()

    async def receive(self) -> bytes:
        try:
            return await self._to_read.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return b""

    async def close(self) -> None:
        self._written.close()

    def ending(self) -> str:
        return "it ended"

    def last_words(self) -> str:
        return ""


@asynccontextmanager
async def serving(spec: AgentSpec, runtime: Path, agent: OneThreadAgent) -> AsyncIterator[Server]:
    """The broker of this key, in this process."""
    path = socket_path(runtime, spec.digest)
    listener = listen(path)
    server = Server(StartSpec((), "/", str(path), "", Welcome(), 60), agent)
    with agent.pipe:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_run, server, listener)
            yield server
            server.end("the test is over")


async def _run(server: Server, listener: socket.socket) -> None:
    await server.listen(listener)
    await server.disconnect_all()
