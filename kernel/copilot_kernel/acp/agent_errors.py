"""What can go wrong between us and the agent, in words: at the start, at its end, for want of a sign-in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import AgentExited, AgentStartFailed, AuthRequired, ProtocolUnsupported
from .messages import AgentInfo
from .process import ProcessTransport
from .tcp import TcpTransport

AgentTransport = ProcessTransport | TcpTransport

LAST_LINES = 10
HINT = "Run the command in a terminal to see what it says, or give it more time (COPILOT_KERNEL_START_TIMEOUT)."


class AgentErrors:
    """The errors of one connection to the agent that is called `label`."""

    def __init__(self, label: str, transport: AgentTransport) -> None:
        self.label, self._transport = label, transport
        self._remote = isinstance(transport, TcpTransport)

    def exited(self) -> AgentExited:
        """The connection has ended."""
        verb = "connects to it" if self._remote else "starts it"
        hint = f"The next prompt {verb} again; its memory of this conversation may be lost."
        message = f"{self.label} is gone: {self._transport.ending()}"
        return AgentExited(message, hint, self._transport.last_words(), remote=self._remote)

    def start_failed(self, what: str, *, ended: bool = False) -> AgentStartFailed:
        """It did not become ready; with its last lines."""
        words = self._transport.last_words()
        lines = "\n".join(words.splitlines()[-LAST_LINES:])
        message = f"{self.label} {what}" + (f"\n{lines}" if lines else "")
        return AgentStartFailed(message, HINT, words, ended, remote=self._remote)

    def unsupported(self, info: AgentInfo) -> ProtocolUnsupported:
        """It speaks another version of the protocol."""
        theirs = "none" if info.protocol_version is None else info.protocol_version
        message = f"{self.label} speaks version {theirs!s:.40} of the protocol; this client speaks version 1"
        return ProtocolUnsupported(message, "Install a version of the agent that speaks version 1.")

    def last_words(self) -> str:
        """The last lines of its standard error."""
        return self._transport.last_words()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """An end in here is a start that failed."""
        try:
            yield
        except AgentExited as error:
            raise self.start_failed(f"ended before it was ready: {self._transport.ending()}", ended=True) from error


@contextmanager
def signing_in(info: AgentInfo) -> Iterator[None]:
    """How to sign in, the agent told at the start (spec: authentication)."""
    try:
        yield
    except AuthRequired as error:
        hint = "" if info.auth_methods else no_way_to_sign_in(info)
        raise AuthRequired(error.method, str(error), error.data, info.auth_methods, hint) from error


def no_way_to_sign_in(info: AgentInfo) -> str:
    """For an agent whose `authMethods` are empty."""
    return f"{info.title or info.name or 'The agent'} names no way to sign in; its documentation has one."
