"""An agent that listens on a TCP port (`copilot --acp --port N`), and who else on this machine can use it.

ACP has no login, and neither has `copilot --acp --port`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address

import anyio
from anyio.abc import SocketStream

from ..errors import AgentNotFound, CopilotError
from ..system.files import other_users
from ..system.processes import PIECE_BYTES
from .locate import locate
from .transport import translating

OTHER_USERS = "other users of this machine ({})"
NO_ANSWER = "No agent answers at {}:{} ({})"
START_FIRST = "Start the agent first, for example: copilot --acp --port {}"


@asynccontextmanager
async def agent_at(host: str, port: int) -> AsyncIterator[TcpTransport]:
    """Connect, and close at the exit. Raises AgentNotFound if nothing answers."""
    try:
        stream = await anyio.connect_tcp(host, port)
    except (OSError, UnicodeError) as error:
        hint = START_FIRST.format(port)
        raise AgentNotFound(NO_ANSWER.format(host, port, _reason(error)), hint) from error
    transport = TcpTransport(stream)
    try:
        yield transport
    finally:
        await transport.close()


class TcpTransport:
    """A transport over one TCP connection; closing it leaves the agent's process alone."""

    is_remote = True

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        with translating():
            await self._stream.send(data)

    async def receive(self) -> bytes:
        with suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return await self._stream.receive(PIECE_BYTES)
        return b""

    async def close(self) -> None:
        """Does not wait: unsent data is dropped."""
        with anyio.CancelScope(shield=True):
            await self._stream.aclose()

    def last_words(self) -> str:
        return ""

    def ending(self) -> str:
        return "it closed the connection"


def _reason(error: OSError | UnicodeError) -> str:
    """The reason for the first of several addresses that were tried."""
    cause = error.__cause__
    first = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause or error
    number = getattr(first, "errno", None)
    return os.strerror(number) if isinstance(number, int) and number > 0 else str(first)


# -- who else can use it ------------------------------------------------------------------------------------------


def exposed_to(agent: str) -> str:
    """Say who besides its owner can use the `agent` of the settings; empty if no one can, or if it is not a TCP
    address.

    Looks through the accounts and processes of this machine, so it does not belong in the event loop's thread.
    """
    try:
        address = locate(agent, {}).address if agent.strip().startswith("tcp://") else None
    except CopilotError:  # connecting reports it
        return ""
    if address is None:
        return ""
    if not _is_loopback(address[0]):
        return "everyone who can reach that address"
    other = next(other_users(), "")
    return OTHER_USERS.format(other) if other else ""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host.lower() == "localhost"
