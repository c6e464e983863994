"""The Model Context Protocol, as much as tools need, for one session of an agent (spec: modelcontextprotocol.io)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from .. import __version__
from ..errors import trace
from ..mcp_config import OWN_SERVER
from .calls import UnknownTool
from .content import Json, text_block
from .tools import INSTRUCTIONS

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol, the newest first. Clients that know a newer one agree on one of these."""

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, CANCELLED = -32600, -32601, -32602, -32800

_log = logging.getLogger(__name__)


class SessionTools(Protocol):
    """Tools of a session. `NotebookCalls` implements them."""

    def listing(self) -> list[Json]: ...

    def call(self, name: str, given: Any) -> Coroutine[Any, Any, Json]: ...


class McpSession:
    """Answers the messages of one session. `is_listed`: the agent has asked which tools there are."""

    def __init__(self, tools: SessionTools) -> None:
        self.is_listed = False
        self._tools = tools
        self._running: dict[str | int, asyncio.Task[Json]] = {}

    async def answer(self, message: Any) -> Json | None:
        """The response to a request; None if `message` needs none. Never raises."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(None, INVALID_REQUEST, "This is not a message of JSON-RPC 2.0.")
        method, id, params = message.get("method"), message.get("id"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            is_response = "result" in message or "error" in message
            return None if is_response else _error(None, INVALID_REQUEST, "The method is missing.")
        if "id" not in message:
            if method == "notifications/cancelled":
                self._cancel(params.get("requestId"))
            return None
        if not isinstance(id, str | int) or isinstance(id, bool) or id in self._running:
            return _error(None, INVALID_REQUEST, "The id must be a string or an integer that is not in use.")
        return await self._response(id, method, params)

    def end(self) -> None:
        """Cancel every call that runs."""
        for task in self._running.values():
            task.cancel()

    def _cancel(self, id: Any) -> None:
        if isinstance(id, str | int) and id in self._running:
            self._running[id].cancel()

    async def _response(self, id: str | int, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                return _result(id, _initialized(params))
            case "ping":
                return _result(id, {})
            case "tools/list":
                self.is_listed = True
                return _result(id, {"tools": self._tools.listing()})
            case "tools/call":
                return await self._called(id, params)
        return _error(id, METHOD_NOT_FOUND, f"Unknown method {method[:80]!r}.")

    async def _called(self, id: str | int, params: Json) -> Json:
        """The tool runs in a task of its own, which the agent may cancel."""
        name = params.get("name")
        task = asyncio.create_task(self._tools.call(name if isinstance(name, str) else "", params.get("arguments")))
        self._running[id] = task
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            del self._running[id]
        if task.cancelled():
            return _error(id, CANCELLED, "The call was cancelled.")
        if isinstance(error := task.exception(), UnknownTool):
            return _error(id, INVALID_PARAMS, str(error))
        if error is not None:
            _log.error("A tool failed: %s", trace(error))
            words = f"The tool failed inside ({type(error).__name__}). This is a bug in Copilot Kernel."
            return _result(id, {"content": [text_block(words)], "isError": True})
        return _result(id, task.result())


def _initialized(params: Json) -> Json:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": OWN_SERVER, "version": __version__},
        "instructions": INSTRUCTIONS,
    }


def _result(id: str | int, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def _error(id: str | int | None, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
