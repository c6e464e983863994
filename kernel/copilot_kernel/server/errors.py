"""Every answer that is not a success, in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`.

Messages say what is wrong and where, and never quote what a client sent.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
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

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found",
    405: "method_not_allowed",
    429: "rate_limit_error",
    500: "server_error",
    501: "not_implemented",
    503: "service_unavailable",
}
SIGN_IN = "Sign in to the agent in a terminal where the server runs (for GitHub Copilot CLI: copilot login)."
SEE_LOG = "See the log of the Jupyter server."
MAX_LOG_CHARS = 4_000
MAX_PATH_STEPS = 8

MODEL_FAILURES: Mapping[FailureReason, tuple[int, str]] = {
    "sign-in": (503, SIGN_IN),
    "key": (503, "Its provider rejected the API key that the server was started with."),
    "quota": (429, "Its quota or rate limit is exhausted."),
    "network": (503, "It cannot be reached."),
    "context": (400, "The conversation is too long for it."),
    "bug": (503, "Try again, or choose another model."),
}
"""The status and our own words: the agent's may name hosts and accounts."""

STRING_OR_ARRAY = "must be a string or an array"
PART_TYPES = "use text, image_url or refusal"
VALIDATION_MESSAGES = {
    "missing": "is missing",
    "string_type": "must be a string",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "is empty",
    "string_pattern_mismatch": "must be a data URI (data:image/png;base64,…) of an image; URLs are not fetched",
    "int_type": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "literal_error": "must be {expected}",
    "list_type": "must be an array",
    "too_short": "is empty",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "union_tag_not_found": f"has no type; {PART_TYPES}",
    "union_tag_invalid": f"parts of this type cannot be sent to an agent; {PART_TYPES}",
}
"""Text after the name of an invalid member, by pydantic's type of error."""

_log = logging.getLogger(__name__)


class LimitExceeded(UsageError):
    """A limit of this server, which may be gone after `seconds`."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message, "Send it again later.")
        self.seconds = seconds


class ApiError(HTTPError):
    """An error for the client. `message` is never logged: it may quote what the client sent."""

    def __init__(self, status: int, message: str, param: str | None = None, **headers: str) -> None:
        super().__init__(status)
        self.message, self.param = message, param
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the answer, in OpenAI's form; `code` is the HTTP status."""
        code = self.status_code
        kind = ERROR_TYPES.get(code, "server_error" if code >= 500 else "invalid_request_error")
        return {"error": {"message": clean(self.message), "type": kind, "param": self.param, "code": code}}


def api_error(error: CopilotError) -> ApiError:
    """Return the error of a conversation for a client: no agent is 503, a failed agent 500, a wrong request 400.

    The agent's own message may hold paths, and is for its user alone: it goes to the log.
    """
    if isinstance(error, LimitExceeded):
        return ApiError(429, str(error), Retry_After=str(error.seconds))
    if isinstance(error, UsageError):
        return ApiError(400, _sentences(str(error), error.hint))
    detail = redactor().text(one_line(render_failure(error)["text/plain"]))
    _log.warning("%s: %s", type(error).__name__, detail[:MAX_LOG_CHARS])
    match error:
        case AuthRequired():
            return ApiError(503, f"The agent requires a sign-in. {SIGN_IN}", Retry_After="60")
        case ModelFailed():
            status, reason = MODEL_FAILURES[error.reason]
            return ApiError(status, f"The agent's model could not answer. {reason}", Retry_After="60")
        case AgentNotFound():
            return ApiError(503, f"No agent was found. {SEE_LOG}", Retry_After="60")
        case AgentRefused() | AgentExited():
            return ApiError(500, f"The agent failed. {SEE_LOG}")
        case AgentError():
            return ApiError(503, f"The agent did not start. {SEE_LOG}", Retry_After="10")
    return ApiError(500, f"The server failed. {SEE_LOG}")


def _sentences(message: str, hint: str) -> str:
    parts = [part.strip() for part in (message, hint) if part.strip()]
    ended = [part if part.endswith((".", "!", "?")) else f"{part}." for part in parts[:-1]]
    return " ".join([*ended, *parts[-1:]])


# -- requests that cannot be read -----------------------------------------------------------------------------------


def json_object(text: str | bytes | bytearray, name: str) -> dict[str, Any]:
    """The JSON object in `text`, which errors call `name`. Raises UsageError."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON (line {error.lineno}, column {error.colno})"
        raise UsageError(f"{name} {problem}.", "Send one JSON object.") from None
    except (ValueError, RecursionError):  # no text, a huge number, or nested too deep
        raise UsageError(f"{name} cannot be read as JSON.", "Send one JSON object.") from None
    if not isinstance(found, dict):
        raise UsageError(f"{name} is not a JSON object.", "Send one JSON object.")
    return found


def first_problem(error: ValidationError, body: Any) -> tuple[list[str | int], str]:
    """The path to the first invalid member of `body`, and what is wrong with it."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = list(_steps(first["loc"], body))[:MAX_PATH_STEPS]
    if first["type"] == "missing":
        path.append(first["loc"][-1])
    return path, describe(first)


def describe(problem: ErrorDetails) -> str:
    """Return the text after the name of the invalid member."""
    words = VALIDATION_MESSAGES.get(problem["type"])
    return problem["msg"] if words is None else words.format_map(problem.get("ctx", {}))


def _steps(loc: tuple[str | int, ...], value: Any) -> Iterator[str | int]:
    """The steps of `loc` that exist in `value`: pydantic adds the members of unions that it tried."""
    for step in loc:
        inside = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(inside, dict) and step in inside:
            yield step
            value = inside[step]


def as_json(body: Any) -> bytes:
    """Compact JSON; lone surrogates are replaced."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
