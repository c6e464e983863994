"""An error answer of the agent's in words, with what to do next by its code (spec: error codes).

A dialect uses some codes for something else than the specification does. Where the message shows that, it counts.
"""

from __future__ import annotations

from typing import Any

from ..errors import AgentRefused, AuthRequired, ConnectionLost, ResourceNotFound, SessionExpired
from . import jsonrpc
from .jsonrpc import RpcError

HINTS = {
    jsonrpc.PARSE_ERROR: "The agent could not read what was sent. One of the two is wrong; `%log` shows it.",
    jsonrpc.INVALID_REQUEST: "The agent did not understand the message; it may speak another version of the protocol.",
    jsonrpc.METHOD_NOT_FOUND: "The agent does not offer this; a newer version of it may.",
    jsonrpc.INVALID_PARAMS: "The agent does not accept what was sent, for example an unknown session or a wrong value.",
    jsonrpc.INTERNAL_ERROR: "The agent failed inside; its own log may say more. Trying again may help.",
    jsonrpc.TIMEOUT: "Something took the agent too long. Nothing was sent again; run the cell again to do so.",
    jsonrpc.NOT_FOUND: "The agent does not know this session or file any more; `%new` begins a new session.",
    jsonrpc.UNSUPPORTED: "The agent speaks another version of the protocol; install one that speaks version 1.",
    jsonrpc.CANCELLED: "The request was cancelled; run the cell again if that was not meant.",
}


LOST = "Run the cell again: the agent is connected to anew first. Nothing was sent again by itself."
DENIED = "The agent may not do this, or somebody has refused it; its own settings may say why."
EXPIRED = "The session has expired; the next prompt begins a new one."

EXAMINED = 500
"""Characters of an agent's message that are examined for what it means."""
_CONNECTION, _BROKEN = ("connection", "socket", "pipe"), ("closed", "lost", "reset", "broken")
_SIGN_IN = ("auth", "sign in", "sign-in", "log in", "login", "logged", "credential", "token")
_DENIED = ("denied", "forbidden", "not permitted", "not allowed", "rejected")


def refusal(method: str, error: RpcError) -> AgentRefused:
    """The error that the caller of `method` gets; who knows the ways to sign in adds them."""
    text = ": ".join(dict.fromkeys(part for part in (error.message.strip(), details(error.data)) if part))
    kind, hint = _meaning(error.code, text[:EXAMINED].casefold())
    if kind is AuthRequired:
        return AuthRequired(method, text or "Authentication required", error.data)
    code = "" if error.code is None else f" ({error.code})"
    return kind(method, error.code, f"The agent refused {method}: {text or 'no reason given'}{code}", error.data, hint)


def _meaning(code: int | None, text: str) -> tuple[type[AgentRefused], str]:
    """The kind of error, and what to do next. `text` is in lower case."""
    match code:
        case jsonrpc.AUTH_REQUIRED if _is_about_connection(text):
            return ConnectionLost, LOST
        case jsonrpc.AUTH_REQUIRED:
            return AuthRequired, ""
        case jsonrpc.NOT_FOUND if any(word in text for word in _DENIED):
            return AgentRefused, DENIED
        case jsonrpc.NOT_FOUND:
            return ResourceNotFound, HINTS[code]
        case jsonrpc.EXPIRED if "session" in text or text in ("", "expired"):
            return SessionExpired, EXPIRED
    return AgentRefused, HINTS.get(code, "") if code is not None else ""


def _is_about_connection(text: str) -> bool:
    """And not about a sign-in, which is what the specification's code means."""
    is_lost = any(word in text for word in _CONNECTION) and any(word in text for word in _BROKEN)
    return is_lost and not any(word in text for word in _SIGN_IN)


def details(data: Any) -> str:
    """The text in an error's `data`, wherever agents put it."""
    if isinstance(data, dict):
        data = next((data[name] for name in ("details", "message", "reason", "error") if name in data), "")
    return data.strip() if isinstance(data, str) else ""
