"""Everything that can go wrong, in one tree.

CopilotError                what happened (`str`), and what to do next (`hint`)
├─ AgentError               the agent, or the pipe to it
│  ├─ AgentNotFound         no such command
│  ├─ AgentStartFailed      it started, but did not answer `initialize` or `session/new` in time or at all
│  ├─ AgentExited           the process or the connection ended while we were waiting
│  ├─ AgentRefused          it answered with a JSON-RPC error
│  │  ├─ AuthRequired       it wants a sign-in first (code -32000)
│  │  ├─ ConnectionLost     it has lost a connection that it needs (a dialect's -32000)
│  │  ├─ ResourceNotFound   it does not know the session or file (code -32002)
│  │  └─ SessionExpired     it has ended the session (a dialect's -32003)
│  ├─ ModelFailed           its model could not answer, which it reported as text
│  └─ ProtocolUnsupported   it does not speak version 1 of the protocol
├─ HostError                the agent asked something of us, a file or a terminal, that we could not do
│  ├─ HostMissing           there is no such file or terminal
│  └─ HostRefused           we do not do that: it is outside, too large, no regular file, or makes no sense
└─ UsageError               the user typed or configured something that we do not understand
   └─ SessionInUse          another conversation has that session open
"""

from __future__ import annotations

from traceback import format_tb
from typing import Any, Literal

from .redaction import redactor

FailureReason = Literal["sign-in", "key", "quota", "network", "context", "bug"]
"""`key` is the one of a model provider of the user's own; `bug` is everything else."""


class CopilotError(Exception):
    """What happened, in words for the user; `hint` says what to do next and may be empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class AgentError(CopilotError):
    """The agent, or the pipe to it, failed.

    Errors of this kind quote the agent, and end up in cards, notebooks, logs and terminals: they never hold a secret.
    """

    signed_out = False
    """A sign-in helps, after which the agent has to be started again: it reads its credentials when it starts."""
    crashed = False
    """A process that we started has ended by itself. A lost or refused TCP connection says nothing of the agent."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(redactor().text(message), hint)


class AgentNotFound(AgentError):
    """There is no such command or host."""


class AgentStartFailed(AgentError):
    """The agent was started but did not become ready; `stderr` holds its last lines.

    `ended`: it began and then ended by itself, so that another start may help.
    """

    def __init__(
        self, message: str, hint: str = "", stderr: str = "", ended: bool = False, *, remote: bool = False
    ) -> None:
        super().__init__(message, hint)
        self.stderr, self.ended = redactor().text(stderr), ended
        self.crashed = ended and not remote


class AgentExited(AgentError):
    """The agent ended while we were waiting; `stderr` holds its last lines."""

    def __init__(self, message: str, hint: str = "", stderr: str = "", *, remote: bool = False) -> None:
        super().__init__(message, hint)
        self.stderr = redactor().text(stderr)
        self.crashed = not remote


class AgentRefused(AgentError):
    """The agent answered a request with a JSON-RPC error (spec: error codes)."""

    def __init__(self, method: str, code: int | None, message: str, data: Any = None, hint: str = "") -> None:
        super().__init__(message, hint)
        self.method, self.code, self.data = method, code, redactor().json(data)


class AuthRequired(AgentRefused):
    """The agent wants a sign-in first; `methods` are its own `authMethods`, as they came."""

    signed_out = True

    def __init__(
        self, method: str, message: str, data: Any = None, methods: tuple[Any, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(method, -32000, message, data, hint)
        self.methods = methods


class ConnectionLost(AgentRefused):
    """The agent has lost a connection that it needs; only a new start, or a new connection to it, helps."""


class ResourceNotFound(AgentRefused):
    """The agent does not know the session or file that a request names."""


class SessionExpired(AgentRefused):
    """The agent has ended the session for good."""


class ModelFailed(AgentError):
    """The agent's model could not answer, and the agent reported that as text; `reason` classifies the failure."""

    def __init__(self, message: str, hint: str, reason: FailureReason) -> None:
        super().__init__(message, redactor().text(hint))
        self.reason = reason
        self.signed_out = reason == "sign-in"


class ProtocolUnsupported(AgentError):
    """The agent speaks another version of the protocol than 1."""


class HostError(CopilotError):
    """What the agent asked of us could not be done; the message is also for the agent."""


class HostMissing(HostError):
    """The agent asked for a file or a terminal that does not exist."""


class HostRefused(HostError):
    """The agent asked for something that we do not do, however often it asks."""


class UsageError(CopilotError):
    """The user typed or configured something that we do not understand."""


def trace(error: BaseException) -> str:
    """For a log: kind and place of an error. Not its words, which may quote what is no log's business."""
    return "\n".join((type(error).__name__, "".join(format_tb(error.__traceback__))))


class SessionInUse(UsageError):
    """Another conversation has that session open: in a notebook, in a chat of a server or at its HTTP endpoint."""
