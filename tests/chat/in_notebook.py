"""A chat in a notebook with a scripted agent, which really calls the notebook's tools."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
from copilot_kernel.chat import Chat, open_chat
from copilot_kernel.config import Settings

from ..acp.scripted import OPTIONS, Script, listening
from ..limits import LIMIT
from ..notebook_tools.fakes import FakeNotebook
from .loopback import address

Json = dict[str, Any]
INFO = {"name": "script", "version": "1"}


class Agent:
    """What an agent does in a turn."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.answers: list[Json] = []

    def server(self, number: int = -1) -> Json:
        """What it was told of the notebook's server when it opened a session, by default the last one."""
        opened = [params for method, params in self.script.heard if method in OPENING]
        return next(each for each in opened[number]["mcpServers"] if each["name"] == "notebook")

    async def post(self, method: str, server: Json | None = None, **params: Any) -> httpx2.Response:
        server = server or self.server()
        headers = {each["name"]: each["value"] for each in server["headers"]}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with httpx2.AsyncClient(headers=headers, timeout=LIMIT, verify=False) as client:
            return await client.post(server["url"], json=message)

    async def call(self, tool: str, /, **arguments: Any) -> str:
        """The text of the result, after `failed: ` if it failed."""
        result = (await self.post("tools/call", name=tool, arguments=arguments)).json()["result"]
        return ("failed: " if result["isError"] else "") + str(result["content"][0]["text"])

    async def show(self, title: str, arguments: Json, status: str = "pending", **more: Any) -> None:
        call = {"toolCallId": "call_1", "title": title, "status": status, "rawInput": arguments, **more}
        await self.script.update({"sessionUpdate": "tool_call", **call})

    async def ask(self, title: str, arguments: Json, **more: Any) -> str:
        """The id of the option that was chosen, or how it ended."""
        call = {"toolCallId": "call_1", "title": title, "kind": "other", "status": "pending", "rawInput": arguments}
        answer = await self.script.ask(sessionId="s1", toolCall={**call, **more}, options=OPTIONS)
        return str(answer["outcome"].get("optionId") or answer["outcome"]["outcome"])

    async def finish(self, status: str = "completed") -> None:
        await self.script.update({"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": status})


OPENING = ("session/new", "session/load", "session/resume")
Acting = Callable[[Agent], Awaitable[object]]


@asynccontextmanager
async def in_notebook(
    settings: Settings, act: Acting, notebook: FakeNotebook | None = None, *, book: str = "", **more: Any
) -> AsyncIterator[tuple[Chat, Agent]]:
    """`act` is what the agent does in each turn; `more` are settings, answers of the agent's, and `info` of it."""
    answers = {name: more.pop(name) for name in list(more) if name.startswith("session_")}
    info = {"protocolVersion": 1, "agentInfo": INFO, "agentCapabilities": {"mcpCapabilities": {"http": True}}}
    info |= more.pop("info", {})

    async def prompt(script: Script, params: Json) -> None:
        await act(agent)

    async with listening(initialize=info, session_prompt=prompt, **answers) as (script, launch):
        agent = Agent(script)
        chosen = replace(settings, agent=address(launch), **more)
        async with open_chat(chosen, book, live=notebook or FakeNotebook("x = 1", "print(x)")) as chat:
            yield chat, agent
