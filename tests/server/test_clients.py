"""Clients that people use: OpenAI's own for Python and Node.js, and LangChain's."""

import asyncio
import json
import os
import re
import shutil
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from copilot_kernel.server.app import CopilotApp
from copilot_kernel.server.errors import ERROR_TYPES

from ..real.agents import INSTALL
from ..real.conftest import lacking
from .api import LIMIT, Api, scripted, user

if TYPE_CHECKING:
    import openai
    from langchain_openai import ChatOpenAI

PEERS = Path(__file__).parents[1] / "peers"


def client(api: Api) -> "openai.AsyncOpenAI":
    import openai  # takes a second

    web = httpx.AsyncClient(trust_env=False)
    return openai.AsyncOpenAI(base_url=f"{api.url}v1", api_key=api.token, http_client=web)


async def test_streams_of_openai_and_langchain(api: Api) -> None:
    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        for piece in ("One ", "two"):
            await script.say(piece)
        return {"stopReason": "end_turn", "usage": {"inputTokens": 30, "outputTokens": 5, "totalTokens": 35}}

    async with scripted(api.pool, session_prompt=prompt), client(api) as ai, langchain(api) as model:
        ask: Any = ai.chat.completions.create
        options = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = [chunk async for chunk in await ask(model="x", messages=user("Hello"), **options)]
        others = [chunk async for chunk in model.astream("Hello")]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "One two"
    assert (chunks[0].choices[0].delta.role, chunks[-1].usage.total_tokens) == ("assistant", 35)
    assert "".join(str(chunk.content) for chunk in others) == "One two"
    assert [chunk.usage_metadata["total_tokens"] for chunk in others if chunk.usage_metadata] == [35]


@asynccontextmanager
async def langchain(api: Api) -> AsyncIterator["ChatOpenAI"]:
    from langchain_openai import ChatOpenAI  # takes seconds

    async with httpx.AsyncClient(trust_env=False) as web:
        with httpx.Client(trust_env=False) as other:
            more: Any = {"base_url": f"{api.url}v1", "api_key": api.token, "http_client": other}
            yield ChatOpenAI(**more, model="scripted", max_retries=0, http_async_client=web, stream_usage=True)


@pytest.fixture
def node() -> str:
    program = shutil.which("node")
    if program is None or not (PEERS / "node_modules" / "openai").is_dir():
        lacking(f"Node.js or its package openai is missing: {INSTALL}")
    return str(program)


async def test_openai_for_node(api: Api, node: str) -> None:
    environment = {**os.environ, "OPENAI_BASE_URL": f"{api.url}v1", "OPENAI_API_KEY": api.token}
    process = await asyncio.create_subprocess_exec(
        node, str(PEERS / "openai_client.mjs"), env=environment, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(LIMIT):
        out, _ = await process.communicate()
    assert json.loads(out) == {
        "plain": "Hello",
        "stream": "1 2 3 ",
        "models": ["scripted", "scripted-large"],
        "errors": [["BadRequestError", 400, "n"], ["AuthenticationError", 401, None], ["NotFoundError", 404, "model"]],
    }


# -- the examples of the documentation run, and it names every setting and every error ---------------------------------


PAGE = Path(__file__).parents[2] / "docs" / "server.md"
in_a_checkout = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is only in a checkout")


@in_a_checkout
async def test_the_examples_work(api: Api) -> None:
    page = PAGE.read_text("utf-8")
    examples = re.findall(r"<!-- run: (\w+) -->\n```\w+\n(.*?)```", page, re.DOTALL)
    chats = [code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "new_session" in code]
    wanted = (("models_available", '"object":"list"', "data: [DONE]"), ("demo agent",), ("echo hi", "all done"))
    for (kind, code), words in zip([*examples, ("python", chats[0])], wanted, strict=True):
        program = sys.executable if kind == "python" else shutil.which("bash") or "bash"
        environment = {**os.environ, "TOKEN": api.token, "JUPYTER_TOKEN": api.token, "NO_PROXY": "*"}
        code = code.replace("http://localhost:8080/", api.url)
        code = code.replace("ws://127.0.0.1:8888/", api.url.replace("http", "ws", 1))
        code = code.replace("What does this folder hold?", r"demo: shell echo hi\nsay all done")
        process = await asyncio.create_subprocess_exec(program, "-c", code, env=environment, stdin=PIPE, stdout=PIPE)
        async with asyncio.timeout(LIMIT):
            out, _ = await process.communicate(b"y\n")
        assert (process.returncode, [each for each in words if each not in out.decode()]) == (0, []), out.decode()


@in_a_checkout
def test_every_setting_and_every_error_is_there() -> None:
    page = PAGE.read_text("utf-8")
    own = CopilotApp.class_own_traits(config=True)
    assert [name for name in own if f"`{name}`" not in page] == []
    assert [status for status, kind in ERROR_TYPES.items() if f"{status} `{kind}`" not in page] == []
