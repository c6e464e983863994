"""An agent that is scripted in the test itself, behind a port of loopback, and a client that keeps what it hears."""

import os
import socket
from contextlib import asynccontextmanager

import anyio
from copilot_kernel.acp.agent_connection import connect_agent
from copilot_kernel.acp.connection import RpcConnection
from copilot_kernel.acp.handlers import ClientHandlers
from copilot_kernel.acp.jsonrpc import method_not_found
from copilot_kernel.acp.locate import Launch
from copilot_kernel.acp.messages import Chunk, TextBlock
from copilot_kernel.acp.transport import PipeTransport

from ..limits import LIMIT

OPTIONS = [
    {"optionId": "yes-1", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no-1", "name": "Reject", "kind": "reject_once"},
]
END_TURN = {"stopReason": "end_turn"}


class Script:
    """An agent: `answers` are results, exceptions or coroutine functions of (agent, params), by method.

    A function that answers a prompt with nothing has ended the turn.

    `connection` is the newest of its `connections`.
    """

    def __init__(self, answers):
        self.heard = []
        self.cancelled = anyio.Event()
        self.connection = None
        self.connections = []
        self.answers = {
            "initialize": {"protocolVersion": 1, "agentInfo": {"name": "script", "version": "1"}},
            "session/new": {"sessionId": "s1"},
            "session/prompt": END_TURN,
            **answers,
        }

    def notice(self, method, params):
        self.heard.append((method, params))
        if method == "session/cancel":
            self.cancelled.set()

    def serve(self, method, params):
        self.heard.append((method, params))
        if method not in self.answers:
            raise method_not_found(method)
        return self._answer(method, params)

    async def _answer(self, method, params):
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        given = await answer(self, params) if callable(answer) else answer
        return END_TURN if (method, given) == ("session/prompt", None) else given

    async def update(self, update, session="s1"):
        await self.connection.notify("session/update", {"sessionId": session, "update": update})

    async def say(self, text):
        await self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    async def ask(self, **params):
        return await self.connection.request("session/request_permission", params)


def answering(*answers):
    """One answer after the other; an exception is raised."""
    left = iter(answers)

    async def answer(script, params):
        given = next(left)
        if isinstance(given, Exception):
            raise given
        return given

    return answer


def numbered(first=1):
    """A new session `s1`, then `s2` and so on, as answers."""
    return answering(*({"sessionId": f"s{number}"} for number in range(first, 100)))


def agent_text(text):
    return Chunk("agent", TextBlock(text))


def offering(*names):
    """The answer to `session/new` of an agent with these commands."""

    async def new(script, params):
        commands = [{"name": name, "description": ""} for name in names]
        await script.update({"sessionUpdate": "available_commands_update", "availableCommands": commands})
        return {"sessionId": "s1"}

    return new


@asynccontextmanager
async def listening(port=0, **answers):
    """A script behind a port of loopback, and how to reach it."""
    script = Script({name.replace("_", "/", 1): answer for name, answer in answers.items()})

    async def serve(transport):
        async with RpcConnection(transport, on_notification=script.notice, on_request=script.serve) as connection:
            script.connection = connection
            script.connections.append(connection)
            await connection.closed.wait()

    async with accepting(serve, port) as address:
        yield script, Launch(address=address, label="the agent")


@asynccontextmanager
async def accepting(serve, port=0):
    """The address of a port of loopback; each of its connections is served by a task of its own."""

    async def accept():
        while True:
            await anyio.wait_readable(server)
            descriptor = server.accept()[0].detach()
            tasks.start_soon(serve, PipeTransport(descriptor, os.dup(descriptor)))

    with socket.create_server(("127.0.0.1", port)) as server:
        server.setblocking(False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(accept)
            yield server.getsockname()
            tasks.cancel_scope.cancel()


class Client:
    """What the callbacks got, in order."""

    def __init__(self):
        self.events = []
        self.diagnostics = []
        self.choose = 0

    def update(self, session_id, update):
        self.events.append((session_id, update))

    def permission(self, request):
        self.events.append(request)
        return self._decide(request)

    async def _decide(self, request):
        return None if self.choose is None else request.options[self.choose]


@asynccontextmanager
async def linked(launch, client=None, timeout=LIMIT, cwd="/", option_member="configId", **more):
    client = client or Client()
    handlers = ClientHandlers(client.update, client.permission, diagnose=client.diagnostics.append, **more)
    async with connect_agent(launch, cwd, handlers, start_timeout=timeout, option_member=option_member) as link:
        yield link, client


@asynccontextmanager
async def opened(launch, client=None, timeout=LIMIT, cwd="/"):
    """A new session, and the client."""
    async with linked(launch, client, timeout, cwd) as (link, client):
        yield await link.new(cwd), client


async def refused(launch, **more):
    async with opened(launch, **more):
        raise AssertionError("it opened")


@asynccontextmanager
async def met(client=None, timeout=LIMIT, more=None, **answers):
    """The script, a link to it, and the client."""
    async with (
        listening(**answers) as (script, launch),
        linked(launch, client, timeout, **more or {}) as (link, client),
    ):
        yield script, link, client
