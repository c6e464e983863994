"""Conversations that are kept on one session of the agent: only what is new goes to it."""

import asyncio
import logging
from typing import Any

import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.server.openai.prompt import INTRODUCTION, digest
from copilot_kernel.server.openai.schema import read_chat

from ..acp.scripted import Script, numbered
from .api import Api, Json, prompts, scripted, until, user


def said(text: str) -> Json:
    return {"role": "assistant", "content": text}


@pytest.fixture
def answers() -> Json:
    """An agent that says the number of the prompt, and counts its tokens across all turns."""
    count = 0

    async def prompt(script: Any, params: Any) -> Json:
        nonlocal count
        count += 1
        text = {"type": "text", "text": f"Answer {count}"}
        session = params["sessionId"]
        await script.update({"sessionUpdate": "agent_message_chunk", "content": text}, session)
        tokens = {"inputTokens": 10 * count, "outputTokens": count, "totalTokens": 11 * count}
        return {"stopReason": "end_turn", "usage": tokens}

    can = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}}}}
    return {"initialize": can, "session_new": numbered(), "session_prompt": prompt, "session_close": {}}


def texts(script: Any) -> list[str]:
    return ["".join(block["text"] for block in blocks) for blocks in prompts(script)]


def marked(text: str) -> str:
    """The prompt for one message of a user."""
    return f'{INTRODUCTION}\n\n<message role="user">\n{text}\n</message>'


def sessions(script: Any) -> list[str]:
    return [params["sessionId"] for method, params in script.heard if method == "session/prompt"]


async def test_the_header_counts_before_metadata(api: Api, answers: Json) -> None:
    named = [("header", "metadata"), ("", "metadata")]
    async with scripted(api.pool, **answers) as script:
        states = []
        for header, metadata in (*named, *named):
            got = await api.complete("One", header, metadata={"session": metadata})
            states.append(got.headers["X-Copilot-Session-State"])
        assert states == ["new"] * 2 + ["continued"] * 2
        assert sessions(script) == ["s1", "s2", "s1", "s2"]
        assert [*api.context.conversations.store._by_name] == ["header", "metadata"]


async def test_user_names_a_person_whose_chats_know_nothing_of_one_another(api: Api, answers: Json) -> None:
    salary = user("My salary is 1000.")
    title = {"role": "system", "content": "Write a title for this chat."}
    async with scripted(api.pool, **answers) as script:
        for messages in (salary, [title, *salary], user("What do you know about me?")):
            got = await api.complete(messages, user="person-17", safety_identifier="person-17")
            assert got.headers["X-Copilot-Session-State"] == "new"
        assert sessions(script) == ["s1", "s2", "s3"]
        assert "salary" not in texts(script)[2]


async def test_of_a_history_that_the_agent_knows_only_the_new_part_goes_to_it(api: Api, answers: Json) -> None:
    async with scripted(api.pool, **answers) as script:
        history = user("One")
        for text in ("/allow-all on", "Three"):
            got = await api.complete(history, "a")
            assert got.body["usage"]["total_tokens"] == 11, "of this turn"
            history += [said(f"  {got.said}\n"), *user(text)]
        await api.complete(history, "a")
        assert texts(script) == [marked(text) for text in ("One", "/allow-all on", "Three")]


@pytest.mark.parametrize(("content", "same"), [
    ("One", ["One"]), (" One\n", ["One"]), ("3\n4", ["3", "4"]), ("34", None), ("Eins", None),
])  # fmt: skip
def test_a_message_that_comes_back_as_parts_is_the_same(content: str, same: list[str] | None) -> None:
    parts = [{"type": "text", "text": text} for text in same or ["One"]]
    whole, in_parts = read_chat({"messages": [{"role": "user", "content": each} for each in (content, parts)]}).messages
    assert (digest(whole) == digest(in_parts)) is (same is not None)


