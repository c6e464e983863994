"""Conversations that are kept on one session of the agent: only what is new goes to it."""

from __future__ import annotations

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


NAMED: list[tuple[Json, Json]] = [
    ({}, {"session": "a"}),
    ({"metadata": {"session": "a"}}, {}),
    ({"user": "a"}, {}),
]


@pytest.mark.parametrize(("body", "header"), NAMED, ids=["header", "metadata", "user"])
async def test_the_session_has_a_name_from(api: Api, answers: Json, body: Json, header: Json) -> None:
    async with scripted(api, **answers) as script:
        first = await api.complete("One", **body, **header)
        second = await api.complete("Two", **body, **header)
        assert sessions(script) == ["s1", "s1"]
    assert [got.headers["X-Copilot-Session-State"] for got in (first, second)] == ["new", "continued"]


async def test_the_header_counts_before_metadata_and_metadata_before_the_user(api: Api, answers: Json) -> None:
    named = [("header", "metadata", "user"), ("", "metadata", "user"), ("", "", "user")]
    async with scripted(api, **answers) as script:
        for names in (*named, *named):
            header, metadata, user_name = names
            await api.complete("One", header, metadata={"session": metadata}, user=user_name)
        assert sessions(script) == ["s1", "s2", "s3", "s1", "s2", "s3"]
        assert [*api.app.dialogues._kept] == ["header", "metadata", "user"]


async def test_of_a_history_that_the_agent_knows_only_the_new_part_goes_to_it(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        history = user("One")
        for text in ("Two", "Three"):
            got = await api.complete(history, "a")
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


async def test_a_history_that_the_client_leaves_to_the_session_is_not_needed(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        for text in ("One", "Two"):
            await api.complete(text, "a")
        assert (texts(script), sessions(script)) == (["One", "Two"], ["s1", "s1"])


async def test_another_history_begins_anew_and_goes_to_the_agent_as_a_whole(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        await api.complete("One", "a")
        got = await api.complete([*user("Eins"), said("Erste Antwort"), *user("Zwei")], "a")
        assert sessions(script) == ["s1", "s2"]
        assert [part in texts(script)[1] for part in ("Eins", "Erste Antwort", "Zwei")] == [True] * 3
        closed = [params for method, params in script.heard if method == "session/close"]
    assert closed == [{"sessionId": "s1"}]
    assert got.headers["X-Copilot-Session-State"] == "new"


async def test_two_names_are_two_sessions(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        for name in ("a", "b", "a"):
            await api.complete("One", name)
        assert sessions(script) == ["s1", "s2", "s1"]


async def test_tokens_are_those_of_the_turn(api: Api, answers: Json) -> None:
    async with scripted(api, **answers):
        totals = [(await api.complete("One", "a")).body["usage"]["total_tokens"] for _ in range(3)]
    assert totals == [11, 11, 11]


async def test_a_session_that_the_agent_has_lost_gets_the_whole_history(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        got = await api.complete("One", "a")
        await script.connection._transport.close()
        again = await api.complete([*user("One"), said(got.said), *user("Two")], "a")
        assert "One" in texts(script)[-1]
    assert again.headers["X-Copilot-Session-State"] == "new"


@pytest.mark.parametrize("extension", [{"kept_sessions": 2}], indirect=True)
async def test_the_one_that_was_not_used_for_longest_makes_room(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        for name in ("a", "b", "a", "c", "a", "b"):
            await api.complete("One", name)
        assert sessions(script) == ["s1", "s2", "s1", "s3", "s1", "s4"]


@pytest.mark.parametrize("extension", [{"idle_seconds": 0.0}], indirect=True)
async def test_idle_sessions_are_closed(api: Api) -> None:
    await api.complete("demo: say x", "a")
    assert api.app.status()["sessions"] == 1
    await api.app._sweep()
    assert (api.app.status()["sessions"], api.app.status()["agents"]) == (0, 0)


async def test_requests_to_one_session_wait_for_one_another(api: Api, answers: Json) -> None:
    async with scripted(api, **answers) as script:
        got = await asyncio.gather(*(api.complete(f"Prompt {number}", "a") for number in range(5)))
        assert sessions(script) == ["s1"] * 5
    assert sorted(each.said for each in got) == [f"Answer {number}" for number in range(1, 6)]


async def test_a_client_that_waits_for_a_session_and_leaves_does_not_stop_who_has_it(api: Api) -> None:
    first = asyncio.create_task(api.complete("demo: slow 20 0.05", "a"))
    await until(lambda: api.app.limits.running == 1)
    async with api.streaming("demo: say never", user="a") as _:
        pass
    assert (await first).said.endswith("20 ")
