"""Cancelling: quiet about open tool calls, and harmless when nothing runs."""

from contextlib import asynccontextmanager
from unittest.mock import AsyncMock

import anyio
import pytest
from copilot_kernel.demo.agent import Agent

from .conftest import Client
from .messages import CANCELLED, END, asks, says

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def running(client, script, sign):
    """The prompt runs, and `sign` was received; yields the list that will hold its answer."""
    answers = []

    async def run():
        answers.append(await client.prompt(script))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await client.until(sign)
        yield answers


@pytest.mark.parametrize(
    "end", [Client.cancel, lambda client: client.prompt("demo: say second")], ids=["cancel", "next"]
)
async def test_a_cancel_or_another_prompt_ends_the_prompt_that_runs(connected, end):
    async with connected() as client:
        async with running(client, "Count to 1000", says("2 ")) as answers:
            await end(client)
        assert answers == [CANCELLED]
        assert await client.prompt("demo: say on") == END


async def test_a_cancel_before_anything_has_run_finds_the_prompt(tmp_path):
    async with anyio.create_task_group() as tasks:
        agent = Agent(AsyncMock(), tasks)
        new = await agent.on_request("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        session = {"sessionId": new["sessionId"]}
        prompt = agent.on_request("session/prompt", {**session, "prompt": [{"type": "text", "text": "Count to 1000"}]})
        agent.on_notification("session/cancel", session)
        assert await prompt == CANCELLED


async def test_an_open_question_is_left_without_a_final_update(connected):
    async with connected() as client:
        client.answers = [anyio.sleep_forever]
        async with running(client, "demo: ask", asks) as answers:
            await client.cancel()
        assert answers == [CANCELLED]
        kinds = [received.get("sessionUpdate", "question") for received in client.received]
        assert kinds == ["available_commands_update", "tool_call", "question"]


async def test_a_prompt_request_can_be_cancelled_by_the_general_method(connected):
    async with connected() as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.prompt, "Count to 1000")
            await client.until(says("1 "))
            tasks.cancel_scope.cancel()
        assert await client.prompt("demo: say on") == END
        assert any(b'"code":-32800' in line for _, line in client.connection.log.lines)
