"""A transport in memory."""

from contextlib import suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from copilot_kernel.acp.transport import translating


class MemoryTransport:
    """One end of `memory_pair()`."""

    def __init__(self, sender: MemoryObjectSendStream[bytes], receiver: MemoryObjectReceiveStream[bytes]) -> None:
        self._sender, self._receiver = sender, receiver

    async def send(self, data: bytes) -> None:
        with translating():
            await self._sender.send(data)

    async def receive(self) -> bytes:
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            return await self._receiver.receive()
        return b""

    async def close(self) -> None:
        self._sender.close()
        self._receiver.close()


def memory_pair(pieces: int = 16) -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected ends; a send waits while `pieces` of them have not been received."""
    to_right, from_left = anyio.create_memory_object_stream[bytes](pieces)
    to_left, from_right = anyio.create_memory_object_stream[bytes](pieces)
    return MemoryTransport(to_right, from_right), MemoryTransport(to_left, from_left)
