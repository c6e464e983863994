"""Limits, figures, the pool of agents, and clients that leave."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from copilot_kernel.demo.signin import log_in
from copilot_kernel.server import turns
from copilot_kernel.server.errors import ApiError
from copilot_kernel.server.limits import Limits

from .api import LIMIT, Answered, Api, scripted, until, user
from .sockets import MagicSession, text_of


def agents() -> list[psutil.Process]:
    """Processes of the demo agent that we started."""
    return [each for each in psutil.Process().children() if "copilot_kernel.demo" in each.cmdline()]


# -- limits -----------------------------------------------------------------------------------------------------------


def spend(limits: Limits, times: int) -> list[str]:
    """What the client is told, as often as it asks; empty if nothing."""
    told = []
    for _ in range(times):
        try:
            with limits.turn():
                told.append("")
        except ApiError as error:
            told.append(error.headers["Retry-After"])
    return told


def test_a_rate_is_a_bucket_that_fills_evenly() -> None:
    now = 0.0
    limits = Limits(rate=2, concurrency=0, clock=lambda: now)
    assert spend(limits, 4) == ["", "", "30", "30"]
    now = 15.0
    assert spend(limits, 1) == ["15"]
    now = 31.5
    assert spend(limits, 2) == ["", "29"]
    now = 1000.0
    assert spend(limits, 3) == ["", "", "30"]


def test_without_a_rate_there_is_no_limit() -> None:
    assert spend(Limits(rate=0, concurrency=0), 1000) == [""] * 1000


@pytest.mark.parametrize("extension", [{"rate_limit": 2}], indirect=True)
async def test_too_many_requests_a_minute_are_a_429(api: Api) -> None:
    got = [await api.complete("demo: say x") for _ in range(3)]
    assert [each.status for each in got] == [200, 200, 429]
    assert got[2].error["type"] == "rate_limit_error"
    assert 20 <= int(got[2].headers["Retry-After"]) <= 30


@pytest.mark.parametrize("extension", [{"rate_limit": 1}], indirect=True)
@pytest.mark.parametrize("path", ["v1/models", "v1/models/scripted", "api/models", "copilot/chat/sessions"])
async def test_lists_that_the_agent_is_asked_for_count_too(api: Api, path: str) -> None:
    got = [await api.ask(path) for _ in range(2)]
    assert [each.status for each in got] == [200, 429]
    assert 50 <= int(got[1].headers["Retry-After"]) <= 60
    assert [(await api.ask(free)).status for free in ("health", "copilot/status", "copilot/chat")] == [200] * 3


@pytest.mark.parametrize("extension", [{"concurrency": 1}], indirect=True)
async def test_too_many_requests_at_once_are_a_429(api: Api) -> None:
    async with api.streaming("demo: say x\nwait") as response:
        lines = response.aiter_lines()  # let go, it would end the stream
        await anext(lines)
        got = await api.complete("demo: say x")
    assert (got.status, got.headers["Retry-After"]) == (429, "1")
    await until(lambda: api.app.limits.running == 0)
    assert (await api.complete("demo: say x")).status == 200


# -- clients that leave -----------------------------------------------------------------------------------------------


async def test_a_client_that_leaves_a_stream_cancels_the_turn(api: Api) -> None:
    cancelled = asyncio.Event()

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        await script.say("Hello")
        await script.cancelled.wait()
        cancelled.set()
        return {"stopReason": "cancelled"}

    async with scripted(api, session_prompt=prompt):
        async with api.streaming("Hello") as response:
            async for line in response.aiter_lines():
                if "Hello" in line:
                    break
        async with asyncio.timeout(LIMIT):
            await cancelled.wait()
        await until(lambda: api.app.limits.running == 0)
    assert api.app.status()["sessions"] == 0


async def test_a_client_that_leaves_before_a_plain_answer_cancels_the_turn(api: Api) -> None:
    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        asked.set()
        await script.cancelled.wait()
        cancelled.set()
        return {"stopReason": "cancelled"}

    async with scripted(api, session_prompt=prompt):
        async with asyncio.timeout(LIMIT):
            asking = asyncio.create_task(leave(api, asked))
            await cancelled.wait()
            await asking
        await until(lambda: api.app.limits.running == 0)


async def leave(api: Api, when: asyncio.Event) -> None:
    """Ask for a plain answer, and hang up."""
    _, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(posted(api, {"messages": user("Hello")}))
    await when.wait()
    writer.close()
    await writer.wait_closed()


def posted(api: Api, body: Any) -> bytes:
    """A request as it goes over the wire."""
    raw = json.dumps(body).encode()
    head = f"POST {api.base_url}v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.token}"
    return f"{head}\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw


async def test_a_client_that_never_reads_is_sent_away(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "READER", 0.2)
    cancelled = asyncio.Event()

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        while not script.cancelled.is_set():
            await script.say("x" * 100_000)
            await asyncio.sleep(0)
        cancelled.set()
        return {"stopReason": "cancelled"}

    async with scripted(api, session_prompt=prompt):
        with socket.create_connection(("127.0.0.1", api.port)) as stalled:
            stalled.sendall(posted(api, {"messages": user("Hello"), "stream": True, "user": "kept"}))
            async with asyncio.timeout(LIMIT):
                await cancelled.wait()
            await until(lambda: api.app.limits.running == 0)
            await until(lambda: not api.app.dialogues._kept["kept"].turns.locked())
            stalled.settimeout(LIMIT)
            with suppress(ConnectionResetError):
                while stalled.recv(1 << 20):
                    pass


async def test_a_kept_session_outlives_a_client_that_left(api: Api) -> None:
    async with api.streaming("demo: say x\nwait", user="a") as response:
        await anext(response.aiter_lines())
    await until(lambda: api.app.limits.running == 0)
    got = await api.complete("demo: remember", "a")
    assert (got.said, got.headers["X-Copilot-Session-State"]) == (
        "This is prompt 2 of this session; the first was 'demo: say x\\nwait'.", "continued"
    )  # fmt: skip


async def test_a_comment_comes_while_the_agent_is_silent(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert turns.PATIENCE == 15
    monkeypatch.setattr(turns, "FIRST", 0.01)
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    heard = asyncio.Event()

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        await heard.wait()
        await script.say("Hello")
        return {"stopReason": "end_turn"}

    async with scripted(api, session_prompt=prompt), api.streaming("Hello") as response:
        lines, comments = [], 0
        async for line in response.aiter_lines():
            comments += line.startswith(": ")
            lines.append(line)
            if comments == 2:
                heard.set()
    assert Answered(200, {}, "\n".join(lines)).streamed == "Hello"
    assert "data: [DONE]" in lines


# -- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", [{"pool_size": 1}, {"pool_size": 2}], indirect=True)
async def test_twenty_streams_at_once_are_not_mixed(api: Api, extension: dict[str, int]) -> None:
    def wanted(number: int) -> list[str]:
        return [f"<{number}:{piece}>" for piece in range(20)]

    def asked(number: int) -> str:
        return "demo: " + "\n".join(f"say {piece}" for piece in wanted(number))

    got = await asyncio.gather(*(api.complete(asked(number), stream=True) for number in range(20)))
    assert [each.streamed for each in got] == ["".join(wanted(number)) for number in range(20)]
    assert api.app.status()["agents"] == len(agents()) == extension["pool_size"]


@pytest.mark.parametrize("extension", [{"concurrency": 0, "rate_limit": 0}], indirect=True)
async def test_fifty_sockets_and_twenty_streams_at_once_are_not_mixed(api: Api) -> None:
    door = MagicSession(api.port, api.base_url, api.token)

    def asked(name: str) -> str:
        return "demo: " + "\n".join(f"say <{name}:{piece}>" for piece in range(10))

    async def chat(number: int) -> str:
        async with door.client() as client:
            await client.begin()
            return text_of(await client.say(asked(f"chat {number}")))

    async def stream(number: int) -> str:
        return (await api.complete(asked(f"stream {number}"), stream=True)).streamed

    names = [f"chat {number}" for number in range(50)] + [f"stream {number}" for number in range(20)]
    async with asyncio.timeout(3 * LIMIT):
        got = await asyncio.gather(*map(chat, range(50)), *map(stream, range(20)))
    assert got == ["".join(f"<{name}:{piece}>" for piece in range(10)) for name in names]


async def test_questions_of_many_sessions_are_each_answered_in_their_own(api: Api) -> None:
    got = await asyncio.gather(*(api.complete(f"demo: say {n}\nask\nsay no") for n in range(10)))
    assert [each.said.partition("\n")[0] for each in got] == [str(number) for number in range(10)]
    assert [each for each in got if "rejected" not in each.said] == []


async def test_a_slow_reader_gets_everything_and_holds_nobody_up(api: Api) -> None:
    async with api.streaming("demo: flood 20000") as response:
        lines = response.aiter_lines()
        await anext(lines)
        assert (await api.complete("demo: say quick")).said == "quick"
        text = "\n".join([line async for line in lines])
    said = Answered(200, {}, text).streamed
    assert said == "".join(f"{number} " for number in range(1, 20001))


async def test_an_agent_that_dies_ends_all_its_streams_and_is_started_again(api: Api) -> None:
    waiting = [asyncio.create_task(api.complete(f"demo: say {n}\nwait", stream=True)) for n in range(3)]
    await until(lambda: api.app.status()["turns"] == 3 and len(agents()) == 1)
    await api.complete("demo: die")
    for each in await asyncio.gather(*waiting):
        told = each.events[-1]["error"] if each.status == 200 else each.error
        assert told["code"] == 500
    assert (await api.complete("demo: say again")).said == "again"


# -- processes --------------------------------------------------------------------------------------------------------


async def test_no_agent_is_started_before_it_is_needed_and_none_is_left(api: Api) -> None:
    for path in ("health", "copilot/status", "copilot/metrics", "copilot/openapi.json", "v1/nothing"):
        await api.ask(path)
    assert agents() == []
    await api.complete("demo: say x", "kept")
    (agent,) = agents()
    await api.app.stop_extension()
    assert not agent.is_running()
    assert agents() == []


@pytest.mark.parametrize("extension", [{"idle_seconds": 0.0}], indirect=True)
async def test_an_agent_that_nobody_talks_to_is_ended(api: Api) -> None:
    await api.complete("demo: say x")
    assert len(agents()) == 1
    await until(lambda: api.app.status()["sessions"] == 0)
    await api.app._sweep()
    assert agents() == []
    assert (await api.complete("demo: say x")).status == 200


async def test_a_turn_that_does_not_end_costs_no_other_conversation_its_agent(api: Api) -> None:
    api.app.base_settings = replace(api.app.base_settings, cancel_grace=0.2)
    other = asyncio.create_task(api.complete("demo: slow 20 0.05"))
    async with api.streaming("demo: hang Hello") as response:
        await anext(response.aiter_lines())
    await until(lambda: api.app.limits.running == 1)
    assert (await other).said.endswith("20 ")
    assert (await api.complete("demo: say x")).said == "x"


@pytest.mark.parametrize("demo", ["signed-out"], indirect=True)
async def test_after_a_sign_in_another_agent_is_asked(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO_HOME", str(tmp_path / "demo"))
    assert [(await api.complete("demo: say x")).status for _ in range(3)] == [503] * 3
    assert len(agents()) <= 2
    log_in()
    assert (await api.complete("demo: say x")).status == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_so_it_is_after_a_sign_in_that_the_agent_asked_for_in_its_text(
    api: Api, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr(turns, "FIRST", 0.0)

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        await script.say("Error: 401 unauthorized" if len(script.connections) == 1 else "Hello")
        return {"stopReason": "end_turn"}

    copilot = {"protocolVersion": 1, "agentInfo": {"name": "Copilot", "version": "1"}}
    async with scripted(api, initialize=copilot, session_prompt=prompt):
        refused = await api.complete("Hello", stream=stream)
        error = refused.events[-1]["error"] if stream else refused.error
        assert error["code"] == 503
        assert (await api.complete("Hello")).said == "Hello"


# -- figures ----------------------------------------------------------------------------------------------------------


async def test_figures_are_those_of_what_happened(api: Api) -> None:
    await api.complete("demo: say x")
    await api.complete("demo: say x", n=2)
    await api.ask("v1/models")
    for _ in range(100):  # an answer may be read a moment before its turn is over
        got = await api.ask("copilot/metrics")
        lines = got.text.splitlines()
        if "copilot_turns 0.0" in lines:
            break
    assert got.headers["Content-Type"].startswith("text/plain; version=")
    for line in (
        'copilot_requests_total{route="/v1/chat/completions",status="200"} 1.0',
        'copilot_requests_total{route="/v1/chat/completions",status="400"} 1.0',
        'copilot_requests_total{route="/v1/models",status="200"} 1.0',
        "copilot_first_token_seconds_count 1.0",
        "copilot_agents 1.0",
        "copilot_turns 0.0",
    ):
        assert line in lines


@pytest.mark.parametrize("stream", [False, True])
async def test_the_first_text_counts_when_it_comes(api: Api, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    """Neither when we stop to wait for it nor at the end."""
    monkeypatch.setattr(turns, "FIRST", 0.01)

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        for piece in ("a", "b"):
            await asyncio.sleep(0.2)  # what is measured is how long an agent lets us wait
            await script.say(piece)
        return {"stopReason": "end_turn"}

    began = time.monotonic()
    async with scripted(api, session_prompt=prompt):
        await api.complete("Hello", stream=stream)
        count, seconds = first_tokens(api)
    ended = time.monotonic() - began
    assert (count, 0.2 <= seconds <= ended - 0.2) == (1, True), (seconds, ended)


@pytest.mark.parametrize("stream", [False, True])
async def test_where_the_agent_says_nothing_or_fails_there_is_no_first_text(api: Api, stream: bool) -> None:
    for said in ("demo: error -32603 x", "demo: slow 0"):
        await api.complete(said, stream=stream)
    assert first_tokens(api) == (0, 0)


def first_tokens(api: Api) -> tuple[float, float]:
    """How many, and their seconds together."""
    read = api.app.metrics.registry.get_sample_value
    return read("copilot_first_token_seconds_count"), read("copilot_first_token_seconds_sum")


async def test_status_tells_state_port_models_and_sessions(api: Api) -> None:
    await api.complete("demo: say x", "a")
    assert (await api.ask("copilot/status")).body == {
        "state": "running",
        "alone": False,
        "port": api.port,
        "models": ["scripted", "scripted-large"],
        "sessions": 1,
        "agents": 1,
        "turns": 0,
    }


@pytest.mark.parametrize(("extension", "at_root"), [({}, 200), ({"root_paths": False}, 404)], indirect=["extension"])
async def test_the_short_paths_can_be_turned_off(api: Api, at_root: int) -> None:
    assert (await api.ask("health")).status == at_root
    assert (await api.ask("copilot/health")).status == 200


@pytest.mark.parametrize("extension", [{"autoStart": False}], indirect=True)
async def test_the_routes_can_be_turned_off(api: Api) -> None:
    assert [(await api.ask(path)).status for path in ("health", "copilot/health", "v1/models")] == [404] * 3
