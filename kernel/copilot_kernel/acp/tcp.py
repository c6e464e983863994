"""An agent that listens on a TCP port (`copilot --acp --port N`); the same lines as on a pipe."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import SocketStream

from ..errors import AgentNotFound
from .transport import PIECE, translating


@asynccontextmanager
async def agent_at(host: str, port: int) -> AsyncIterator[TcpTransport]:
    """Connect, and close at the exit. Raises AgentNotFound where nothing answers."""
    try:
        stream = await anyio.connect_tcp(host, port)
    except (OSError, UnicodeError) as error:
        hint = f"Start the agent first, for example: copilot --acp --port {port}"
        raise AgentNotFound(f"No agent answers at {host}:{port} ({_reason(error)})", hint) from error
    transport = TcpTransport(stream)
    try:
        yield transport
    finally:
        await transport.close()


class TcpTransport:
    """A transport over one TCP connection. The agent's process is not ours: closing ends the connection only."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        with translating():
            await self._stream.send(data)

    async def receive(self) -> bytes:
        with suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return await self._stream.receive(PIECE)
        return b""

    async def close(self) -> None:
        """Nothing is waited for: what was not sent by now is dropped."""
        with anyio.CancelScope(shield=True):
            await self._stream.aclose()

    def last_words(self) -> str:
        return ""

    def ending(self) -> str:
        return "it closed the connection"


def _reason(error: OSError | UnicodeError) -> str:
    """Of several addresses that were tried, the first one's."""
    cause = error.__cause__
    first = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause or error
    number = getattr(first, "errno", None)
    return os.strerror(number) if isinstance(number, int) and number > 0 else str(first)
