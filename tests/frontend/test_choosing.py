"""One choice in a console: by a typed line, or left as it is."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest
from copilot_kernel.frontend.cell_output import CellOutput
from copilot_kernel.frontend.command_output import UNCHANGED, Menu
from copilot_kernel.frontend.pickers import Pickers
from copilot_kernel.rendering.report import Report, render_report
from copilot_kernel.rendering.typed_answer import MAX_ATTEMPTS
from copilot_widgets.field import PickerField

from ..limits import LIMIT
from .recording import RecordingCell

MODE = PickerField("Mode", ("agent", "plan"), 0)
SHORT = PickerField("Mode", ("Does it", "Thinks first"), 0, words=("agent", "plan"))
MODEL = PickerField("Model", ("fast", "slow", "plan"), 1)
REPORT = Report("Mode", rows=(("agent",), ("plan",)))
STATIC = render_report(REPORT)
PROMPT = "1) agent  2) plan  (leave empty to change nothing): "

Pick = tuple[int, int]


async def typed(*lines: str | None, fields: tuple[PickerField, ...] = (MODE,)) -> tuple[list[Pick], RecordingCell]:
    cell, applied = RecordingCell(cell_id=None), list[Pick]()
    for line in lines:
        cell.typed.put_nowait(line)

    async def apply(field: int, choice: int) -> str:
        applied.append((field, choice))
        return f"Set: {choice}"

    output = CellOutput(cell, Pickers(anyio.lowlevel.checkpoint), set())
    await asyncio.wait_for(output.choose(Menu("mode", fields, REPORT, object), apply), LIMIT)
    return applied, cell


@pytest.mark.parametrize(
    ("line", "picks"), [("2", [(0, 1)]), ("Plan", [(0, 1)]), (" 1 ", [(0, 0)]), ("", []), ("  ", []), (None, [])]
)
async def test_a_number_or_a_name_is_the_choice_and_an_empty_line_is_none(line: str | None, picks: list[Pick]) -> None:
    applied, cell = await typed(line)
    said = f"✓ Set: {picks[0][1]}" if picks else f"ℹ {UNCHANGED}"
    assert (applied, cell.prompts, cell.plain) == (picks, [PROMPT], [STATIC["text/plain"], said])


async def test_nonsense_is_asked_again_but_not_for_ever() -> None:
    assert (await typed("3", "what", "2"))[0] == [(0, 1)]
    applied, cell = await typed(*["what"] * MAX_ATTEMPTS)
    assert (applied, len(cell.prompts)) == ([], MAX_ATTEMPTS)


@pytest.mark.parametrize("line", ["2", "thinks first", "plan"])
async def test_where_a_name_has_a_short_word_that_can_be_typed_too(line: str) -> None:
    assert (await typed(line, fields=(SHORT,)))[0] == [(0, 1)]


async def test_of_several_things_the_first_line_says_which() -> None:
    applied, cell = await typed("model", "plan", fields=(MODE, MODEL))
    assert (applied, [prompt[:10] for prompt in cell.prompts]) == ([(1, 2)], ["1) Mode  2", "1) fast  2"])


@pytest.mark.parametrize("lines", [("",), (None,), ("2", ""), ("2", None)])
async def test_of_several_things_each_line_may_be_left_empty(lines: tuple[str | None, ...]) -> None:
    assert (await typed(*lines, fields=(MODE, MODEL)))[0] == []