@pytest.mark.parametrize("is_lost", [False, True])
async def test_another_history_or_session_begins_anew_and_the_agent_gets_the_whole(
    api: Api, answers: Json, is_lost: bool
) -> None:
    async with scripted(api.pool, **answers) as script:
        first = (await api.complete("One", "a")).said
        history = [*user("One"), said(first)] if is_lost else [*user("Eins"), said("Erste Antwort")]
        if is_lost:
            await script.connection._transport.close()
        got = await api.complete([*history, *user("Zwei")], "a")
        assert sessions(script) == ["s1", "s2"]
        assert [part in texts(script)[1] for part in (history[0]["content"], "Zwei")] == [True] * 2
        closed = [params for method, params in script.heard if method == "session/close"]
    assert closed == ([] if is_lost else [{"sessionId": "s1"}])
    assert got.headers["X-Copilot-Session-State"] == "new"


async def test_requests_to_one_session_wait_for_one_another(api: Api, answers: Json) -> None:
    async with scripted(api.pool, **answers) as script:
        got = await asyncio.gather(*(api.complete(f"Prompt {number}", "a") for number in range(5)))
        assert sessions(script) == ["s1"] * 5
    assert sorted(each.said for each in got) == [f"Answer {number}" for number in range(1, 6)]


async def test_a_client_that_waits_for_a_session_and_leaves_does_not_stop_who_has_it(api: Api) -> None:
    first = asyncio.create_task(api.complete("demo: slow 20 0.05", "a"))
    await until(lambda: api.turns == 1)
    async with api.streaming("demo: say never", metadata={"session": "a"}) as _:
        pass
    assert (await first).said.endswith("20 ")


# -- ends --------------------------------------------------------------------------------------------------------------


CAN = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}, "delete": {}}}}


async def never(script: Script, params: Any) -> None:
    """An agent that hangs."""
    await asyncio.Event().wait()


@pytest.mark.parametrize("deletes", [True, False])
async def test_a_request_without_a_name_leaves_nothing_in_the_agents_list(api: Api, deletes: bool) -> None:
    can = CAN if deletes else {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}}}}
    last, ways = ("delete", ("close", "delete")) if deletes else ("close", ("close",))
    async with scripted(
        api.pool, initialize=can, session_new=numbered(0), session_close={}, session_delete={}
    ) as script:
        await api.ask("v1/models")
        await api.complete("Hello")
        await api.complete("Hello", "kept")
        await until(lambda: ended(script)[-1] == (f"session/{last}", "s1"))
        await api.close_conversations()
        await until(lambda: ended(script)[-1] == ("session/close", "s2"))
        ends = [(f"session/{how}", id) for id in ("s0", "s1") for how in ways]
        assert ended(script) == [*ends, ("session/close", "s2")]


def ended(script: Script) -> list[tuple[str, str]]:
    """What was asked for at the end of sessions, in order."""
    return [(method, each["sessionId"]) for method, each in script.heard if method.endswith(("/close", "/delete"))]


async def test_a_session_that_cannot_be_deleted_costs_no_answer(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "copilot_kernel.server.pool")
    no_luck = RequestFailed(-32603, "no luck")
    async with scripted(api.pool, initialize=CAN, session_close={}, session_delete=no_luck) as script:
        got = [await api.complete("Hello"), await api.complete("Hello", stream=True)]
        await until(lambda: len(ended(script)) == 4)
        await until(lambda: api.sessions == 0)
        assert [each.status for each in got] == [200, 200]
        assert got[1].events[-1] == "[DONE]"
    lines = [record.getMessage() for record in caplog.records if record.name == "copilot_kernel.server.pool"]
    assert [line.startswith("the agent did not end a session: ") and "no luck" in line for line in lines] == [True] * 2


@pytest.mark.parametrize("extension", [{"concurrency": 1}], indirect=True)
async def test_an_agent_that_takes_its_time_to_delete_keeps_nobody_waiting(api: Api) -> None:
    async with scripted(api.pool, initialize=CAN, session_close={}, session_delete=never) as script:
        assert (await api.complete("Hello")).status == 200
        await until(lambda: [method for method, _ in ended(script)] == ["session/close", "session/delete"])
        assert (await api.complete("Hello", "kept")).status == 200
