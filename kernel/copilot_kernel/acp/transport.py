"""Move bytes: the transport protocol, and one over two file descriptors.

`process.py` and `tcp.py` hold the others. A transport raises nothing but `AgentExited`, and its end is `b""`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

import anyio
from anyio.lowlevel import checkpoint

from ..errors import AgentExited
from ..system.processes import PipeReader, PipeWriter

SLICE_SECONDS = 0.004
"""Time of work without a wait, after which the other tasks of the loop get a turn."""


class Transport(Protocol):
    """One end of a connection."""

    async def send(self, data: bytes) -> None:
        """Raises AgentExited. A cancelled send has sent `data` whole, or not at all, or sends it before the next."""

    async def receive(self) -> bytes:
        """The next piece of any size; `b""` is the end. Never raises; need not wait."""

    async def close(self) -> None:
        """End both directions; may be called again. Never takes longer than a few seconds."""


class AgentTransport(Transport, Protocol):
    """A connection to an agent: its process, or one that runs elsewhere."""

    is_remote: bool
    """The agent's process is not ours."""

    def ending(self) -> str:
        """Return how the connection ended, in words."""

    def last_words(self) -> str:
        """The end of the agent's standard error; empty if there is none."""


@contextmanager
def translating() -> Iterator[None]:
    """Turn the errors of the operating system and of anyio for a broken pipe into `AgentExited`."""
    try:
        yield
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        raise AgentExited(f"The connection to the agent is closed ({error or type(error).__name__})") from error


@contextmanager
def single_error() -> Iterator[None]:
    """Unwrap the group around a single error that a task group raises."""
    try:
        yield
        return
    except BaseExceptionGroup as group:
        if len(group.exceptions) != 1:
            raise
        error = group.exceptions[0]
    raise error


class Pace:
    """Call it after each piece of work: other tasks run when `SLICE_SECONDS` has passed without a wait."""

    def __init__(self) -> None:
        self._began = monotonic()

    async def __call__(self) -> None:
        if monotonic() - self._began > SLICE_SECONDS:
            await checkpoint()
            self._began = monotonic()


class PipeTransport:
    """Bytes over two file descriptors, which it closes."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reader, self._writer = PipeReader(reading), PipeWriter(writing)
        self._pace = Pace()

    @property
    def has_unsent(self) -> bool:
        """The other side has not read everything yet."""
        return self._writer.has_unsent

    async def send(self, data: bytes) -> None:
        with translating():
            await self._writer.send(data)
        await self._pace()

    async def receive(self) -> bytes:
        return await self._reader.receive()

    async def close(self) -> None:
        self.close_writing()
        self._reader.close()

    def close_writing(self) -> None:
        """Let the other side see the end of its input, without waiting for it."""
        self._writer.close()
