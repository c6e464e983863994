"""Turn what goes wrong between us and the agent into errors with advice: its answers, its start, its end, sign-in.

Spec: error codes. A dialect uses some codes for something else than the specification does; where the message shows
that, the message decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import (
    AgentExited,
    AgentRefused,
    AgentStartFailed,
    AuthRequired,
    ConnectionLost,
    FailureReason,
    ProtocolUnsupported,
    ResourceNotFound,
    SessionExpired,
    SessionInUse,
)
from . import jsonrpc
from .jsonrpc import RpcError
from .locate import Launch, start_advice
from .messages import AgentInfo
from .transport import AgentTransport

OTHER_VERSION = "{} uses protocol version {:.40}; version 1 is required"
MAX_STDERR_LINES = 10
SLOW = "Run the command in a terminal to see its output, or allow more time (COPILOT_KERNEL_START_TIMEOUT)."
HINTS = {
    jsonrpc.PARSE_ERROR: "The agent could not parse the message; `%log` shows it.",
    jsonrpc.INVALID_REQUEST: "The agent did not understand the message; it may use another version of the protocol.",
    jsonrpc.METHOD_NOT_FOUND: "The agent does not support this; a newer version may.",
    jsonrpc.INVALID_PARAMS: "The agent rejected a parameter, for example an unknown session or an invalid value.",
    jsonrpc.TIMEOUT: "The agent timed out. Run the cell again to retry.",
    jsonrpc.NOT_FOUND: "The agent no longer has this session or file; `%new` starts a new session.",
    jsonrpc.UNSUPPORTED: "The agent uses another version of the protocol; install one that supports version 1.",
    jsonrpc.CANCELLED: "The request was cancelled. Run the cell again to retry.",
}
RECONNECT = "Run the cell again to reconnect."
NOT_REPEATED = "Nothing was sent again."
DENIED = "The agent was denied access; check its own settings."
EXPIRED = "The session has expired; the next prompt starts a new one."

# Where agents put the text and the HTTP status of an error, and how deep.
_MEMBERS = ("details", "detail", "message", "reason", "error", "cause", "data", "status", "statusCode", "code")
_MAX_DEPTH = 4
# What says no more than that there is an error.
_PREFIX = re.compile(r"\A(?:(?:internal|server|unknown|api) )?error\s*(?::\s*|\Z)", re.IGNORECASE)
_CONNECTION, _BROKEN = ("connection", "socket", "pipe"), ("closed", "lost", "reset", "broken")
_SIGN_IN = ("auth", "sign in", "sign-in", "log in", "login", "logged", "credential", "token")
_DENIED = ("denied", "forbidden", "not permitted", "not allowed", "rejected")


class AgentErrors:
    """Makes the errors of one connection; `label` names the agent."""

    def __init__(self, launch: Launch, transport: AgentTransport) -> None:
        self.label, self._launch, self._transport = launch.label, launch, transport

    def exited(self) -> AgentExited:
        """The connection has ended."""
        transport = self._transport
        verb = "reconnects" if transport.is_remote else "restarts it"
        hint = f"Your next prompt {verb}; it may have forgotten this conversation."
        message = f"{self.label} stopped: {transport.ending()}"
        return AgentExited(message, hint, transport.last_words(), remote=transport.is_remote)

    def start_failed(self, what: str, hint: str = "", *, ended: bool = False) -> AgentStartFailed:
        """The agent did not become ready; the message quotes the end of its standard error."""
        stderr = self._transport.last_words()
        message = "\n".join([f"{self.label} {what}", *stderr.splitlines()[-MAX_STDERR_LINES:]])
        return AgentStartFailed(message, hint, stderr, ended, remote=self._transport.is_remote)

    def unsupported(self, info: AgentInfo) -> ProtocolUnsupported:
        """The agent speaks another version of the protocol."""
        theirs = "none" if info.protocol_version is None else info.protocol_version
        message = OTHER_VERSION.format(self.label, str(theirs))
        return ProtocolUnsupported(message, "Install a version of the agent that supports version 1.")

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Report an end within this block as a failed start."""
        try:
            yield
        except AgentExited as error:
            raise self.start_failed(
                f"stopped before it was ready: {self._transport.ending()}", start_advice(self._launch), ended=True
            ) from error


@contextmanager
def adding_sign_in(info: AgentInfo) -> Iterator[None]:
    """Add the ways to sign in to an AuthRequired (spec: authentication)."""
    try:
        yield
    except AuthRequired as error:
        hint = "" if info.auth_methods else no_sign_in_hint(info)
        raise AuthRequired(error.method, str(error), error.data, info.auth_methods, hint) from error


def no_sign_in_hint(info: AgentInfo) -> str:
    """The advice for an agent whose `authMethods` are empty."""
    return f"{info.title or info.name or 'The agent'} lists no way to sign in; see its documentation."


def error_from_answer(method: str, error: RpcError) -> AgentRefused | SessionInUse:
    """The exception for an error answer to `method`; `adding_sign_in` completes an AuthRequired."""
    if (error.code, error.message) == (jsonrpc.IN_USE, jsonrpc.IN_USE_MESSAGE):
        return SessionInUse(error.message)
    text = _message(error)
    kind, hint = _meaning(error, text)
    if method == "session/prompt" and hint in (HINTS[jsonrpc.TIMEOUT], RECONNECT):  # other requests may be repeated
        hint = f"{hint} {NOT_REPEATED}"
    if kind is AuthRequired:
        return AuthRequired(method, text or "Authentication required", error.data)
    return kind(method, error.code, text or f"The agent refused {method} without a reason", error.data, hint)


