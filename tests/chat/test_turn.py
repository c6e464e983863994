"""Interrupts: a turn that was interrupted is cancelled, whatever the agent answers. And the sign of life of a turn."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.chat import Chat
from copilot_kernel.chat.turn import DOUBLE_CLICK_SECONDS, HEARTBEAT_SECONDS, QUIET_SECONDS, Heartbeat, Stop
from copilot_kernel.conversation.model import Entry

from ..acp.scripted import Script
from .conftest import Open, Time
from .loopback import met, playing
from .people import LIMIT, Person, ask, cancelled

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

CALL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Count", "status": "in_progress"}


# -- what counts as one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("presses", "ends"),
    [([0.0, 0.1, DOUBLE_CLICK_SECONDS], False), ([0.0, 0.2, DOUBLE_CLICK_SECONDS + 0.01], True)],
)
async def test_a_double_click_is_one_press(presses: list[float], ends: bool) -> None:
    stop = Stop()
    for seconds in presses:
        stop.press(at=50.0 + seconds)
    with anyio.move_on_after(LIMIT if ends else 0) as limit:
        await stop.wait_again()
    assert (stop.pressed, limit.cancelled_caught) == (True, not ends)


def stopping(answer: Any, *steps: Any) -> Any:
    """A turn that answers when it is cancelled."""

    async def prompt(script: Script, params: Any) -> Any:
        await playing(*steps)(script, params)
        await script.cancelled.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return prompt


# -- whatever the agent answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [{"stopReason": "end_turn"}, RequestFailed(-32603, "no")])
async def test_an_interrupted_turn_is_cancelled_whatever_the_agent_answers(opened: Open, answer: Any) -> None:
    async with met(opened, session_prompt=stopping(answer, CALL, "Begun.")) as (_, chat):
        turn = await cancelled(chat, "hello", person := Person(), lambda: person.heard)
        assert (turn.stop_reason, turn.text) == ("cancelled", "Begun.")
        assert [status for status, _ in person.calls] == ["cancelled"]


class Presser(Person):
    """Presses ■ while it is shown the last words, as somebody does whose cell is still being drawn."""

    def __init__(self, chat: Chat) -> None:
        super().__init__()
        self._chat = chat

    def show(self, entry: Entry) -> None:
        super().show(entry)
        if self.heard.is_set():
            self._chat.cancel()


async def test_a_press_counts_although_the_answer_has_arrived(opened: Open) -> None:
    """A dialect says everything with its answer, so that it is drawn when the turn has ended for the agent."""
    async with met(opened, session_prompt={"stopReason": "end_turn", "messages": ["All."]}) as (script, chat):
        turn = await ask(chat, "hello", Presser(chat))
        assert (turn.stop_reason, turn.text) == ("cancelled", "All.")
        assert not script.cancelled.is_set()  # the agent would take it for the next turn's
        assert (await ask(chat, "again")).stop_reason == "end_turn"


async def test_a_press_that_comes_at_once_is_not_lost(opened: Open) -> None:
    """It may wait in the event loop when `ask` is called."""
    prompt = stopping({"stopReason": "end_turn"})
    async with met(opened, session_prompt=prompt) as (_, chat), anyio.create_task_group() as tasks:

        async def press() -> None:
            chat.cancel()

        tasks.start_soon(press)
        assert (await ask(chat, "hello")).stop_reason == "cancelled"


# -- an agent that does not read ------------------------------------------------------------------------------------


# -- The line that says that a silent agent still works, by a clock of its own.


def line(seconds: float) -> str:
    return f"The agent is still working; it has been silent for {seconds:g} s."


class Silence(Time):
    """After so many naps it is over; during some of them the agent is heard."""

    def __init__(self, naps: int, beats: tuple[int, ...]) -> None:
        super().__init__()
        self.left, self.beats = naps, beats
        self.heart: Heartbeat

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if len(self.naps) in self.beats:
            self.heart.beat()
        if len(self.naps) == self.left:
            raise EOFError


@pytest.mark.parametrize(
    ("beats", "asking", "shown", "naps"),
    [
        ((), (), [line(10), line(12), line(14)], [QUIET_SECONDS] + 3 * [HEARTBEAT_SECONDS]),
        ((2,), (), [line(10), "", line(10)], 2 * [QUIET_SECONDS, HEARTBEAT_SECONDS]),
        ((1, 2, 3, 4), (), [], 4 * [QUIET_SECONDS]),
        ((), (True, True, True), [line(10)], 3 * [QUIET_SECONDS] + [HEARTBEAT_SECONDS]),
    ],
    ids=["silence", "heard in between", "never silent", "while a question is open"],
)
async def test_silence_is_explained_after_ten_seconds_and_then_every_two(
    beats: tuple[int, ...], asking: tuple[bool, ...], shown: list[str], naps: list[float]
) -> None:
    lines, is_asking, time = list[str](), iter(asking), Silence(4, beats)
    time.heart = Heartbeat(lines.append, lambda: next(is_asking, False), time.sleep, time.clock)
    with pytest.raises(EOFError):
        await time.heart.run()
    assert (lines, time.naps) == (shown, naps)
