"""The broker as a process: kernels on its socket, the agent on pipes; no side waits for another."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import SocketStream

from ..acp.locate import Launch
from ..acp.mcp import with_mcp_flag
from ..acp.process import agent_process
from ..acp.transport import AgentTransport, single_error
from ..system.processes import PIECE_BYTES
from .hub import LAST_SECONDS, Client, Hub
from .sockets import is_own
from .start import StartSpec

_log = logging.getLogger(__name__)


async def serve(spec: StartSpec, listener: socket.socket) -> None:
    """Run the agent for those who connect to `listener`, until nobody needs it. Raises AgentError."""
    folder = Path(spec.folder) if spec.welcome.sandbox else None
    launch = Launch(spec.argv, label=spec.label, is_copilot=spec.is_copilot)
    with with_mcp_flag(launch, spec.servers, folder) as launch:
        prefix = spec.welcome.sandbox.command((), spec.cwd, os.environ) if spec.welcome.sandbox else ()
        with single_error():
            async with agent_process((*prefix, *launch.argv), spec.cwd, environ=os.environ) as agent:
                server = Server(spec, agent)
                await server.listen(listener)
        await server.disconnect_all()


class Server(Hub):
    """A hub whose kernels come through a socket."""

    def __init__(self, spec: StartSpec, agent: AgentTransport) -> None:
        super().__init__(agent, spec.welcome, spec.idle, spec.answer_form)
        self._socket = Path(spec.socket)
        self._identity = os.stat(self._socket).st_ino
        self._serving: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None

    async def listen(self, listener: socket.socket) -> None:
        """Take connections until the agent ends or `end` is called."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.end, "it was asked to end")
        self._accepting = loop.create_task(self._accept(listener))
        await self.run()

    def give_up_socket(self) -> None:
        """First the path and then the listener: whoever still connects finds that nobody answers, and starts anew."""
        with suppress(OSError):
            if os.stat(self._socket).st_ino == self._identity:
                self._socket.unlink()
        if self._accepting is not None:
            self._accepting.cancel()

    async def disconnect_all(self) -> None:
        await super().disconnect_all()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            listener.setblocking(False)
            while True:
                peer, _ = await loop.sock_accept(listener)
                task = loop.create_task(self._serve(peer))
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)

    async def _serve(self, peer: socket.socket) -> None:
        """One kernel, until it has left or has read the end."""
        if not is_own(peer):
            _log.warning("a connection of another user was refused")
            peer.close()
            return
        async with await SocketStream.from_socket(peer) as stream:
            client = Client(self)
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_read_kernel, client, stream)
                    tasks.start_soon(_write_kernel, client, stream, tasks.cancel_scope)
                    await client.over.wait()
                    tasks.cancel_scope.deadline = anyio.current_time() + LAST_SECONDS
            finally:
                client.leave()


async def _read_kernel(client: Client, stream: SocketStream) -> None:
    with suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            client.take(await stream.receive(PIECE_BYTES))
    client.leave()


async def _write_kernel(client: Client, stream: SocketStream, scope: anyio.CancelScope) -> None:
    with suppress(OSError, anyio.BrokenResourceError):
        while piece := await client.receive():
            await stream.send(piece)
    scope.cancel()
