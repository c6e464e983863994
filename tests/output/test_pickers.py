"""Pickers outlive their cell: a click applies at once, behind what is being done, unless the picker is out of date."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from copilot_kernel.commands.command_output import Menu
from copilot_kernel.errors import UsageError
from copilot_kernel.output.pickers import NOT_SET, WAITING, Pickers
from copilot_kernel.rendering.report import Report
from copilot_widgets.base import WIDGET_VIEW
from copilot_widgets.field import PickerField

from ..limits import settled, until
from ..widgets.connected import connected
from ..widgets.front_end import FrontEnd
from .recording import RecordingCell

MODE = PickerField("Mode", ("agent", "plan"), 0)
EFFORT = PickerField("Effort", ("low", "high"), 0)
SESSIONS = PickerField("Sessions", ("Apples", "Pears"), action="Resume")
STATIC = Report("Mode", rows=(("agent",), ("plan",)))

front_end = pytest.fixture(connected, name="front_end")


class Kernel:
    """What pickers need: `idle` is set while nothing is done with the chat; `subject` is the session."""

    def __init__(self, then: Callable[[], Awaitable[None]] | None = None) -> None:
        self.idle, self.subject, self.applied = asyncio.Event(), object(), list[tuple[int, int]]()
        self.idle.set()
        self.pickers = Pickers(self._wait)
        self.cell, self._then = RecordingCell(), then

    async def _wait(self) -> None:
        await self.idle.wait()

    def show(self, *fields: PickerField, command: str = "mode") -> None:
        menu = Menu(command, fields or (MODE,), STATIC, lambda: self.subject)
        self.pickers.show(self.cell, menu, self.apply)

    async def apply(self, field: int, choice: int) -> str:
        self.applied.append((field, choice))
        if self._then is not None:
            await self._then()
        return f"Set: {choice}"


def line(front_end: FrontEnd) -> str:
    """What the picker reports."""
    values = [str(state.get("value", "")) for state in front_end.models.values()]
    return next((value for value in values if "role=" in value), "").partition(">")[2].removesuffix("</div>")


async def reported(front_end: FrontEnd, words: str) -> None:
    """Until the picker reports this."""
    await until(lambda: words in line(front_end))


async def test_a_choice_is_applied_and_the_picker_stays(front_end: FrontEnd) -> None:
    kernel = Kernel()
    kernel.show(MODE, EFFORT)
    assert kernel.cell.plain == ["Mode\nagent\nplan", ""]
    assert "agent" in kernel.cell.outputs[0]["text/html"]
    front_end.set(front_end.described("Effort"), index=1)
    await reported(front_end, "✓ Set: 1")
    assert kernel.cell.plain == ["✓ Set: 1", ""]
    front_end.set(front_end.described("Mode"), index=1)
    await settled()
    assert kernel.applied == [(1, 1), (0, 1)]
    assert WIDGET_VIEW in kernel.cell.outputs[1]


async def test_a_choice_waits_for_what_is_being_done(front_end: FrontEnd) -> None:
    kernel = Kernel()
    kernel.show()
    kernel.idle.clear()
    front_end.set(front_end.described("Mode"), index=1)
    await settled()
    assert (line(front_end), kernel.applied) == (WAITING, [])
    kernel.idle.set()
    await reported(front_end, "✓ Set: 1")
    assert kernel.applied == [(0, 1)]


async def test_a_double_click_counts_once(front_end: FrontEnd) -> None:
    kernel = Kernel()
    kernel.show(SESSIONS)
    for _ in range(2):
        front_end.click(front_end.described("Resume"))
    await reported(front_end, "✓ Set: 0")
    await settled()
    assert kernel.applied == [(0, 0)]


async def test_what_cannot_be_set_is_shown_and_the_picker_shows_what_is_in_force(front_end: FrontEnd) -> None:
    async def refuse() -> None:
        raise UsageError("not <b>today</b>", "Try tomorrow.")

    kernel = Kernel(refuse)
    kernel.show()
    mode = front_end.described("Mode")
    front_end.set(mode, index=1)
    await reported(front_end, "✗ not &lt;b&gt;today&lt;/b&gt; Try tomorrow.")
    await settled()
    assert (front_end.models[mode]["index"], kernel.applied) == (0, [(0, 1)])
    assert kernel.cell.plain[0] == "Mode\nagent\nplan"


@pytest.mark.parametrize("error", [asyncio.CancelledError(), RuntimeError("a bug")])
async def test_a_choice_that_is_broken_off_or_fails_is_reported(front_end: FrontEnd, error: BaseException) -> None:
    async def fail() -> None:
        raise error

    kernel = Kernel(fail)
    kernel.show()
    mode = front_end.described("Mode")
    front_end.set(mode, index=1)
    await reported(front_end, NOT_SET)
    await settled()
    assert front_end.models[mode]["index"] == 0


async def test_another_picker_of_the_same_command_takes_the_place_of_the_first(front_end: FrontEnd) -> None:
    kernel = Kernel()
    kernel.show(command="options")
    kernel.show(command="mode")
    kernel.show(EFFORT, command="options effort")
    assert kernel.cell.plain == ["Mode\nagent\nplan", "", "Mode\nagent\nplan", "", "Mode\nagent\nplan", ""]
    assert WIDGET_VIEW in kernel.cell.outputs[5]
    kernel.pickers.close("options")
    assert WIDGET_VIEW not in kernel.cell.outputs[5]


async def test_a_picker_of_another_session_is_out_of_date(front_end: FrontEnd) -> None:
    kernel = Kernel()
    kernel.show()
    kernel.pickers.close_stale()
    assert WIDGET_VIEW in kernel.cell.outputs[1]
    kernel.subject = object()
    kernel.pickers.close_stale()
    assert (kernel.cell.plain[1], front_end.models) == ("", {})


@pytest.mark.parametrize("by_command", [False, True])
async def test_a_choice_that_waits_for_an_outdated_picker_is_not_applied(front_end: FrontEnd, by_command: bool) -> None:
    kernel = Kernel()
    kernel.show()
    kernel.idle.clear()
    front_end.set(front_end.described("Mode"), index=1)
    await settled()
    if by_command:
        kernel.show()
    else:
        kernel.subject = object()
    kernel.idle.set()
    await settled()
    assert (kernel.cell.plain[:2], kernel.applied) == (["Mode\nagent\nplan", ""], [])


async def test_where_widgets_fail_the_choices_are_shown(front_end: FrontEnd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilot_widgets.picker.Picker", None)
    kernel = Kernel()
    kernel.show()
    assert kernel.cell.plain == ["Mode\nagent\nplan"]
