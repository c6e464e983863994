"""A connection in memory whose other end is raw lines, and handlers that keep what they get."""

import json
from contextlib import asynccontextmanager

import anyio
from copilot_kernel.acp.connection import RpcConnection
from copilot_kernel.acp.jsonrpc import RequestFailed, method_not_found

from ..limits import LIMIT
from .memory import memory_pair


class Raw:
    """The other end: says and hears single messages."""

    def __init__(self, transport):
        self.transport = transport
        self._lines = []

    async def say(self, *messages):
        await self.transport.send(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    async def hear(self):
        with anyio.fail_after(LIMIT):
            while not self._lines:
                self._lines += (await self.transport.receive()).splitlines()
        return json.loads(self._lines.pop(0))


class ConversationState:
    """A connection's handlers, which keep everything that they get, in order."""

    def __init__(self):
        self.events = []
        self.diagnostics = []
        self.go_on = anyio.Event()

    def notice(self, method, params):
        self.events.append((method, params))
        if method == "fails":
            raise ValueError("our own mistake")

    def serve(self, method, params):
        self.events.append((method, params))
        if method == "unknown":
            raise method_not_found(method)
        if method == "fails at once":
            raise ValueError("secret words")
        return self.answer(method, params)

    async def answer(self, method, params):
        match method:
            case "waits":
                await self.go_on.wait()
            case "fails":
                raise ValueError("secret words")
            case "refuses":
                raise RequestFailed(-32602, "no such thing", {"name": "x"})
            case "no json":
                return {"set": {1}}
            case "no json in the refusal":
                raise RequestFailed(-32602, "no", {1})
        return {"echo": params}


@asynccontextmanager
async def connected(pieces=16, **more):
    near, far = memory_pair(pieces)
    record = ConversationState()
    try:
        async with RpcConnection(
            near,
            on_notification=record.notice,
            on_request=record.serve,
            on_diagnostic=record.diagnostics.append,
            **more,
        ) as connection:
            yield connection, Raw(far), record
    finally:
        await far.close()


def request(id, method, params=None):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}


def result(id, value):
    return {"jsonrpc": "2.0", "id": id, "result": value}


def failure(id, code, message, **more):
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def notification(method, params=None):
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}
