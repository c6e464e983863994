"""The exceptions of this package.

CopilotError                what happened (`str`), and what to do next (`hint`)
├─ AgentError               the agent or the connection to it
│  ├─ AgentNotFound         no such command
│  ├─ AgentStartFailed      it did not answer `initialize` or `session/new`, or not in time
│  ├─ AgentExited           the process or the connection ended during a request
│  ├─ AgentRefused          it answered with a JSON-RPC error
│  │  ├─ AuthRequired       it requires a sign-in (code -32000)
│  │  ├─ ConnectionLost     it lost a connection that it needs (a dialect's -32000)
│  │  ├─ ResourceNotFound   it does not know the session or file (code -32002)
│  │  └─ SessionExpired     it has ended the session (a dialect's -32003)
│  ├─ ModelFailed           its model failed, which it reported as text
│  └─ ProtocolUnsupported   it does not speak version 1 of the protocol
├─ HostError                a request of the agent for a file or a terminal failed
│  ├─ HostMissing           there is no such file or terminal
│  └─ HostRefused           it is not allowed: outside the project, too large, not a regular file, or invalid
└─ UsageError               the user typed or configured something invalid
   └─ SessionInUse          the session is open elsewhere
"""

from __future__ import annotations

from traceback import format_tb
from typing import Any, Literal

from .redaction import redactor

FailureReason = Literal["sign-in", "key", "quota", "network", "context", "bug"]
"""`key` is the user's key for a model provider; `bug` is everything else."""


SEE_ABOVE = "\x1b[1mFailed: see above\x1b[0m"
"""Line in place of a traceback below a card that says why. The front-end extension knows it by its bold type, and hides
it.
"""
REPORT_BUG = "This is a bug in Copilot Kernel. Please report it, with the lines above."
"""Ends a traceback of ours."""


class CopilotError(Exception):
    """The message says what happened, in words for the user; `hint` says what to do next and may be empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def title(self) -> str:
        """Title in one line; never empty."""
        return str(self).strip().partition("\n")[0] or type(self).__name__


class AgentError(CopilotError):
    """The agent or the connection to it failed.

    The messages quote the agent and end up in notebooks, logs and terminals, so secrets are removed from them.
    """

    signed_out = False
    """The user has to sign in; the agent reads its credentials when it is started again."""
    crashed = False
    """A process that we started has ended by itself. A lost TCP connection does not mean that."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(redactor().text(message), hint)


class AgentNotFound(AgentError):
    """The agent's command or host does not exist."""


class AgentStartFailed(AgentError):
    """The agent was started but did not become ready; `stderr` holds its last lines.

    `ended`: it ended by itself, so that another start may help.
    """

    def __init__(
        self, message: str, hint: str = "", stderr: str = "", ended: bool = False, *, remote: bool = False
    ) -> None:
        super().__init__(message, hint)
        self.stderr, self.ended = redactor().text(stderr), ended
        self.crashed = ended and not remote


class AgentExited(AgentError):
    """The agent ended during a request; `stderr` holds its last lines."""

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
    """The agent requires a sign-in; `methods` are its `authMethods`."""

    signed_out = True

    def __init__(
        self, method: str, message: str, data: Any = None, methods: tuple[Any, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(method, -32000, message, data, hint)
        self.methods = methods

    @property
    def title(self) -> str:
        """Title with what the agent says about it, if that is more than the name of the error."""
        more = "" if str(self).casefold() in ("", "authentication required") else f": {super().title}"
        return f"The agent is not signed in{more}"

    @property
    def is_askable(self) -> bool:
        """The agent can sign the user in when it is asked to."""
        return any(each.is_askable for each in self.methods)


class ConnectionLost(AgentRefused):
    """The agent has lost a connection that it needs; it has to be restarted or reconnected."""


class ResourceNotFound(AgentRefused):
    """The agent does not know the session or file that a request names."""


class SessionExpired(AgentRefused):
    """The agent has ended the session for good."""


class ModelFailed(AgentError):
    """The agent's model failed, and the agent reported that as text; `reason` classifies the failure.

    `report` is all that it reported.
    """

    def __init__(self, message: str, hint: str, reason: FailureReason, report: str = "") -> None:
        super().__init__(message, redactor().text(hint))
        self.reason, self.report = reason, redactor().text(report)
        self.signed_out = reason == "sign-in"


class ProtocolUnsupported(AgentError):
    """The agent does not support version 1 of the protocol."""


class HostError(CopilotError):
    """A request of the agent failed; the message is also sent to the agent."""


class HostMissing(HostError):
    """The agent asked for a file or a terminal that does not exist."""


class HostRefused(HostError):
    """The agent asked for something that is never allowed; retrying does not help."""


class UsageError(CopilotError):
    """The user typed or configured something invalid."""


class SessionInUse(UsageError):
    """The session is open elsewhere: in a notebook, in a chat, or at the HTTP API."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "Close it there first, or start a new one here.")


def trace(error: BaseException) -> str:
    """Kind and traceback of an error for a log, without its message, which may quote private data."""
    return "\n".join((type(error).__name__, "".join(format_tb(error.__traceback__))))
