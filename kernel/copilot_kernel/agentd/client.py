"""A kernel's way to the broker of its agent, which is started if there is none; that of a server is in its process."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import SocketAttribute, SocketStream
from msgspec import structs

from ..acp.lenient import as_dict, as_str, load
from ..acp.tcp import TcpTransport
from ..acp.transport import Transport
from ..config import Settings
from ..errors import AgentExited, AgentStartFailed
from ..sandbox import Sandbox
from . import wire
from .hub import Hub, LocalTransport
from .key import AgentSpec
from .sockets import OFF, is_own, listen, socket_path, unix_socket
from .start import StartSpec, Welcome, dump, restore

IDLE_SECONDS = 60.0
"""Time without kernels after which a broker ends its agent, in seconds."""
WELCOME_SECONDS = 10.0
"""Time in which a running broker must answer, in seconds; one that is stuck is replaced."""
MAX_WELCOME_BYTES = 4 * 1024 * 1024
LOG_TAIL = 2_000

Prepare = Callable[[Path], Awaitable[tuple[Sandbox | None, str]]]
"""Makes the agent's sandbox, with this folder for files that can be read inside; or says why there is none."""


class BrokerTransport:
    """A connection to a shared agent. Its `listeners` take the broker's notifications.

    `welcome` says whether the agent is in a sandbox; `kernels` counts all that use it.
    """

    is_remote = False

    def __init__(self, transport: Transport, welcome: Welcome, received: bytes) -> None:
        self._transport = transport
        self.welcome, self.kernels = welcome, 1
        self.listeners: Mapping[str, Callable[[Any], None]] = {
            wire.CLIENTS: self._count,
            wire.STDERR: self._explain,
            wire.EXITED: self._exited,
        }
        self._received = received
        self._ending, self._stderr = "the process that runs it for several notebooks closed the connection", ""

    async def send(self, data: bytes) -> None:
        await self._transport.send(data)

    async def receive(self) -> bytes:
        if self._received:
            received, self._received = self._received, b""
            return received
        return await self._transport.receive()

    async def close(self) -> None:
        await self._transport.close()

    def ending(self) -> str:
        return self._ending

    def last_words(self) -> str:
        return self._stderr

    def _count(self, params: Any) -> None:
        count = as_dict(params).get("count")
        self.kernels = count if isinstance(count, int) else self.kernels

    def _explain(self, params: Any) -> None:
        self._stderr = as_str(as_dict(params).get("stderr"))

    def _exited(self, params: Any) -> None:
        """The agent has ended, or the broker parts with this kernel alone."""
        members = as_dict(params)
        self._ending, self._stderr = as_str(members.get("ending")), as_str(members.get("stderr"))
        self.is_remote = not members.get("crashed")


@asynccontextmanager
async def shared_agent(
    spec: AgentSpec, prepare: Prepare, *, runtime: Path, idle: float
) -> AsyncIterator[BrokerTransport]:
    """Connect to the agent that notebooks with the same `spec` share, and disconnect at the exit.

    `idle`: seconds in which the agent stays when the last kernel has left. Raises AgentStartFailed.
    """
    hello = _hello(spec.settings)
    try:
        path = socket_path(runtime, spec.digest)
        transport = await _dial(path, hello) or await _dial_or_start(path, hello, spec, prepare, idle)
    except OSError as error:
        raise AgentStartFailed(f"The agent cannot be shared: {error}", OFF) from error
    try:
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def local_agent(hub: Hub, settings: Settings) -> AsyncIterator[BrokerTransport]:
    """Connect to an agent of this process, and disconnect at the exit. Raises AgentStartFailed."""
    transport = LocalTransport(hub)
    try:
        yield await _introduced(transport, _hello(settings))
    except ValueError as error:
        raise AgentStartFailed("The agent has ended", ended=True) from error
    finally:
        await transport.close()


def _hello(settings: Settings) -> dict[str, float]:
    return {"grace": settings.cancel_grace, "patience": settings.start_timeout}


