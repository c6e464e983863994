"""Patience with an agent, by a clock of its own; and with the demo agent, which fails as often as it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from copilot_kernel.chat.retry import ATTEMPTS, CRASHES, PERIOD, Retry, is_fleeting
from copilot_kernel.errors import (
    AgentError,
    AgentExited,
    AgentNotFound,
    AgentRefused,
    AgentStartFailed,
    AuthRequired,
    ProtocolUnsupported,
    UsageError,
)

from ..acp.scripted import Script, listening
from .conftest import Open, Time
from .loopback import met
from .people import LIMIT, Person, ask, cancelled

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

ENDED = AgentStartFailed("it ended\nwords on stderr", stderr="words on stderr", ended=True)
BUSY = AgentRefused("session/new", -32603, "busy")


def failing(times: int, error: Exception = BUSY) -> Callable[[], object]:
    """Work that fails so often, then returns how often it was tried."""
    tries = 0

    async def work() -> int:
        nonlocal tries
        tries += 1
        if tries <= times:
            raise error
        return tries

    return work


@pytest.mark.parametrize("times", range(ATTEMPTS))
async def test_each_pause_is_twice_as_long_as_the_one_before(time: Time, times: int) -> None:
    said: list[str] = []
    assert await Retry(time.sleep, time.clock)(failing(times), said.append) == times + 1  # type: ignore[arg-type]
    assert time.naps == [1.0, 2.0, 4.0, 8.0][:times]
    lines = [f"busy; attempt {n + 2} in {nap:g} s" for n, nap in enumerate(time.naps)]
    assert said == [words for line in lines for words in (line, "")]


async def test_after_five_attempts_the_last_error_is_raised(time: Time) -> None:
    with pytest.raises(AgentRefused):
        await Retry(time.sleep, time.clock)(failing(5), lambda words: None)  # type: ignore[arg-type]
    assert time.naps == [1.0, 2.0, 4.0, 8.0]


LASTING = [
    AuthRequired("session/new", "sign in"),
    AgentNotFound("no such program"),
    UsageError("no such setting"),
    ProtocolUnsupported("version 2"),
    AgentRefused("session/new", -32602, "no such folder"),
    AgentStartFailed("was not ready within 30 s"),
]


@pytest.mark.parametrize("error", LASTING, ids=lambda error: type(error).__name__)
async def test_what_will_not_pass_is_not_tried_again(time: Time, error: Exception) -> None:
    with pytest.raises(type(error)):
        await Retry(time.sleep, time.clock)(failing(1, error), lambda words: None)  # type: ignore[arg-type]
    assert time.naps == []


FLEETING = [
    (ENDED, True),
    (AgentExited("gone"), True),
    (AgentRefused("session/load", -32001, "too slow"), True),
    (BUSY, True),
    (AgentRefused("session/load", -32002, "no such session"), False),
    (AgentRefused("session/load", None, "?"), False),
]


@pytest.mark.parametrize(("error", "fleeting"), FLEETING)
def test_what_may_pass(error: AgentError, fleeting: bool) -> None:
    assert is_fleeting(error) is fleeting


async def test_five_crashes_in_three_minutes_are_the_end_until_somebody_asks(time: Time) -> None:
    retry = Retry(time.sleep, time.clock)
    with pytest.raises(AgentStartFailed) as first:
        await retry(failing(9, ENDED), lambda words: None)  # type: ignore[arg-type]
    assert first.value is ENDED
    time.now += 10 * PERIOD
    work = failing(0)
    with pytest.raises(AgentStartFailed) as caught:
        await retry(work, lambda words: None)  # type: ignore[arg-type]
    assert str(caught.value) == "The agent ended 5 times within 3 minutes and is not started again: it ended"
    assert ("%restart" in caught.value.hint, caught.value.stderr) == (True, "words on stderr")
    retry.recovered()
    assert await retry(work, lambda words: None) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(("between", "stops"), [(PERIOD / (CRASHES - 1), True), (PERIOD / (CRASHES - 1) + 1, False)])
async def test_crashes_far_apart_are_no_loop(time: Time, between: float, stops: bool) -> None:
    retry = Retry(time.sleep, time.clock)
    for _ in range(CRASHES):
        retry.crashed(AgentExited("gone"))
        time.now += between
    try:
        assert await retry(failing(0), lambda words: None) == 1  # type: ignore[arg-type]
        assert not stops
    except AgentStartFailed:
        assert stops


async def test_a_good_turn_in_between_counts(time: Time) -> None:
    retry = Retry(time.sleep, time.clock)
    for _ in range(3 * CRASHES):
        retry.crashed(AgentExited("gone"))
        retry.recovered()
    assert await retry(failing(0), lambda words: None) == 1  # type: ignore[arg-type]


# -- with an agent ------------------------------------------------------------------------------------------------


async def test_an_agent_that_fails_to_start_is_started_again(
    opened: Open, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "fails-starts=2")
    async with opened() as chat:
        turn = await ask(chat, "demo: say hello", person := Person())
    assert (turn.text, time.naps) == ("hello", [1.0, 2.0])
    assert [words.partition("; ")[2] for words in person.statuses if words] == ["attempt 2 in 1 s", "attempt 3 in 2 s"]


@pytest.mark.parametrize("switch", ["new-fails=2", "fails-starts=1,new-fails=1"])
async def test_a_session_that_is_refused_inside_the_agent_is_asked_for_again(
    opened: Open, time: Time, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", switch)
    async with opened() as chat:
        assert (await ask(chat, "demo: say hello")).text == "hello"
    assert len(time.naps) == 2


async def test_an_agent_that_never_starts_is_left_alone_until_restart(
    opened: Open, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "exit-at-start")
    async with opened() as chat:
        for _ in range(2):
            with pytest.raises(AgentStartFailed) as caught:
                await ask(chat, "demo: say hello")
        assert (time.naps, "%restart" in caught.value.hint) == ([1.0, 2.0, 4.0, 8.0], True)
        monkeypatch.delenv("COPILOT_KERNEL_DEMO")
        await chat.restart()
        assert (await ask(chat, "demo: say hello")).text == "hello"


async def test_deaths_in_turns_count_and_no_prompt_is_sent_twice(opened: Open, time: Time) -> None:
    async with opened() as chat:
        for _ in range(CRASHES):
            with pytest.raises(AgentExited):
                await ask(chat, "demo: die 3")
        with pytest.raises(AgentStartFailed, match="ended 5 times within 3 minutes"):
            await ask(chat, "demo: say hello")
        await chat.restart()
        await ask(chat, "demo: remember", person := Person())
    assert f"{CRASHES + 1}" in person.said[-1][1]


async def test_an_outage_is_no_crash_and_the_next_prompt_connects_again(
    opened: Open, time: Time, free_port: int
) -> None:
    async with opened(agent=f"tcp://127.0.0.1:{free_port}") as chat:
        async with listening(port=free_port):
            await ask(chat, "one")
        for _ in range(2):
            with pytest.raises(AgentStartFailed, match="Connection refused"):
                await ask(chat, "two")
        async with listening(port=free_port):
            assert (await ask(chat, "three")).stop_reason == "end_turn"
    assert time.naps == 2 * [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize("when", ["initialize", "session_prompt"])
async def test_a_connection_that_is_closed_is_no_crash_either(opened: Open, when: str) -> None:
    """A tunnel accepts connections, and closes them while what is behind it is away."""
    away = True

    async def answer(script: Script, params: Any) -> Any:
        if away:
            await script.connections[-1]._transport.close()
        return {"protocolVersion": 1, "stopReason": "end_turn"}

    async with met(opened, **{when: answer}) as (_, chat):
        for _ in range(CRASHES + 1):
            with pytest.raises((AgentExited, AgentStartFailed), match="closed the connection"):
                await ask(chat, "one")
        away = False
        assert (await ask(chat, "two")).stop_reason == "end_turn"


async def test_a_pause_can_be_cancelled(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_DEMO", "exit-at-start")
    paused = anyio.Event()

    async def sleep(seconds: float) -> None:
        paused.set()
        await anyio.sleep_forever()

    async with opened() as chat:
        chat._retry._sleep = sleep
        with anyio.fail_after(LIMIT):
            turn = await cancelled(chat, "demo: say hello", Person(), lambda: paused)
    assert turn.stop_reason == "cancelled"
