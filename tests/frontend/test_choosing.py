"""One choice: by a click, by a typed line, or left as it is."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable

import pytest
from copilot_kernel.errors import UsageError
from copilot_kernel.frontend.answering import MAX_ATTEMPTS
from copilot_kernel.frontend.choosing import FAILED, UNCHANGED, UNSURE, choose
from copilot_kernel.frontend.command_output import Menu
from copilot_kernel.rendering.report import Report, render_report
from copilot_widgets.field import PickerField, Picks
from ipywidgets import Widget

from ..widgets.connected import connected
from ..widgets.front_end import FrontEnd
from .recording import RecordingCell

pytestmark = pytest.mark.anyio

MODE = PickerField("Mode", ("agent", "plan"), 0)
SHORT = PickerField("Mode", ("Does it", "Thinks first"), 0, words=("agent", "plan"))
MODEL = PickerField("Model", ("fast", "slow", "plan"), 1)
REPORT = Report("Mode", rows=(("agent",), ("plan",)))
STATIC = render_report(REPORT)
PROMPT = "1) agent  2) plan  (leave empty to change nothing): "
WIDGET = "application/vnd.jupyter.widget-view+json"

front_end = pytest.fixture(connected, name="front_end")


class Applied:
    """What was chosen; `then` is what happens when it is applied."""

    def __init__(self, then: Callable[[], Awaitable[None]] | None = None) -> None:
        self.picks: list[Picks] = []
        self._then = then

    async def __call__(self, picks: Picks) -> str:
        self.picks.append(picks)
        if self._then is not None:
            await self._then()
        return f"Set: {picks}"


async def begin(cell: RecordingCell, applied: Applied, *fields: PickerField) -> asyncio.Task[None]:
    """Ask, and come back when the picker stands there."""
    choosing = asyncio.create_task(choose(cell, Menu(fields or (MODE,), "Apply", REPORT), applied))  # type: ignore[arg-type]
    while not cell.sent and not choosing.done():
        await asyncio.sleep(0)
    return choosing


async def end(choosing: asyncio.Task[None]) -> None:
    await asyncio.wait_for(choosing, 5)


def no_widget_is_left(front_end: FrontEnd) -> bool:
    with warnings.catch_warnings(action="ignore"):
        return (front_end.models, dict(Widget.widgets)) == ({}, {})


# -- a picker -------------------------------------------------------------------------------------------------------


async def test_what_is_clicked_is_applied_and_a_line_stands_where_the_picker_stood(front_end: FrontEnd) -> None:
    cell, applied = RecordingCell(), Applied()
    choosing = await begin(cell, applied)
    front_end.set(front_end.described("Mode"), index=1)
    front_end.click(front_end.described("Apply"))
    await end(choosing)
    assert (applied.picks, cell.plain, cell.kinds) == ([(1,)], ["ℹ Set: (1,)"], ["display", "update"])
    assert no_widget_is_left(front_end)


async def test_leaving_it_applies_nothing(front_end: FrontEnd) -> None:
    cell, applied = RecordingCell(), Applied()
    choosing = await begin(cell, applied)
    front_end.click(front_end.described("Cancel"))
    await end(choosing)
    assert (applied.picks, cell.plain) == ([], [f"ℹ {UNCHANGED}"])


async def test_an_interrupt_takes_the_picker_away(front_end: FrontEnd) -> None:
    cell, applied = RecordingCell(), Applied()
    choosing = await begin(cell, applied)
    choosing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await end(choosing)
    assert (applied.picks, cell.plain) == ([], [f"ℹ {UNCHANGED}"])
    assert no_widget_is_left(front_end)


async def test_an_interrupt_while_it_is_applied_claims_nothing(front_end: FrontEnd) -> None:
    cell, applied = RecordingCell(), Applied(asyncio.Event().wait)  # type: ignore[arg-type]
    choosing = await begin(cell, applied)
    front_end.click(front_end.described("Apply"))
    while not applied.picks:
        await asyncio.sleep(0)
    choosing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await end(choosing)
    assert cell.plain == [f"ℹ {UNSURE}"]


async def test_what_cannot_be_set_is_an_error_and_the_line_says_so(front_end: FrontEnd) -> None:
    async def refuse() -> None:
        raise UsageError("not today")

    cell = RecordingCell()
    choosing = await begin(cell, Applied(refuse))
    front_end.click(front_end.described("Apply"))
    with pytest.raises(UsageError, match="not today"):
        await end(choosing)
    assert cell.plain == [f"ℹ {FAILED}"]
    assert no_widget_is_left(front_end)


# -- a line of input ------------------------------------------------------------------------------------------------


async def typed(*lines: str | None, fields: tuple[PickerField, ...] = (MODE,)) -> tuple[list[Picks], RecordingCell]:
    cell, applied = RecordingCell(cell_id=None), Applied()
    for line in lines:
        cell.typed.put_nowait(line)
    await end(await begin(cell, applied, *fields))
    return applied.picks, cell


@pytest.mark.parametrize(
    ("line", "picks"), [("2", [(1,)]), ("Plan", [(1,)]), (" 1 ", [(0,)]), ("", []), ("  ", []), (None, [])]
)
async def test_a_number_or_a_name_is_the_choice_and_an_empty_line_is_none(line: str | None, picks: list[Picks]) -> None:
    applied, cell = await typed(line)
    said = f"ℹ Set: {picks[0]}" if picks else f"ℹ {UNCHANGED}"
    assert (applied, cell.prompts, cell.plain) == (picks, [PROMPT], [STATIC["text/plain"], said])


async def test_nonsense_is_asked_again_but_not_for_ever() -> None:
    assert (await typed("3", "what", "2"))[0] == [(1,)]
    applied, cell = await typed(*["what"] * MAX_ATTEMPTS)
    assert (applied, len(cell.prompts)) == ([], MAX_ATTEMPTS)


@pytest.mark.parametrize("line", ["2", "thinks first", "plan"])
async def test_where_a_name_has_a_short_word_that_can_be_typed_too(line: str) -> None:
    assert (await typed(line, fields=(SHORT,)))[0] == [(1,)]


async def test_of_several_things_the_first_line_says_which() -> None:
    applied, cell = await typed("model", "plan", fields=(MODE, MODEL))
    assert (applied, [prompt[:10] for prompt in cell.prompts]) == ([(0, 2)], ["1) Mode  2", "1) fast  2"])


@pytest.mark.parametrize("lines", [("",), (None,), ("2", ""), ("2", None)])
async def test_of_several_things_each_line_may_be_left_empty(lines: tuple[str | None, ...]) -> None:
    assert (await typed(*lines, fields=(MODE, MODEL)))[0] == []