async def _dial_or_start(
    path: Path, hello: dict[str, float], spec: AgentSpec, prepare: Prepare, idle: float
) -> BrokerTransport:
    from filelock import AsyncFileLock

    log = path.with_suffix(".log")
    lock = AsyncFileLock(path.with_suffix(".lock"), mode=0o600, run_in_executor=False, preserve_lock_file=True)
    async with lock:  # nobody else starts a broker for this socket meanwhile
        if transport := await _dial(path, hello):
            return transport
        await _start(path, log, spec, prepare, idle)
        transport = await _dial(path, hello, seconds=math.inf)
    if transport is None:
        lines = log.read_text("utf-8", "replace")[-LOG_TAIL:].strip()
        raise AgentStartFailed(f"{spec.launch.label} could not be started.\n{lines}", f"See {log}. {OFF}", lines)
    return transport


async def _start(path: Path, log: Path, spec: AgentSpec, prepare: Prepare, idle: float) -> None:
    """Start the broker, which is nobody's child: it ends when it is not needed."""
    folder = Path(tempfile.mkdtemp(prefix="copilot-kernel-"))
    try:
        sandbox, unsandboxed = await prepare(folder)
        welcome = Welcome(sandbox, unsandboxed)
        start = structs.replace(spec.start, socket=str(path), folder=str(folder), welcome=welcome, idle=idle)
        environ = spec.environ if sandbox is None else sandbox.environment(spec.environ)
        with anyio.CancelScope(shield=True):  # once it runs, the folder is the broker's
            await to_thread.run_sync(_spawn, path, log, start, dict(environ))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _spawn(path: Path, log: Path, start: StartSpec, environ: dict[str, str]) -> None:
    """The socket is ours until the broker has it, so that it can be connected to at once. Raises OSError."""
    with tempfile.TemporaryFile() as stdin, closing(listen(path)) as listener, open(log, "wb", opener=_private) as out:
        stdin.write(json.dumps(dump(start)).encode("ascii"))  # paths and arguments may hold bytes that are no text
        stdin.seek(0)
        command = (sys.executable, "-P", "-m", "copilot_kernel.agentd", str(listener.fileno()))
        subprocess.run(
            command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=out, cwd="/", env=environ,
            pass_fds=(listener.fileno(),), start_new_session=True, check=False,
        )  # fmt: skip


def _private(path: str, flags: int) -> int:
    """Open a file that only the user can read. Its folder is private, so the path is no one else's link."""
    return os.open(path, flags | os.O_APPEND, 0o600)


async def _dial(path: Path, hello: dict[str, float], seconds: float | None = None) -> BrokerTransport | None:
    """Connect to the broker; None if none answers within `seconds` (`WELCOME_SECONDS`) or takes more kernels."""
    try:
        stream = await _connected(path)
    except OSError:
        return None
    transport = None
    try:
        with (
            anyio.move_on_after(WELCOME_SECONDS if seconds is None else seconds),
            suppress(AgentExited, ValueError),
        ):
            if is_own(stream.extra(SocketAttribute.raw_socket)):
                transport = await _introduced(TcpTransport(stream), hello)
    finally:
        if transport is None:
            with anyio.CancelScope(shield=True):
                await anyio.aclose_forcefully(stream)
    return transport


async def _connected(path: Path) -> SocketStream:
    """Raises OSError. What `anyio.connect_unix` returns fails in the loop if data comes as `receive` is cancelled."""
    connection = unix_socket()
    try:
        connection.setblocking(False)
        connection.connect(os.fspath(path))
        return await SocketStream.from_socket(connection)
    except BaseException:
        connection.close()
        raise


async def _introduced(transport: Transport, hello: dict[str, float]) -> BrokerTransport:
    """Raises AgentExited, and ValueError if the message is not a welcome."""
    await transport.send(wire.notification(wire.HELLO, hello))
    received = b""
    while b"\n" not in received:
        data = await transport.receive()
        received += data
        if not data or len(received) > MAX_WELCOME_BYTES:
            raise ValueError("no welcome")
    line, _, rest = received.partition(b"\n")
    message = as_dict(load(line))
    if message.get("method") != wire.WELCOME:
        raise ValueError("no welcome")
    return BrokerTransport(transport, restore(message.get("params"), Welcome), rest)
