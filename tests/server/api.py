"""A client of the API that knows nothing but HTTP, and agents that tests write themselves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx

from ..acp.scripted import Script, listening
from ..limits import LIMIT

JSON = {"Content-Type": "application/json"}
CHAT = "v1/chat/completions"
Json = dict[str, Any]


def user(text: str) -> list[Json]:
    return [{"role": "user", "content": text}]


class Answered:
    """An answer: `status`, `body` and `headers`; `events` of a stream."""

    def __init__(self, status: int, headers: dict[str, str], text: str) -> None:
        self.status, self.headers, self.text = status, headers, text

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

    def __init__(self, serverapp: Any, fetch: Callable[..., Any], port: int, base_url: str) -> None:
        self.serverapp, self._fetch = serverapp, fetch
        self.port, self.base_url = port, base_url
        self.token = str(serverapp.identity_provider.token)
        self.app = serverapp.extension_manager.extension_apps["copilot_kernel"].copy().pop()

        self.context = self.app.context

    @property
    def turns(self) -> int:
        return len(self.context.limits.activity)

    @property
    def agents(self) -> int:
        return int(self.context.pool.running)

    @property
    def sessions(self) -> int:
        return int(self.context.pool.conversations)

    async def close_conversations(self) -> None:
        """End those that are kept by name."""
        store = self.context.conversations.store
        for each in store.all():
            await store._end(each)

    @property
    def url(self) -> str:
        """Of the base URL, with a slash at its end."""
        return f"http://127.0.0.1:{self.port}{self.base_url}"

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def ask(self, path: str, method: str = "GET", **more: Any) -> Answered:
        got = await self._fetch(*path.split("/"), method=method, raise_error=False, request_timeout=LIMIT, **more)
        return Answered(got.code, dict(got.headers), got.body.decode())

    async def post(self, path: str, body: Any, **headers: str) -> Answered:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.ask(path, "POST", body=json.dumps(body), headers={**JSON, **more})

    async def complete(self, messages: list[Json] | str, session: str = "", **more: Any) -> Answered:
        asked = user(messages) if isinstance(messages, str) else messages
        headers = {"X-Copilot-Session": session} if session else {}
        return await self.post("v1/chat/completions", {"messages": asked, **more}, **headers)

    @asynccontextmanager
    async def streaming(self, prompt: str, **more: Any) -> AsyncIterator[httpx.Response]:
        """An answer that can be left before its end."""
        body = {"messages": user(prompt), "stream": True, **more}
        async with (
            httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client,
            client.stream("POST", f"{self.url}v1/chat/completions", json=body, headers=self.bearer) as response,
        ):
            yield response


async def raw(api: Api, method: str, path: str, **more: Any) -> httpx.Response:
    """A request with nothing that was not asked for."""
    async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
        return await client.request(method, f"{api.url}{path}", **more)


@asynccontextmanager
async def scripted(api: Api, **answers: Any) -> AsyncIterator[Script]:
    """The server's agent is one that is written in the test, until the end of the block."""
    async with listening(**answers) as (script, launch):
        assert launch.address is not None
        pool = api.context.pool
        pool.settings = replace(pool.settings, agent="tcp://{}:{}".format(*launch.address))
        try:
            yield script
        finally:
            await api.app.stop_extension()


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
