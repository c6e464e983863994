"""Clients that people use: OpenAI's own for Python and Node.js, and LangChain's."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI

from .api import LIMIT, Api, scripted, user

PEERS = Path(__file__).parents[1] / "peers"


def client(api: Api, key: str = "") -> openai.AsyncOpenAI:
    """It tries nothing twice, so that tests see what happens once."""
    web = httpx.AsyncClient(trust_env=False)
    return openai.AsyncOpenAI(base_url=f"{api.url}v1", api_key=key or api.token, max_retries=0, http_client=web)


async def test_streams_of_openai_and_langchain(api: Api) -> None:
    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        for piece in ("One ", "two"):
            await script.say(piece)
        return {"stopReason": "end_turn", "usage": {"inputTokens": 30, "outputTokens": 5, "totalTokens": 35}}

    async with scripted(api, session_prompt=prompt), client(api) as ai, langchain(api) as model:
        ask: Any = ai.chat.completions.create
        options = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = [chunk async for chunk in await ask(model="x", messages=user("Hello"), **options)]
        others = [chunk async for chunk in model.astream("Hello")]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "One two"
    assert (chunks[0].choices[0].delta.role, chunks[-1].usage.total_tokens) == ("assistant", 35)
    assert "".join(str(chunk.content) for chunk in others) == "One two"
    assert [chunk.usage_metadata["total_tokens"] for chunk in others if chunk.usage_metadata] == [35]


async def test_openai(api: Api) -> None:
    async with client(api) as ai:
        ask: Any = ai.chat.completions.create
        got = await ask(model="scripted", messages=user("demo: say Hello"))
        assert (got.choices[0].message.content, got.choices[0].finish_reason) == ("Hello", "stop")
        assert (got.model, got.usage) == ("scripted", None)
        assert [model.id async for model in ai.models.list()] == ["scripted", "scripted-large"]
        assert (await ai.models.retrieve("scripted-large")).owned_by == "demo"
        with pytest.raises(openai.NotFoundError) as error:
            await ai.models.retrieve("no-such")
        assert (error.value.type, error.value.param) == ("not_found", "model")


async def test_openai_responses(api: Api) -> None:
    async with client(api) as ai:
        got = await ai.responses.create(model="scripted", input="demo: say Hello", instructions=None)
        assert (got.output_text, got.status) == ("Hello", "completed")
        events = [event async for event in await ai.responses.create(input="demo: slow 3 0", model="x", stream=True)]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "1 2 3 "
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == "1 2 3 "
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_openai_errors(api: Api) -> None:
    async with client(api, "wrong") as ai:
        with pytest.raises(openai.AuthenticationError):
            await ai.models.list()
    async with client(api) as ai:
        ask: Any = ai.chat.completions.create
        with pytest.raises(openai.BadRequestError) as refused:
            await ask(model="x", messages=user("Hello"), n=2)
        with pytest.raises(openai.InternalServerError) as failed:
            await ask(model="x", messages=user("demo: error -32603 no luck"))
        with pytest.raises(openai.APIStatusError) as missing:
            await ai.embeddings.create(model="x", input="Hello")
        stream = await ask(model="x", messages=user("demo: say x\nsilent 2.1\nerror -32603 no luck"), stream=True)
        with pytest.raises(openai.APIError, match="The agent failed"):
            _ = [chunk async for chunk in stream]
    assert (refused.value.param, failed.value.status_code, missing.value.status_code) == ("n", 500, 501)


@asynccontextmanager
async def langchain(api: Api) -> AsyncIterator[ChatOpenAI]:
    async with httpx.AsyncClient(trust_env=False) as web:
        with httpx.Client(trust_env=False) as other:
            more: Any = {"base_url": f"{api.url}v1", "api_key": api.token, "http_client": other}
            yield ChatOpenAI(**more, model="scripted", max_retries=0, http_async_client=web, stream_usage=True)


async def test_langchain(api: Api) -> None:
    async with langchain(api) as model:
        got = await model.ainvoke([("human", "demo: say Hello")], temperature=0.1)
        assert (got.content, got.response_metadata["finish_reason"]) == ("Hello", "stop")
        assert got.usage_metadata is None
        with pytest.raises(openai.BadRequestError):
            await model.ainvoke("Hello", n=2)


@pytest.fixture
def node() -> str:
    program = shutil.which("node")
    if program is None or not (PEERS / "node_modules" / "openai").is_dir():
        if os.environ.get("CI"):
            pytest.fail("Node.js or its package openai is missing: npm install --prefix tests/peers")
        pytest.skip("Node.js or its package openai is missing: npm install --prefix tests/peers")
    return program


async def test_openai_for_node(api: Api, node: str) -> None:
    environment = {**os.environ, "OPENAI_BASE_URL": f"{api.url}v1", "OPENAI_API_KEY": api.token}
    process = await asyncio.create_subprocess_exec(
        node, str(PEERS / "openai_client.mjs"), env=environment, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(3 * LIMIT):
        out, _ = await process.communicate()
    assert json.loads(out) == {
        "plain": "Hello",
        "stream": "1 2 3 ",
        "models": ["scripted", "scripted-large"],
        "response": "Hello",
        "errors": [["BadRequestError", 400, "n"], ["AuthenticationError", 401, None], ["NotFoundError", 404, "model"]],
    }
