"""Cancelling: quiet about open tool calls, and harmless when nothing runs."""

from contextlib import asynccontextmanager
from unittest.mock import AsyncMock

import anyio
import pytest
from copilot_kernel.demo.agent import Agent

from .messages import CANCELLED, END, asks, message, says

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def running(client, script, sign):
    """The prompt runs, and `sign` was heard; yields the list that will hold its answer."""
    answers = []

    async def run():
        answers.append(await client.prompt(script))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await client.until(sign)
        yield answers


@pytest.mark.parametrize(("prompt", "sign"), [("Count to 1000", "2 "), ("demo: say go\nshell sleep 600", "go")])
async def test_a_cancelled_prompt_answers_so(talking, prompt, sign):
    async with talking() as client:
        async with running(client, f"{prompt}\nsay never", says(sign)) as answers:
            await client.cancel()
        assert answers == [CANCELLED]
        assert message("never") not in client.heard


async def test_a_cancel_before_anything_has_run_finds_the_prompt(tmp_path):
    async with anyio.create_task_group() as tasks:
        agent = Agent(AsyncMock(), tasks)
        new = await agent.on_request("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        session = {"sessionId": new["sessionId"]}
        prompt = agent.on_request("session/prompt", {**session, "prompt": [{"type": "text", "text": "Count to 1000"}]})
        agent.on_notification("session/cancel", session)
        assert await prompt == CANCELLED


async def test_an_open_question_is_left_without_a_final_update(talking):
    async with talking() as client:
        client.answers = [anyio.sleep_forever]
        async with running(client, "demo: ask", asks) as answers:
            await client.cancel()
        assert answers == [CANCELLED]
        kinds = [heard.get("sessionUpdate", "question") for heard in client.heard]
        assert kinds == ["available_commands_update", "tool_call", "question"]


async def test_a_second_prompt_ends_the_first(talking):
    async with talking() as client:
        async with running(client, "Count to 1000", says("1 ")) as answers:
            assert await client.prompt("demo: say second") == END
        assert answers == [CANCELLED]


async def test_a_prompt_request_can_be_cancelled_by_the_general_method(talking):
    async with talking() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.prompt, "Count to 1000")
        await client.until(says("1 "))
        tasks.cancel_scope.cancel()
    async with talking() as client:
        assert await client.prompt("demo: say on") == END
