"""Every answer that is not a success, in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from tornado.web import HTTPError

from ..errors import (
    AgentError,
    AgentExited,
    AgentNotFound,
    AgentRefused,
    AuthRequired,
    CopilotError,
    FailureReason,
    ModelFailed,
    UsageError,
)
from ..redaction import redactor
from ..rendering.failure import render_failure
from ..rendering.plain import clean, one_line

TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found",
    405: "method_not_allowed",
    426: "upgrade_required",
    429: "rate_limit_error",
    500: "server_error",
    501: "not_implemented",
    503: "service_unavailable",
}
SIGN_IN = "Sign in to the agent in a terminal where the server runs (for GitHub Copilot CLI: copilot login)."
LOG = "The log of the Jupyter server says why."
LONGEST = 4_000
"""Characters of one line of the log."""

_log = logging.getLogger(__name__)

MODEL_FAILED: Mapping[FailureReason, tuple[int, str]] = {
    "sign-in": (503, SIGN_IN),
    "key": (503, "Its provider does not accept the key that the server was started with."),
    "quota": (429, "Its quota or rate limit is reached."),
    "network": (503, "It cannot be reached."),
    "context": (400, "The conversation is too long for it."),
    "bug": (503, "Try again, or choose another model."),
}
"""The status, and words of ours: the agent's own may name hosts and accounts."""


class ApiError(HTTPError):
    """An error for the client. `message` is for people, and is never logged: it may quote what they sent."""

    def __init__(self, status: int, message: str, param: str | None = None, **headers: str) -> None:
        super().__init__(status)
        self.message, self.param = message, param
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the answer."""
        return error_body(self.status_code, self.message, self.param)


def error_body(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """OpenAI's form; `code` is the HTTP status."""
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": clean(message), "type": kind, "param": param, "code": status}}


def phrase(status: int) -> str:
    """The standard's words for a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown status"


def for_client(error: CopilotError) -> ApiError:
    """What a client is told when a conversation fails. No agent: 503; the agent failed: 500; what was asked: 400.

    What the agent says may hold paths and be meant for its user alone: it goes to the log.
    """
    if isinstance(error, UsageError):
        return ApiError(400, sentences(str(error), error.hint))
    detail = redactor().text(one_line(render_failure(error)["text/plain"]))
    _log.warning("%s: %s", type(error).__name__, detail[:LONGEST])
    match error:
        case AuthRequired():
            return ApiError(503, f"The agent wants a sign-in. {SIGN_IN}", Retry_After="60")
        case ModelFailed():
            status, reason = MODEL_FAILED[error.reason]
            return ApiError(status, f"The agent's model could not answer. {reason}", Retry_After="60")
        case AgentNotFound():
            return ApiError(503, f"No agent was found. {LOG}", Retry_After="60")
        case AgentRefused() | AgentExited():
            return ApiError(500, f"The agent failed. {LOG}")
        case AgentError():
            return ApiError(503, f"The agent did not start. {LOG}", Retry_After="10")
    return ApiError(500, f"The server failed. {LOG}")


def sentences(*parts: str) -> str:
    """One after the other, each with its full stop."""
    *first, last = [part.strip() for part in parts if part.strip()] or [""]
    return " ".join([*(part if part.endswith((".", "!", "?")) else f"{part}." for part in first), last])


def as_json(body: Any) -> bytes:
    """Compact JSON that no browser takes for anything else."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
