"""Limits, figures, the pool of agents, and clients that leave."""

import asyncio
import json
import socket
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
import pytest
from copilot_kernel.server.errors import LimitExceeded
from copilot_kernel.server.limits import Limits
from copilot_kernel.server.openai import completions

from ..acp.scripted import Script
from ..agent.command import COMMAND
from ..agent.signin import log_in
from ..processes import children, has_argument
from .api import COPILOT, LIMIT, Api, scripted, until, user


def agents() -> list[psutil.Process]:
    """Processes of the demo agent that we started."""
    return children(wanted=has_argument(COMMAND[-1]))


# -- limits -----------------------------------------------------------------------------------------------------------


def spend(limits: Limits, times: int) -> list[str]:
    """What the client is told, as often as it asks; empty if nothing."""
    waits = []
    for _ in range(times):
        try:
            with limits.turn():
                waits.append("")
        except LimitExceeded as error:
            waits.append(str(error.seconds))
    return waits


def test_a_rate_is_a_bucket_that_fills_evenly() -> None:
    now = 0.0
    limits = Limits(2, 0, {}, 0, clock=lambda: now)
    assert spend(limits, 4) == ["", "", "30", "30"]
    now = 15.0
    assert spend(limits, 1) == ["15"]
    now = 31.5
    assert spend(limits, 2) == ["", "29"]
    now = 1000.0
    assert spend(limits, 3) == ["", "", "30"]
    assert spend(Limits(0, 0, {}, 0), 1000) == [""] * 1000


@pytest.mark.parametrize("extension", [{"rate_limit": 3}], indirect=True)
async def test_too_many_requests_a_minute_are_a_429_those_for_lists_too(api: Api) -> None:
    paths = ("v1/models", "copilot/chat/sessions")
    for status in (200, 429):
        got = [await api.complete("demo: say x"), *[await api.ask(path) for path in paths]]
        assert [each.status for each in got] == [status] * 3
    assert got[0].error["type"] == "rate_limit_error"
    assert {1 <= int(each.headers["Retry-After"]) <= 20 for each in got} == {True}
    assert [(await api.ask(free)).status for free in ("health", "copilot/status", "copilot/chat")] == [200] * 3


@pytest.mark.parametrize("extension", [{"concurrency": 1}], indirect=True)
async def test_too_many_requests_at_once_are_a_429(api: Api) -> None:
    async with api.streaming("demo: say x\nwait") as response:
        lines = response.aiter_lines()  # let go, it would end the stream
        await anext(lines)
        got = await api.complete("demo: say x")
    assert (got.status, got.headers["Retry-After"]) == (429, "1")
    await until(lambda: api.turns == 0)
    assert (await api.complete("demo: say x")).status == 200


# -- clients that leave -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_before_the_end_cancels_the_turn(api: Api, stream: bool) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        if stream:
            await script.say("Hello")
        begun.set()
        await script.cancelled.wait()
        cancelled.set()
        return {"stopReason": "cancelled"}

    async with scripted(api.pool, session_prompt=prompt), asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
        writer.write(posted(api, {"messages": user("Hello"), "stream": stream}))
        await begun.wait()
        if stream:
            await reader.readuntil(b"Hello")
        writer.close()
        await cancelled.wait()
        await until(lambda: api.turns == 0)
    assert api.sessions == 0


def posted(api: Api, body: Any) -> bytes:
    """A request as it goes over the wire."""
    raw = json.dumps(body).encode()
    head = f"POST {api.base_url}v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.token}"
    return f"{head}\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw


