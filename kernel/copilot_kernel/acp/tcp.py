"""An agent that listens on a TCP port (`copilot --acp --port N`), and who else on this machine can use it.

ACP has no login, and neither has `copilot --acp --port`.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import anyio
from anyio.abc import SocketStream

from ..errors import AgentNotFound, CopilotError
from .locate import locate
from .transport import PIECE_BYTES, translating

OTHER_USERS = "other users of this machine ({})"
NO_ANSWER = "No agent answers at {}:{} ({})"
START_FIRST = "Start the agent first, for example: copilot --acp --port {}"
MIN_PERSON_UID = 500 if sys.platform == "darwin" else 1000
"""Accounts of people have this uid or a higher one."""
_NOBODY = 65534
_NO_LOGIN = frozenset({"nologin", "false"})


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
    """Who besides its owner can use the `agent` of the settings; empty if no one can, or if it is not a TCP address.

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


def other_users() -> Iterator[str]:
    """Names of other people's accounts: those that can log in here, and those that run a process now.

    Containers have no logins, whatever accounts their images have. Directories such as LDAP may not list their
    accounts, but know whose processes run.
    """
    if _has_logins():
        yield from (account.pw_name for account in pwd.getpwall() if _is_other_person(account))
    for uid in {each for each in _owners(Path("/proc")) if each >= MIN_PERSON_UID}:
        with suppress(KeyError):
            if _is_other_person(account := pwd.getpwuid(uid)):
                yield account.pw_name


def _has_logins() -> bool:
    """Whether this is an operating system rather than a container; see `sd_booted` for the path."""
    return os.path.isdir("/run/systemd/system") or sys.platform == "darwin"


def _is_other_person(account: pwd.struct_passwd) -> bool:
    is_person = account.pw_uid >= MIN_PERSON_UID and account.pw_uid not in (_NOBODY, os.getuid())
    return is_person and os.path.basename(account.pw_shell) not in _NO_LOGIN


def _owners(proc: Path) -> Iterator[int]:
    """The uid of each process; nothing if there is no such folder."""
    for process in proc.glob("[0-9]*"):
        with suppress(OSError):
            yield process.stat().st_uid


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host.lower() == "localhost"