def _message(error: RpcError) -> str:
    """Return the text of an error for a person, once: the innermost texts of its message and of its data."""
    outer, inner = map(_text, (error.message, error.data))
    if inner in outer or outer in inner:
        return max(outer, inner, key=len) or error.message.strip()
    return f"{outer}: {inner}"


def _text(value: Any) -> str:
    text = next((each for each in _nested(value) if isinstance(each, str)), "")
    return _PREFIX.sub("", text.strip(), count=1)


def _nested(value: Any, depth: int = _MAX_DEPTH) -> Iterator[Any]:
    """The texts and numbers in an error's data, the innermost first. Some agents put JSON into a text."""
    if isinstance(value, str) and depth and "{" in value:
        with suppress(ValueError, RecursionError):
            yield from _nested(json.JSONDecoder().raw_decode(value, value.index("{"))[0], depth - 1)
    if isinstance(value, dict) and depth:
        members = [value[name] for name in _MEMBERS if name in value]
        for member in sorted(members, key=lambda each: not isinstance(each, dict)):
            yield from _nested(member, depth - 1)
    elif isinstance(value, int) or (isinstance(value, str) and value.strip()):
        yield value


def _meaning(error: RpcError, message: str) -> tuple[type[AgentRefused], str]:
    """The kind of error and the advice."""
    code, text = error.code, message[:MAX_EXAMINED_CHARS].casefold()
    match code:
        case jsonrpc.AUTH_REQUIRED if _is_about_connection(text):
            return ConnectionLost, RECONNECT
        case jsonrpc.AUTH_REQUIRED:
            return AuthRequired, ""
        case jsonrpc.NOT_FOUND if any(word in text for word in _DENIED):
            return AgentRefused, DENIED
        case jsonrpc.NOT_FOUND:
            return ResourceNotFound, HINTS[code]
        case jsonrpc.EXPIRED if "session" in text or text in ("", "expired"):
            return SessionExpired, EXPIRED
    return AgentRefused, HINTS[code] if code in HINTS else _advice(error, message)


def _advice(error: RpcError, message: str) -> str:
    numbers = (each for each in (error.code, *_nested(error.data), *_nested(error.message)) if isinstance(each, int))
    status = next((each for each in numbers if 400 <= each < 600), None)
    return ADVICE[failure_reason(f"{message}\n{error.message}", status)]


def _is_about_connection(text: str) -> bool:
    """And not about a sign-in, which is what the specification's code means."""
    is_lost = any(word in text for word in _CONNECTION) and any(word in text for word in _BROKEN)
    return is_lost and not any(word in text for word in _SIGN_IN)


# -- the reason of a failure, by its words and its HTTP status --------------------------------------------------------


ADVICE: Mapping[FailureReason, str] = {
    "sign-in": "Sign in to the agent in a terminal, then run this cell again.",
    "key": "Check the API key in the environment in which Jupyter is started, and restart Jupyter.",
    "quota": "Wait until the limit is reset, or choose another model.",
    "network": "Check the network and the proxy, and whether the model's service runs; then run this cell again.",
    "context": "Start a new conversation with `%new`, or send less.",
    "bug": "The agent reported an internal error. `%log` shows the messages.",
}
UNEXPLAINED = frozenset({HINTS[jsonrpc.INVALID_PARAMS], ADVICE["bug"]})
"""The hints of an error of which neither code nor words are known. Many agents say in their own way that they no longer
have a session.
"""
MAX_EXAMINED_CHARS = 500
"""Limit of a message."""

# The first that matches decides; without a match, the HTTP status does, and without one `_NETWORK`.
_WORDS: tuple[tuple[FailureReason, str], ...] = (
    ("context", r"context (?:length|window)|prompt (?:is|as) too long"),
    ("key", r"\bapi[ _-]?key|authentication failed with provider"),
    ("quota", r"quota|(rate|usage).?limit|allowance|credits?\b|(hit|reached|exceeded|used all|out of) (your|the)\b"),
    ("sign-in", r"authori[sz]|authentica|credential|access token|token expired|licensed|\b(?:log|sign).?in\b"),
)
_NETWORK = r"connect|network|timed? ?out|sending request|get response|overloaded|unavailable"
_STATUS = re.compile(r"(?:\A|: |HTTP |[Ee]rror |status |code )([45]\d\d)\b(?!\.\d)")
_REASONS: Mapping[int, FailureReason] = {401: "sign-in", 402: "quota", 403: "sign-in", 408: "network", 429: "quota"}


def failure_reason(message: str, status: int | None = None) -> FailureReason:
    """The reason that the words of `message` name, else the one of the HTTP `status`, by default that in `message`."""
    message = message[:MAX_EXAMINED_CHARS]
    for reason, words in _WORDS:
        if re.search(words, message, re.IGNORECASE):
            return reason
    if status is None and (found := _STATUS.search(message)):
        status = int(found[1])
    if status is not None:
        return _REASONS.get(status, "network" if status >= 500 else "bug")
    return "network" if re.search(_NETWORK, message, re.IGNORECASE) else "bug"
