"""Conversations that are kept on one session of the agent: only what is new goes to it."""

import asyncio
from typing import Any

import pytest

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

    async def new(script: Any, params: Any) -> Json:
        return {"sessionId": f"s{sum(method == 'session/new' for method, _ in script.heard)}"}

    can = {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}}}}
    return {"initialize": can, "session_new": new, "session_prompt": prompt, "session_close": {}}


def texts(script: Any) -> list[str]:
    return ["".join(block["text"] for block in blocks) for blocks in prompts(script)]


def sessions(script: Any) -> list[str]:
    return [params["sessionId"] for method, params in script.heard if method == "session/prompt"]


async def test_the_header_counts_before_metadata_and_metadata_before_the_user(api: Api, answers: Json) -> None:
    named = [("header", "metadata", "user"), ("", "metadata", "user"), ("", "", "user")]
    async with scripted(api, **answers) as script:
        states = []
        for header, metadata, user_name in (*named, *named):
            got = await api.complete("One", header, metadata={"session": metadata}, user=user_name)
            states.append(got.headers["X-Copilot-Session-State"])
        assert states == ["new"] * 3 + ["continued"] * 3
        assert sessions(script) == ["s1", "s2", "s3", "s1", "s2", "s3"]
        assert [*api.context.conversations.store._by_name] == ["header", "metadata", "user"]


async def test_of_a_history_that_the_agent_knows_only_the_new_part_goes_to_it(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        history = user("One")
        for text in ("Two", "Three"):
            got = await api.complete(history, "a")
            assert got.body["usage"]["total_tokens"] == 11, "of this turn"
            history += [said(f"  {got.said}\n"), *user(text)]
        await api.complete(history, "a")
        assert texts(script) == ["One", "Two", "Three"]


async def test_a_history_that_comes_back_as_parts_is_the_same(api: Api, answers: Json) -> None:
    def parts(*texts: str) -> list[Json]:
        return [{"type": "text", "text": text} for text in texts]

    async with scripted(api, **answers) as script:
        got = await api.complete("One", "a")
        history = [{"role": "user", "content": parts("One")}, {"role": "assistant", "content": parts(got.said)}]
        await api.complete([*history, *user("Two")], "a")
        last = {"role": "user", "content": parts("3", "4")}
        await api.complete([*history, *user("Two"), said("Answer 2"), last], "a")
        await api.complete([{"role": "user", "content": parts("Eins")}, *history[1:], *user("Five")], "a")
        assert texts(script)[:3] == ["One", "Two", "34"]
        assert sessions(script) == ["s1", "s1", "s1", "s2"]


@pytest.mark.parametrize("is_lost", [False, True])
async def test_another_history_or_session_begins_anew_and_the_agent_gets_the_whole(
    api: Api, answers: Json, is_lost: bool
) -> None:
    async with scripted(api, **answers) as script:
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


@pytest.mark.parametrize("extension", [{"kept_sessions": 2}], indirect=True)
async def test_the_one_that_was_not_used_for_longest_makes_room(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        for name in ("a", "b", "a", "c", "a", "b"):
            await api.complete("One", name)
        assert sessions(script) == ["s1", "s2", "s1", "s3", "s1", "s4"]


async def test_requests_to_one_session_wait_for_one_another(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        got = await asyncio.gather(*(api.complete(f"Prompt {number}", "a") for number in range(5)))
        assert sessions(script) == ["s1"] * 5
    assert sorted(each.said for each in got) == [f"Answer {number}" for number in range(1, 6)]


async def test_a_client_that_waits_for_a_session_and_leaves_does_not_stop_who_has_it(api: Api) -> None:
    first = asyncio.create_task(api.complete("demo: slow 20 0.05", "a"))
    await until(lambda: api.turns == 1)
    async with api.streaming("demo: say never", user="a") as _:
        pass
    assert (await first).said.endswith("20 ")