async def test_a_client_that_never_reads_is_sent_away(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "READER_SECONDS", 0.2)
    cancelled = asyncio.Event()

    async def prompt(script: Any, params: Any) -> dict[str, Any]:
        while not script.cancelled.is_set():
            await script.say("x" * 100_000)
            await asyncio.sleep(0)
        cancelled.set()
        return {"stopReason": "cancelled"}

    async with scripted(api.pool, session_prompt=prompt):
        with socket.create_connection(("127.0.0.1", api.port)) as stalled:
            stalled.sendall(posted(api, {"messages": user("Hello"), "stream": True, "metadata": {"session": "kept"}}))
            async with asyncio.timeout(LIMIT):
                await cancelled.wait()
            await until(lambda: api.turns == 0)
            await until(lambda: api.context.conversations.store.find("kept").is_idle)
            stalled.settimeout(LIMIT)
            with suppress(ConnectionResetError):
                while stalled.recv(1 << 20):
                    pass


async def test_a_comment_comes_while_the_agent_is_silent(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "FIRST_TEXT_SECONDS", 0.01)
    monkeypatch.setattr(completions, "KEEP_ALIVE_SECONDS", 0.01)
    is_heard = asyncio.Event()

    async def prompt(script: Script, params: Any) -> None:
        await is_heard.wait()
        await script.say("Hello")

    comment = completions.KEEP_ALIVE.decode().strip()
    lines: list[str] = []
    async with scripted(api.pool, session_prompt=prompt), api.streaming("Hello") as response, asyncio.timeout(LIMIT):
        async for line in response.aiter_lines():
            lines.append(line)
            if lines.count(comment) == 2:
                is_heard.set()
    assert '"Hello"' in "".join(lines)


# -- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", [{"pool_size": 2}], indirect=True)
async def test_many_at_once_are_not_mixed(api: Api) -> None:
    def said(number: int) -> list[str]:
        return [f"<{number}:{piece}>" for piece in range(10)]

    asked = ["demo: " + "\n".join(f"say {piece}" for piece in said(number)) for number in range(30)]
    got = await asyncio.gather(*(api.complete(text, stream=True) for text in asked))
    assert [each.streamed for each in got] == ["".join(said(number)) for number in range(30)]
    assert api.agents == len(agents()) == 2


async def test_an_agent_that_dies_ends_all_its_streams_and_is_started_again(api: Api) -> None:
    said = set[str]()

    async def error_after(text: str) -> Any:
        """A prompt that was not sent yet would go to the next agent, and wait for ever."""
        nonlocal said
        last = ""
        async with api.streaming(f"demo: say {text}\nwait") as response:
            async for line in response.aiter_lines():
                last = line or last
                said |= {text} if f'"{text}"' in line else set()
        return json.loads(last.removeprefix("data: "))["error"]

    waiting = [asyncio.create_task(error_after(text)) for text in ("one", "two", "three")]
    await until(lambda: len(said) == 3)
    assert len(agents()) == 1
    await api.complete("demo: die")
    assert [error["code"] for error in await asyncio.gather(*waiting)] == [500] * 3
    assert (await api.complete("demo: say again")).said == "again"


# -- processes --------------------------------------------------------------------------------------------------------


async def test_no_agent_is_started_before_it_is_needed_and_none_is_left(api: Api) -> None:
    await api.stop()
    for path in ("health", "copilot/status", "copilot/metrics", "v1/nothing"):
        await api.ask(path)
    got = await api.complete("")
    assert (got.status, got.error["param"], got.error["message"]) == (400, "messages", "messages: no text to answer.")
    assert agents() == []
    await api.complete("demo: say x", "kept")
    (agent,) = agents()
    await api.app.stop_extension()
    assert not agent.is_running()
    assert agents() == []


@pytest.mark.parametrize("extension", [{"idle_seconds": 0.0}], indirect=True)
async def test_a_conversation_and_an_agent_that_are_idle_are_ended(api: Api) -> None:
    await api.complete("demo: say x", "kept")
    assert (len(agents()), api.sessions) == (1, 1)
    await api.app._sweep()
    assert api.sessions == 0
    await until(lambda: not api.agents)
    assert agents() == []
    assert (await api.complete("demo: say x")).status == 200


@pytest.mark.parametrize("environment", [{"DEMO": "signed-out"}], indirect=True)
async def test_after_a_sign_in_another_agent_is_asked(api: Api) -> None:
    assert [(await api.complete("demo: say x")).status for _ in range(3)] == [503] * 3
    assert len(agents()) <= 2
    log_in()
    assert (await api.complete("demo: say x")).status == 200


