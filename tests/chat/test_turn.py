"""Interrupts: a turn that was interrupted is cancelled, whatever the agent answers. And the sign of life of a turn."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.acp.child_processes import Graces
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.chat import Chat
from copilot_kernel.chat.turn import DOUBLE_CLICK_SECONDS, Stop
from copilot_kernel.conversation.model import Entry

from ..acp.scripted import Script
from .conftest import Open
from .loopback import met, playing
from .people import LIMIT, Person, ask, cancelled

CALL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Count", "status": "in_progress"}


# -- what counts as one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("presses", "ends"),
    [([0.0, 0.1, DOUBLE_CLICK_SECONDS], False), ([0.0, 0.2, DOUBLE_CLICK_SECONDS + 0.01], True)],
)
async def test_a_double_click_is_one_press(presses: list[float], ends: bool) -> None:
    stop, ended = Stop(), anyio.Event()
    for seconds in presses:
        stop.press(at=50.0 + seconds)

    async def wait() -> None:
        await stop.second_press.wait()
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert (stop.pressed, ended.is_set()) == (True, ends)


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
    """It would not see the end of its input either, so that is not waited for."""
    monkeypatch.setattr("copilot_kernel.acp.process.Graces", partial(Graces, eof=2 * LIMIT))
    (tmp_path / "deaf.py").write_text(DEAF)
    async with opened(agent=f"{sys.executable} {tmp_path}/deaf.py", cancel_grace=grace) as chat:
        await chat.ready()
        transport: Any = chat.agent.link._rpc._transport

        async def press() -> None:
            """When the pipe is full."""
            while not (unsent := transport._pipe._writer._unsent) or len(unsent[0]) == len(unsent[0].obj):
                await anyio.lowlevel.checkpoint()
            for number in range(presses):
                chat.cancel(at=1_000.0 + number)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(press)
            turn = await ask(chat, "x" * 20_000_000)
        assert (turn.stop_reason, transport.process.returncode is None) == ("cancelled", False)
