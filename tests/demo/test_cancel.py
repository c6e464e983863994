"""Cancelling: quick, quiet about open tool calls, and harmless when nothing runs."""

import json
from contextlib import asynccontextmanager

import anyio
import pytest

from ..acp.memory import memory_pair
from ..agent.agent import serve

pytestmark = pytest.mark.anyio

CANCELLED = {"stopReason": "cancelled"}
END = {"stopReason": "end_turn"}


def message(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


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


def says(text):
    return lambda heard: heard == message(text)


def asks(heard):
    return "options" in heard


@pytest.mark.parametrize("script", ["slow 1000 0.01", "slow 100000 0", "shell sleep 60"])
async def test_a_cancelled_prompt_answers_so(talking, script):
    async with talking("") as client:
        async with running(client, f"demo: say go\n{script}\nsay never", says("go")) as answers:
            began = anyio.current_time()
            await client.cancel()
        assert (answers, anyio.current_time() - began < 2) == ([CANCELLED], True)
        assert message("never") not in client.heard


async def test_a_cancel_in_the_same_piece_as_the_prompt_finds_it(tmp_path):
    near, far = memory_pair()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve, far)
        session = await _answer(near, ("session/new", {"cwd": str(tmp_path), "mcpServers": []}, 1))
        params = {"sessionId": session["sessionId"]}
        prompt = {**params, "prompt": [{"type": "text", "text": "demo: slow 1 60"}]}
        assert await _answer(near, ("session/prompt", prompt, 2), ("session/cancel", params, None)) == CANCELLED
        await near.close()


async def _answer(transport, *messages):
    """The result of the first of `messages`, which are sent at once."""
    ids = [{} if id is None else {"id": id} for _, _, id in messages]
    lines = [{"method": method, "params": params, **id} for (method, params, _), id in zip(messages, ids, strict=True)]
    await transport.send(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    with anyio.fail_after(5):
        while True:
            for line in (await transport.receive()).splitlines():
                if json.loads(line).get("id") == messages[0][2]:
                    return json.loads(line)["result"]


async def test_an_open_question_is_left_without_a_final_update(talking):
    async with talking() as client:
        client.answers = [anyio.sleep_forever]
        async with running(client, "demo: ask", asks) as answers:
            await client.cancel()
        assert answers == [CANCELLED]
        kinds = [heard.get("sessionUpdate", "question") for heard in client.heard]
        assert kinds == ["available_commands_update", "tool_call", "question"]


async def test_a_second_prompt_ends_the_first(talking):
    async with talking("") as client:
        async with running(client, "demo: say go\nslow 1 60", says("go")) as answers:
            assert await client.prompt("demo: say second") == END
        assert answers == [CANCELLED]


async def test_a_prompt_request_can_be_cancelled_by_the_general_method(talking):
    async with talking("") as client:
        with anyio.move_on_after(0.1):
            await client.prompt("demo: slow 1 60")
        assert await client.prompt("demo: say on") == END