async def test_so_it_is_after_a_sign_in_that_the_agent_asked_for_in_its_text(api: Api) -> None:
    async def prompt(script: Any, params: Any) -> None:
        await script.say("Error: 401 unauthorized" if len(script.connections) == 1 else "Hello")

    async with scripted(api.pool, initialize=COPILOT, session_prompt=prompt):
        assert (await api.complete("Hello")).status == 503
        assert (await api.complete("Hello")).said == "Hello"


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", [{}], indirect=True)  # a server that was asked nothing before
async def test_figures_and_status_are_those_of_what_happened(api: Api) -> None:
    for text in ("say x", "error -32603 x", "slow 0"):  # of which one has a first text
        await api.complete(f"demo: {text}", "a", stream=True)
    await api.complete("demo: say x", n=2)
    models = [model["id"] for model in (await api.ask("v1/models")).body["data"]]
    await until(lambda: api.turns == 0)  # an answer may be read a moment before its turn is over
    figures = await api.ask("copilot/metrics")
    assert figures.headers["Content-Type"].startswith("text/plain; version=")
    requests = 'copilot_requests_total{route="/v1/chat/completions",status='
    expected = {f'{requests}"200"}} 2.0', f'{requests}"500"}} 1.0', f'{requests}"400"}} 1.0', "copilot_agents 1.0"}
    expected |= {"copilot_first_token_seconds_count 1.0", "copilot_turns 0.0"}
    assert expected - {*figures.text.splitlines()} == set()
    status = {"version": 1, "state": "running", "alone": False, "port": api.port, "models": models}
    assert (await api.ask("copilot/status")).body == {**status, "sessions": 1, "agents": 1, "turns": 0}


@pytest.mark.parametrize(("extension", "at_root", "below"), [
    ({}, 200, 200), ({"root_paths": False}, 404, 200), ({"autoStart": False}, 404, 404),
], indirect=["extension"])  # fmt: skip
async def test_the_short_paths_and_all_routes_can_be_turned_off(api: Api, at_root: int, below: int) -> None:
    assert [(await api.ask(path)).status for path in ("health", "copilot/health")] == [at_root, below]


# -- activity, so that nobody takes the server for idle ----------------------------------------------------------------


LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def test_a_turn_counts_until_it_ends_but_not_for_ever() -> None:
    times: dict[str, datetime] = {}
    now = 0.0

    def noted() -> bool:
        times.clear()
        limits.sweep()
        return bool(times)

    limits = Limits(0, 0, times, activity_timeout=100, clock=lambda: now)
    assert not noted()
    with limits.turn():
        assert times
        assert noted()
        now = 50
        with limits.turn():
            now = 120
            assert noted(), "of the second one"
        assert not noted()
        times.clear()
    assert times, "the end is something that happened"
    assert not noted()


async def is_active(api: Api) -> bool:
    """Whether the next look makes the server look busy, though nothing had happened for long."""
    web_app = api.serverapp.web_app
    web_app.settings["started"] = api.serverapp.kernel_manager.last_kernel_activity = LONG_AGO
    web_app.settings["last_activity_times"].clear()
    for name in [name for name in web_app.settings if name.endswith("_last_activity")]:
        del web_app.settings[name]
    assert web_app.last_activity() == LONG_AGO
    await api.app._sweep()
    return bool(datetime.now(UTC) - web_app.last_activity() < timedelta(minutes=1))


@pytest.mark.parametrize(("extension", "counts"), [
    ({}, True), ({"activity_timeout": 0}, False),
], indirect=["extension"])  # fmt: skip
async def test_a_turn_over_http_for_the_time_of_the_setting(api: Api, counts: bool) -> None:
    async with api.streaming("demo: say begun\nwait") as response:
        await anext(response.aiter_lines())
        assert await is_active(api) is counts
    await until(lambda: api.turns == 0)
    assert not await is_active(api)
