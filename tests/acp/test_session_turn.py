"""A turn of a session over loopback, and its cancel, with a scripted agent in the test itself."""

import anyio
import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.messages import Image, Option, PromptResult, Text, ToolCallUpdate, Unknown
from copilot_kernel.errors import AgentRefused, AuthRequired

from .scripted import OPTIONS, Client, listening, opened, said

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30), pytest.mark.usefixtures("nothing_is_left")]


# -- a turn -------------------------------------------------------------------------------------------------------


async def test_a_turn_sends_the_blocks_and_ends_after_its_updates(referee):
    async def prompt(script, params):
        await script.say("one")
        await script.update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look"})
        return {"stopReason": "max_tokens", "usage": {"totalTokens": 3}}

    async with listening(session_prompt=prompt) as (script, launch), opened(launch) as (session, client):
        result = await session.prompt([Text("hello"), Image("aGk=", "image/png")])
        raw = {"stopReason": "max_tokens", "usage": {"totalTokens": 3}}
        assert result == PromptResult("max_tokens", {"totalTokens": 3}, raw=raw)
        assert client.events == [("s1", said("one")), ("s1", ToolCallUpdate("t", begins=True, title="Look"))]
        assert script.heard[-1] == (
            "session/prompt",
            {
                "sessionId": "s1",
                "prompt": [
                    {"type": "text", "text": "hello"},
                    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                ],
            },
        )
        assert referee(session.log.lines) == ["initialize", "session/new", "session/prompt"]


async def test_updates_after_the_end_still_come():
    async with listening() as (script, launch), opened(launch) as (session, client):
        await session.prompt([Text("hello")])
        await script.say("late")
        with anyio.fail_after(5):
            while not client.events:
                await anyio.lowlevel.checkpoint()
        assert client.events == [("s1", said("late"))]


CHOICES = [
    (0, {"outcome": {"outcome": "selected", "optionId": "yes-1"}}),
    (1, {"outcome": {"outcome": "selected", "optionId": "no-1"}}),
    (None, {"outcome": {"outcome": "cancelled"}}),
]


@pytest.mark.parametrize(("choice", "outcome"), CHOICES)
async def test_a_question_comes_in_its_place_and_gets_the_chosen_answer(referee, choice, outcome):
    answers = []

    async def prompt(script, params):
        await script.say("before")
        answers.append(await script.ask(sessionId="s1", toolCall={"toolCallId": "t"}, options=OPTIONS))
        await script.say("after")
        return {"stopReason": "end_turn"}

    client = Client()
    client.choose = choice
    async with listening(session_prompt=prompt) as (_, launch), opened(launch, client) as (session, _):
        await session.prompt([Text("hello")])
        before, question, after = client.events
        assert (before, after) == (("s1", said("before")), ("s1", said("after")))
        assert (question.session_id, question.tool_call.id, question.options[1]) == (
            "s1",
            "t",
            Option("no-1", "Reject", "reject_once"),
        )
        assert answers == [outcome]
        assert referee(session.log.lines)[-1] == "= session/request_permission"


async def test_what_we_do_not_offer_is_refused_at_once(referee):
    answers = []

    async def prompt(script, params):
        for method in ("fs/read_text_file", "terminal/create", "craft/drainMidTurnQueue", "_own/thing"):
            with pytest.raises(AgentRefused) as caught:
                await script.connection.request(method, {"sessionId": "s1"})
            answers.append((caught.value.method, caught.value.code))
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, _):
        await session.prompt([Text("hello")])
        methods = ["fs/read_text_file", "terminal/create", "craft/drainMidTurnQueue", "_own/thing"]
        assert answers == [(method, -32601) for method in methods]
        assert referee(session.log.lines)[3:] == [f"! {method}" for method in methods]


async def test_unknown_notifications_are_reported_unless_they_are_somebodys_own():
    async def prompt(script, params):
        for method in ("_own/news", "$/progress", "session/gossip"):
            await script.connection.notify(method, {})
        await script.connection.notify("session/update", {"sessionUpdate": "news"})
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, client):
        await session.prompt([Text("hello")])
        assert client.diagnostics == ["a notification that this client does not know: session/gossip"]
        assert client.events == [("", Unknown("news", {"sessionUpdate": "news"}))]


async def test_a_refused_prompt_leaves_the_session_usable():
    answers = [RequestFailed(-32000, "Authentication required"), RequestFailed(400, "too long"), None]

    async def prompt(script, params):
        if answer := answers.pop(0):
            raise answer
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, _):
        with pytest.raises(AuthRequired):
            await session.prompt([Text("hello")])
        with pytest.raises(AgentRefused) as caught:
            await session.prompt([Text("hello")])
        assert str(caught.value) == "The agent refused session/prompt: too long (400)"
        assert (await session.prompt([Text("hello")])).stop_reason == "end_turn"


async def test_a_second_prompt_waits_for_the_first():
    order = []

    async def prompt(script, params):
        order.append("begins")
        await script.say("…")
        await anyio.lowlevel.checkpoint()
        order.append("ends")
        return {"stopReason": "end_turn"}

    async with listening(session_prompt=prompt) as (_, launch), opened(launch) as (session, _):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(session.prompt, [Text("hello")])
        assert order == ["begins", "ends"] * 3


# -- cancel -------------------------------------------------------------------------------------------------------


async def until_cancelled(script, params):
    await script.say("working")
    await script.cancelled.wait()
    return {"stopReason": "cancelled"}


async def working(client):
    with anyio.fail_after(5):
        while not client.events:
            await anyio.lowlevel.checkpoint()


async def test_cancel_goes_out_once_and_the_turn_ends_with_the_agents_word(referee):
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, client):
        results = []

        async def prompt():
            results.append((await session.prompt([Text("hello")])).stop_reason)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await working(client)
            await session.cancel()
            await session.cancel()
        assert results == ["cancelled"]
        assert script.heard[3:] == [("session/cancel", {"sessionId": "s1"})]
        assert referee(session.log.lines)[3:] == ["session/cancel"]


async def test_cancel_while_nothing_runs_sends_nothing():
    async with listening() as (script, launch), opened(launch) as (session, _):
        await session.cancel()
        await session.prompt([Text("hello")])
        await session.cancel()
        await session.prompt([Text("again")])
        assert [method for method, _ in script.heard] == ["initialize", "session/new", *["session/prompt"] * 2]


async def test_cancel_right_after_the_prompt_comes_after_it_on_the_wire():
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, _):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, [Text("x" * 1_000_000)])
            await anyio.lowlevel.checkpoint()
            await session.cancel()
        assert [method for method, _ in script.heard[2:]] == ["session/prompt", "session/cancel"]


async def test_a_prompt_that_is_not_awaited_any_more_is_cancelled_at_the_agent_too():
    async with listening(session_prompt=until_cancelled) as (script, launch), opened(launch) as (session, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.prompt, [Text("hello")])
            await working(client)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            await script.cancelled.wait()
        assert script.heard[3:] == [("session/cancel", {"sessionId": "s1"})]
