"""Running a cell again whose last turn changed files."""

import asyncio

import pytest
from copilot_kernel.chat import TurnOutcome
from copilot_kernel.errors import CopilotError

from ..limits import LIMIT, until
from ..output.asked import Models
from ..output.recording import RecordingCell
from .rerunning import FILES, KEPT, LOST, SENT, Kernel, again, outputs


async def test_with_another_value_it_is_another_prompt(kernel: Kernel) -> None:
    kernel.set("keep")
    for row in ("one", "two", "two"):
        await kernel.run("change $row", row=row)
    assert kernel.prompts == ["change $row"] * 2


# -- run ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("live", [True, False])
async def test_a_prompt_whose_last_turn_changed_files_says_so_and_is_sent_again(kernel: Kernel, live: bool) -> None:
    first, second, third = [await kernel.run("change", again(live)) for _ in range(3)]
    assert ("last time" in first.printed, second.plain[0], third.plain[0]) == (False, SENT, SENT)
    assert kernel.prompts == ["change"] * 3
    assert [text.startswith("ℹ") for text in third.plain].count(True) == 1


async def test_only_files_that_are_as_the_turn_left_them_are_named(kernel: Kernel) -> None:
    await kernel.run("change")
    (kernel.folder / "a.py").write_text("the user's\n")
    one = await kernel.run("change")
    for name in ("a.py", "b.py"):
        (kernel.folder / name).unlink()
    none = await kernel.run("change")
    assert one.plain[0] == "ℹ This prompt changed b.py last time. This run starts from the changed file."
    assert ("last time" in none.printed, len(kernel.prompts)) == (False, 3)


@pytest.mark.usefixtures("keep")
async def test_another_prompt_another_cell_and_a_turn_without_changes_are_sent_as_ever(kernel: Kernel) -> None:
    await kernel.run("change")
    cells = [await kernel.run("change it"), await kernel.run("change", again(cell_id="another"))]
    cells += [await kernel.run("look", again(cell_id="third")) for _ in range(2)]
    assert (len(kernel.prompts), ["last time" in cell.printed for cell in cells]) == (5, [False] * 4)


async def test_only_the_last_turn_counts(kernel: Kernel) -> None:
    await kernel.run("change")
    kernel.changes = False
    await kernel.run("change")
    kernel.set("keep")
    assert ("last time" in (await kernel.run("change")).printed, len(kernel.prompts)) == (False, 3)


@pytest.mark.usefixtures("keep")
@pytest.mark.parametrize("live", [True, False])
async def test_a_cell_without_a_name_has_no_last_turn(kernel: Kernel, live: bool) -> None:
    for _ in range(2):
        await kernel.run("change", RecordingCell(live, cell_id=None))
    assert kernel.prompts == ["change"] * 2


# -- keep -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("keep")
async def test_a_kept_answer_is_shown_as_it_was_below_a_line_and_nothing_is_sent(kernel: Kernel) -> None:
    first = await kernel.run("change")
    second, third = [await kernel.run("change") for _ in range(2)]
    assert outputs(second)[1:] == outputs(third)[1:] == outputs(first)
    assert (second.plain[0], third.plain[0], kernel.prompts) == (KEPT, KEPT, ["change"])
    assert "copilot_kernel" in outputs(second)[-1][1]


@pytest.mark.usefixtures("keep")
async def test_a_batch_run_that_keeps_gives_what_it_gave(kernel: Kernel) -> None:
    first, second = [await kernel.run("change", again(live=False)) for _ in range(2)]
    assert (outputs(first), first.sent, kernel.prompts) == (outputs(second), second.sent, ["change"])


@pytest.mark.usefixtures("keep")
async def test_a_kept_cell_ends_as_its_turn_did_but_for_a_stop(kernel: Kernel) -> None:
    for stop_reason in ("end_turn", "cancelled"):
        kernel.stop_reason = stop_reason
        turns = [await kernel.session.run(again(cell_id=stop_reason), "change") for _ in range(2)]
        assert turns[1] is (turns[0] if stop_reason == "end_turn" else None)


