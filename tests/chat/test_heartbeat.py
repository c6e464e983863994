"""The line that says that a silent agent still works, by a clock of its own."""

from __future__ import annotations

import anyio
import pytest
from copilot_kernel.chat import heartbeat
from copilot_kernel.chat.heartbeat import QUIET, STEP, Heartbeat

from .conftest import Open, Time
from .people import Person, ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


def line(seconds: float) -> str:
    return f"The agent is still working; it has been silent for {seconds:g} s."


class Silence(Time):
    """After so many naps it is over; before each, `during` may do something."""

    def __init__(self, naps: int, during: dict[int, object] | None = None) -> None:
        super().__init__()
        self.left, self.during = naps, during or {}

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if act := self.during.get(len(self.naps)):
            act()  # type: ignore[operator]
        if len(self.naps) == self.left:
            raise EOFError


async def watched(time: Silence, is_asking: list[bool] | None = None) -> list[str]:
    shown: list[str] = []
    asking = is_asking or []
    heart = Heartbeat(shown.append, lambda: bool(asking and asking.pop(0)), time.sleep, time.clock)
    time.heart = heart  # type: ignore[attr-defined]
    with pytest.raises(EOFError):
        await heart.run()
    return shown


async def test_silence_is_explained_after_ten_seconds_and_then_every_two() -> None:
    time = Silence(4)
    assert await watched(time) == [line(10), line(12), line(14)]
    assert time.naps == [QUIET, STEP, STEP, STEP]


async def test_whatever_is_heard_takes_the_line_away() -> None:
    time = Silence(5)
    time.during[2] = lambda: time.heart.beat()  # type: ignore[attr-defined]
    assert await watched(time) == [line(10), "", line(10), line(12)]
    assert time.naps == [QUIET, STEP, QUIET, STEP, STEP]


async def test_beats_without_silence_show_nothing() -> None:
    time = Silence(3)
    for nap in (1, 2, 3):
        time.during[nap] = lambda: time.heart.beat()  # type: ignore[attr-defined]
    assert await watched(time) == []


async def test_while_a_question_is_open_nobody_waits_for_the_agent() -> None:
    assert await watched(Silence(5), [True, True, True, False]) == [line(10), line(12)]


async def test_a_turn_tells_its_view_and_takes_it_back(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "QUIET", 0.05)
    async with opened() as chat:
        person = Person()
        with anyio.fail_after(10):
            await ask(chat, "demo: say one\nsilent 0.3\nsay two", person)
    assert person.statuses[0].startswith("The agent is still working")
    assert person.statuses[-1] == ""
