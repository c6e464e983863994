"""A client of the API that knows nothing but HTTP, and agents that tests write themselves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
from copilot_kernel.server.pool import AgentPool
from websockets.asyncio.client import connect

from ..acp.scripted import Script, listening
from ..limits import LIMIT
from .sockets import Client, Json

JSON = {"Content-Type": "application/json"}
CHAT = "v1/chat/completions"
COPILOT = {"protocolVersion": 1, "agentInfo": {"name": "Copilot", "version": "1"}}
"""What an agent answers to `initialize` so that it is taken for Copilot CLI."""


def user(text: str) -> list[Json]:
    return [{"role": "user", "content": text}]


def web() -> httpx.AsyncClient:
    """Looks for no proxy and no certificates, which takes time."""
    return httpx.AsyncClient(trust_env=False, verify=False, timeout=LIMIT)


class Answered:
    """An answer: `status`, `body` and `headers`; `events` of a stream."""

    def __init__(self, response: httpx.Response) -> None:
        self.status, self.headers, self.text = response.status_code, response.headers, response.text

    @property
    def body(self) -> Json:
        found: Json = json.loads(self.text)
        return found

    @property
    def error(self) -> Json:
        found: Json = self.body["error"]
        return found

    @property
    def said(self) -> str:
        return str(self.body["choices"][0]["message"]["content"])

    @property
    def events(self) -> list[Any]:
        lines = [line.removeprefix("data: ") for line in self.text.splitlines() if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]

    @property
    def streamed(self) -> str:
        pieces = [each for each in self.events if each != "[DONE]" and each.get("choices")]
        return "".join(each["choices"][0]["delta"].get("content", "") for each in pieces)


class Api:
    """A server, seen from outside; `app` is the extension, from inside."""

    def __init__(self, serverapp: Any) -> None:
        self.serverapp, self.port, self.base_url = serverapp, serverapp.port, serverapp.base_url
        self.token = str(serverapp.identity_provider.token)
        (self.app,) = serverapp.extension_manager.extension_apps["copilot_kernel"]
        self.context, self.pool = self.app.context, self.app.context.pool
        self.url = f"http://127.0.0.1:{self.port}{self.base_url}"
        """With a slash at its end."""
        self.bearer = {"Authorization": f"Bearer {self.token}"}

    @property
    def turns(self) -> int:
        return self.context.limits.turns

    @property
    def agents(self) -> int:
        return len(self.pool.hubs)

    @property
    def sessions(self) -> int:
        return int(self.pool.conversations)

    async def close_conversations(self) -> None:
        """End those that are kept by name, and those of the chat; agents stay."""
        store = self.context.conversations.store
        for each in store.all():
            await store._end(each)
        await self.context.chats.close()

    async def raw(self, method: str, path: str, **more: Any) -> Answered:
        """A request with nothing that was not asked for."""
        async with web() as client:
            return Answered(await client.request(method, f"{self.url}{path}", **more))

    async def ask(self, path: str, method: str = "GET", headers: Mapping[str, str] = {}, **more: Any) -> Answered:
        return await self.raw(method, path, headers={**self.bearer, **headers}, **more)

    async def post(self, path: str, body: Any, **headers: str) -> Answered:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.ask(path, "POST", content=json.dumps(body), headers={**JSON, **more})

    async def complete(self, messages: list[Json] | str, session: str = "", **more: Any) -> Answered:
        asked = user(messages) if isinstance(messages, str) else messages
        headers = {"X-Copilot-Session": session} if session else {}
        return await self.post(CHAT, {"messages": asked, **more}, **headers)

    async def stop(self) -> None:
        """End all conversations and agents. What is asked then begins anew."""
        await self.close_conversations()
        await self.app.stop_extension()

    @asynccontextmanager
    async def streaming(self, prompt: str, **more: Any) -> AsyncIterator[httpx.Response]:
        """An answer that can be left before its end."""
        body = {"messages": user(prompt), "stream": True, **more}
        async with (
            web() as client,
            client.stream("POST", f"{self.url}{CHAT}", json=body, headers=self.bearer) as response,
        ):
            yield response

    @asynccontextmanager
    async def chat(self, path: str = "api/chat/ws", **more: Any) -> AsyncIterator[Client]:
        """A connection to the chat's WebSocket; what is not read does not delay its end."""
        headers = {**self.bearer, **more.pop("headers", {})}
        async with connect(
            self.socket_url(path), additional_headers=headers, proxy=None, max_queue=None, **more
        ) as socket:
            yield Client(socket)

    def socket_url(self, path: str = "api/chat/ws") -> str:
        return f"ws://127.0.0.1:{self.port}{self.base_url}{path}"


@asynccontextmanager
async def scripted(pool: AgentPool, **answers: Any) -> AsyncIterator[Script]:
    """The only agent is one that is written in the test, until the end of the block."""
    async with listening(**answers) as (script, launch):
        settings, agents = pool.settings, pool._agents
        pool.settings, pool._agents = replace(settings, agent="tcp://{}:{}".format(*launch.address)), {}
        try:
            yield script
        finally:
            await pool.close()
            pool.settings, pool._agents = settings, agents


def recorder(member: str, into: list[Any]) -> Any:
    """An answer of an agent that keeps this member of what it was asked."""

    async def answer(script: Any, params: Any) -> Json:
        into.append(params[member])
        return {}

    return answer


def prompts(script: Script) -> list[list[Json]]:
    """What the agent was asked, block by block."""
    return [params["prompt"] for method, params in script.heard if method == "session/prompt"]


async def until(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait, for a limited time, for something that tells nobody when it is."""
    async with asyncio.timeout(LIMIT):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)
