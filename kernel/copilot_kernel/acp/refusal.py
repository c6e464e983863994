"""An error answer of the agent's in words, with what to do next by its code (spec: error codes)."""

from __future__ import annotations

from typing import Any

from ..errors import AgentRefused, AuthRequired
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
    jsonrpc.EXPIRED: "The agent has ended the session; the next prompt goes on with it, or begins a new one.",
    jsonrpc.UNSUPPORTED: "The agent speaks another version of the protocol; install one that speaks version 1.",
    jsonrpc.CANCELLED: "The request was cancelled; run the cell again if that was not meant.",
}


def refusal(method: str, error: RpcError) -> AgentRefused:
    """The error that the caller of `method` gets; who knows the ways to sign in adds them."""
    text = ": ".join(dict.fromkeys(part for part in (error.message.strip(), details(error.data)) if part))
    if error.code == jsonrpc.AUTH_REQUIRED:
        return AuthRequired(method, text or "Authentication required", error.data)
    code = "" if error.code is None else f" ({error.code})"
    hint = HINTS.get(error.code, "") if error.code is not None else ""
    return AgentRefused(
        method, error.code, f"The agent refused {method}: {text or 'no reason given'}{code}", error.data, hint
    )


def details(data: Any) -> str:
    """The text in an error's `data`, wherever agents put it."""
    if isinstance(data, dict):
        data = next((data[name] for name in ("details", "message", "reason", "error") if name in data), "")
    return data.strip() if isinstance(data, str) else ""
