"""The MCP server of a kernel: Streamable HTTP on 127.0.0.1, on the agent's event loop (spec: transports).

Every session has a token of its own, which says whose notebook the tools are for. What a web page could send is
refused: requests with an `Origin`, and for a `Host` that is not ours. Neither keeps the agent's own commands out: they
run as the same user. What may be done is decided for each call.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..redaction import register
from .content import Json
from .loopback_http import (
    FIRST_SECONDS,
    IDLE_SECONDS,
    MAX_CONNECTIONS,
    MAX_HEAD_BYTES,
    MAX_UNAUTHENTICATED,
    Head,
    HttpError,
    event_stream,
    read_body,
    read_head,
    refuse,
    response,
)
from .mcp_session import McpSession, SessionTools

PATH = "/mcp"
TOKEN_BYTES = 32

STREAM_AFTER_SECONDS = 5.0
"""Time after which a slow call is answered by a stream of events: clients give up on headers that do not come."""
HEARTBEAT_SECONDS = 15.0
"""Between signs of life in such a stream: a question may wait for the user for hours."""

_PARSE_ERROR = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "The body is not JSON."}}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address and token of the tools of one session."""

    url: str
    token: str = field(repr=False)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("Authorization", f"Bearer {self.token}"),)


class NotebookServer:
    """Listens from `listen` or the first registration until `close`."""

    def __init__(self) -> None:
        self._sessions: dict[str, McpSession] = {}
        self._server: asyncio.Server | None = None
        # Whether each has sent a valid token, the oldest first.
        self._connections: dict[asyncio.Task[None], bool] = {}
        self._answers: set[asyncio.Task[Json | None]] = set()
        self._port = 0

    async def listen(self) -> int:
        """The port."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=MAX_HEAD_BYTES)
            self._port = self._server.sockets[0].getsockname()[1]
        return self._port

    async def register(self, tools: SessionTools) -> Endpoint:
        """Serve `tools` to whoever has the token of the endpoint."""
        port = await self.listen()
        token = os.urandom(TOKEN_BYTES).hex()
        register([token])
        self._sessions[token] = McpSession(tools)
        return Endpoint(f"http://127.0.0.1:{port}{PATH}", token)

    def unregister(self, endpoint: Endpoint) -> None:
        """The token is worth nothing any more; calls that run are cancelled."""
        if session := self._sessions.pop(endpoint.token, None):
            session.end()

    def is_listed(self, endpoint: Endpoint) -> bool:
        """Return True if the agent has asked for the tools of this endpoint."""
        session = self._sessions.get(endpoint.token)
        return session is not None and session.is_listed

    async def close(self) -> None:
        """End every call and connection."""
        for session in self._sessions.values():
            session.end()
        self._sessions.clear()
        if self._server is not None:
            self._server.close()
        tasks = (*self._connections, *self._answers)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- connections --------------------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = False
        for oldest in [each for each, is_known in self._connections.items() if not is_known][:-MAX_UNAUTHENTICATED]:
            oldest.cancel()
        try:
            with suppress(OSError, asyncio.CancelledError):  # the agent has gone, or we close it
                try:
                    await self._serve(task, reader, writer)
                except HttpError as error:
                    await refuse(reader, writer, error.status)
        finally:
            del self._connections[task]
            writer.close()

    async def _serve(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One request after the other. Raises HttpError for one after which nothing more is read."""
        seconds = FIRST_SECONDS
        while head := await read_head(reader, seconds):
            session = self._session_of(head)
            self._connections[task] = True
            if sum(self._connections.values()) > MAX_CONNECTIONS:
                raise HttpError(503)
            if head.method != "POST":
                raise HttpError(405)
            message = _parsed(await read_body(reader, head))
            if not await self._respond(session, message, head, writer) or not head.keep_alive:
                break
            seconds = IDLE_SECONDS

    def _session_of(self, head: Head) -> McpSession:
        """Raises HttpError."""
        if "origin" in head.headers:
            raise HttpError(403)
        if head.headers.get("host", "").lower() not in (f"127.0.0.1:{self._port}", f"localhost:{self._port}"):
            raise HttpError(403)
        given = head.headers.get("authorization", "").encode("latin-1")
        found = None
        for token, session in self._sessions.items():  # all of them: the time tells nothing
            if hmac.compare_digest(given, f"Bearer {token}".encode()):
                found = session
        if found is None:
            raise HttpError(401)
        if head.path != PATH:
            raise HttpError(404)
        return found

    async def _respond(self, session: McpSession, message: Any, head: Head, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return True if the connection stays open."""
        if message is None:
            return await _send(writer, _PARSE_ERROR, status=400)
        answering = asyncio.create_task(session.answer(message))
        self._answers.add(answering)
        answering.add_done_callback(self._answers.discard)
        await asyncio.wait({answering}, timeout=STREAM_AFTER_SECONDS)
        if not answering.done() and "text/event-stream" in head.headers.get("accept", ""):
            await _stream(answering, _progress_token(message), writer)
            return False
        return await _send(writer, await asyncio.shield(answering))


def _parsed(body: bytes) -> Any:
    """Return the parsed body; None if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


async def _send(writer: asyncio.StreamWriter, answer: Json | None, status: int = 200) -> bool:
    """Notifications are accepted without an answer."""
    writer.write(response(202) if answer is None else response(status, _encoded(answer)))
    await writer.drain()
    return True


async def _stream(answering: asyncio.Task[Json | None], token: Any, writer: asyncio.StreamWriter) -> None:
    """Signs of life until the answer comes, as progress if the client has asked for that."""
    writer.write(event_stream())
    heartbeats = 0
    while not answering.done():
        heartbeats += 1
        writer.write(_event(_progress(token, heartbeats)) if token is not None else b": waiting\n\n")
        await writer.drain()
        await asyncio.wait({answering}, timeout=HEARTBEAT_SECONDS)
    answer = answering.result()
    if answer is not None:
        writer.write(_event(answer))
    await writer.drain()


def _event(message: Json) -> bytes:
    return b"event: message\ndata: " + _encoded(message) + b"\n\n"


def _encoded(message: Json) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def _progress_token(message: Any) -> str | int | None:
    params = message.get("params") if isinstance(message, Mapping) else None
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    return token if isinstance(token, str | int) else None


def _progress(token: str | int, heartbeats: int) -> Json:
    params = {"progressToken": token, "progress": heartbeats}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
