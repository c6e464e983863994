"""Interrupts: what counts as one, and that a turn which was interrupted is cancelled, whatever the agent answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.acp.messages import Text
from copilot_kernel.chat import Chat
from copilot_kernel.chat.stop import DOUBLE_CLICK, Stop
from copilot_kernel.conversation.model import Entry, ToolCall

from ..acp.scripted import Script
from .conftest import Open
from .loopback import met
from .people import LIMIT, Person, ask, cancelled

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

CALL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Count", "status": "in_progress"}


# -- what counts as one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("presses", "ends"),
    [
        ([0.0], False),
        ([0.0, 0.0], False),
        ([0.0, DOUBLE_CLICK], False),
        ([0.0, 0.1, 0.2], False),
        ([0.0, DOUBLE_CLICK + 0.01], True),
        ([0.0, 0.2, 0.4], True),
    ],
)
async def test_a_double_click_is_one_press(presses: list[float], ends: bool) -> None:
    stop = Stop()
    for seconds in presses:
        stop.press(at=50.0 + seconds)
    with anyio.move_on_after(0.01) as waiting:
        await stop.wait_again()
    assert (stop.pressed, waiting.cancelled_caught) == (True, not ends)


async def test_a_double_click_does_not_end_the_agent(opened: Open) -> None:
    async def prompt(script: Script, params: Any) -> Any:
        await script.say("Begun.")
        await script.cancelled.wait()
        return {"stopReason": "cancelled"}

    async with met(opened, session_prompt=prompt) as (script, chat):
        turns = []

        async def run() -> None:
            turns.append(await ask(chat, "hello", person))

        person = Person()
        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await person.heard.wait()
                chat.cancel()
                chat.cancel()
        assert ([turn.stop_reason for turn in turns], person.notices) == (["cancelled"], [])
        await ask(chat, "again")
        assert len(script.connections) == 1


# -- whatever the agent answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [{"stopReason": "end_turn"}, {"stopReason": "refusal"}, RequestFailed(-32603, "no")])
async def test_an_interrupted_turn_is_cancelled_whatever_the_agent_answers(opened: Open, answer: Any) -> None:
    async def prompt(script: Script, params: Any) -> Any:
        await script.update(CALL)
        await script.say("Begun.")
        await script.cancelled.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with met(opened, session_prompt=prompt) as (_, chat):
        turn = await cancelled(chat, "hello", person := Person(), lambda: person.heard)
        assert (turn.stop_reason, turn.text) == ("cancelled", "Begun.")
        assert [call.status for call in person.of(ToolCall) if isinstance(call, ToolCall)] == ["cancelled"]


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

    async def prompt(script: Script, params: Any) -> Any:
        await script.cancelled.wait()
        return {"stopReason": "end_turn"}

    async with met(opened, session_prompt=prompt) as (_, chat), anyio.create_task_group() as tasks:

        async def press() -> None:
            chat.cancel()

        tasks.start_soon(press)
        assert (await ask(chat, "hello")).stop_reason == "cancelled"


# -- an agent that does not read ------------------------------------------------------------------------------------

DEAF = """
import json, signal, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {"protocolVersion": 1, "sessionId": "s1"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    if message["method"] == "session/new":
        signal.pause()
"""


@pytest.mark.parametrize(("grace", "presses"), [(0.2, 1), (3600.0, 2)])
async def test_an_agent_that_stops_reading_a_prompt_is_ended(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grace: float, presses: int
) -> None:
    """It would not see the end of its input either, so nobody waits for that."""
    monkeypatch.setattr("copilot_kernel.acp.process.EOF_GRACE", LIMIT)
    (tmp_path / "deaf.py").write_text(DEAF)
    async with opened(agent=f"{sys.executable} {tmp_path}/deaf.py", cancel_grace=grace) as chat:
        await chat.ready()
        [agent] = [child for child in psutil.Process().children() if "deaf.py" in child.cmdline()[-1]]
        turns = []

        async def run() -> None:
            turns.append(await chat.ask([Text("x" * 20_000_000)], Person()))

        with anyio.fail_after(3 * LIMIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await written_in_part(chat)
                for seconds in range(presses):
                    chat.cancel(at=1_000.0 + seconds)
        assert ([turn.stop_reason for turn in turns], agent.is_running()) == (["cancelled"], False)


async def written_in_part(chat: Chat) -> None:
    """Until the pipe to the agent is full."""
    pipe = chat.agent.link._connection._transport._pipe  # type: ignore[union-attr]
    while not pipe._unsent or len(pipe._unsent[0]) == len(pipe._unsent[0].obj):
        await anyio.lowlevel.checkpoint()