@pytest.mark.usefixtures("keep")
async def test_a_turn_that_failed_after_it_changed_files_is_not_sent_again_and_has_no_answer(kernel: Kernel) -> None:
    kernel.fails = True
    with pytest.raises(CopilotError):
        await kernel.run("change")
    assert ((await kernel.run("change")).plain, kernel.prompts) == ([LOST], ["change"])


@pytest.mark.usefixtures("keep")
async def test_a_turn_that_failed_before_it_changed_anything_does_not_count(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await kernel.run("change")
    kernel.set("run")

    async def fail(*_: object) -> TurnOutcome:
        raise CopilotError("The agent does not start.")

    with monkeypatch.context() as patch:
        patch.setattr(kernel.session.runner, "ask", fail)
        with pytest.raises(CopilotError):
            await kernel.run("change")
    kernel.set("keep")
    assert outputs(await kernel.run("change"))[1:] == outputs(first)


@pytest.mark.usefixtures("keep")
async def test_what_stands_above_a_kept_prompt_is_not_done(kernel: Kernel) -> None:
    code = "%attach\nchange"
    first, second = [await kernel.run(code, again(live=False)) for _ in range(2)]
    assert ("attached" in first.printed.lower(), "attached" in second.printed.lower()) == (True, False)
    assert kernel.prompts == ["change"]


@pytest.mark.usefixtures("keep")
async def test_prompts_of_one_execution_are_compared_in_their_order(kernel: Kernel) -> None:

    async def loop(request_id: str) -> list[RecordingCell]:
        cells = [again(live=False, request_id=request_id) for _ in range(3)]
        for cell in cells:
            cell.source = "for text in texts: %copilot {text}"
            await kernel.run("look" if cell is cells[1] else "change", cell)
        return cells

    first, second = await loop("1"), await loop("2")
    assert kernel.prompts == ["change", "look", "change", "look"]
    assert [outputs(cell) for cell in second[::2]] == [outputs(cell) for cell in first[::2]]


async def test_an_answer_that_no_setting_shows_again_is_not_kept(kernel: Kernel) -> None:
    await kernel.run("change")
    kernel.set("keep")
    assert (await kernel.run("change")).plain == [LOST]


# -- ask ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("click", "is_sent"), [("Run again", True), ("Keep the answer", False)])
async def test_a_button_says_whether_the_prompt_is_sent(
    kernel: Kernel, models: Models, click: str, is_sent: bool
) -> None:
    kernel.set("ask")
    first, cell = await kernel.run("change"), again()
    cell.widgets = True
    running = asyncio.create_task(kernel.run("change", cell))
    await until(lambda: models.buttons(click))
    models.click(models.buttons(click)[0])
    await asyncio.wait_for(running, LIMIT)
    assert cell.plain[0] == f"ℹ {FILES}. Run it again? → {click}"
    assert len(kernel.prompts) == 1 + is_sent
    assert (outputs(cell)[-len(outputs(first)) :] == outputs(first)) is not is_sent
    assert (models.models, "widget-view" in str(outputs(cell))) == ({}, False)


@pytest.mark.parametrize(
    ("typed", "is_sent", "line"),
    [
        (["1"], True, "Run again"),
        (["perhaps"], False, "Keep the answer"),
        (["keep the answer"], False, "Keep the answer"),
        ([None], False, "Keep the answer (no answer was given)"),
    ],
)
async def test_the_answer_may_be_typed(kernel: Kernel, typed: list[str | None], is_sent: bool, line: str) -> None:
    kernel.set("ask")
    await kernel.run("change")
    cell = again()
    for each in typed:
        cell.typed.put_nowait(each)
    await asyncio.wait_for(kernel.run("change", cell), LIMIT)
    assert (len(kernel.prompts), cell.plain[0]) == (1 + is_sent, f"ℹ {FILES}. Run it again? → {line}")
    assert cell.prompts == ["1) Run again  2) Keep the answer: "] * len(typed)


async def test_where_nobody_can_answer_nothing_is_sent(kernel: Kernel) -> None:
    kernel.set("ask")
    first, second = [await kernel.run("change", again(live=False)) for _ in range(2)]
    assert second.plain[0].startswith("ℹ Not sent (rerun = ask, and no one can answer here). This prompt changed")
    assert (outputs(second)[1:], kernel.prompts) == (outputs(first), ["change"])
