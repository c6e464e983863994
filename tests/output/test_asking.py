"""One question, one answer: by a click, by a typed line, or by nobody."""

import asyncio
import json
import shlex
import warnings
from dataclasses import replace

import pytest
from copilot_kernel.acp.messages import PermissionOption
from copilot_kernel.permissions.question import PermissionAnswer, Question
from copilot_kernel.rendering.question import NO_BUTTONS, QuestionView
from copilot_kernel.rendering.typed_answer import MAX_ATTEMPTS
from copilot_kernel.views.open_question import NOBODY
from copilot_kernel.views.permission_question import NO_RULE, PermissionQuestion
from ipywidgets import Widget

from ..limits import until
from .asked import EDIT, NOT_ANSWERED, QUESTION, Models, Place, ask, ask_ready
from .recording import ALLOW, ALWAYS, REJECT, RecordingCell, call, question

# -- buttons --------------------------------------------------------------------------------------------------------


async def test_only_the_first_click_counts(models: Models) -> None:
    asked = await ask_ready(models, RecordingCell(), Place())
    allow, reject = models.buttons("Allow once")[0], models.buttons("Deny")[0]
    for button in (reject, reject, allow):
        models.click(button)
    assert await asked.wait() == PermissionAnswer(REJECT, "you")
    models.click(allow)


@pytest.mark.parametrize(("chosen", "how"), [(ALLOW, "allowed"), (REJECT, "denied")])
def test_the_line_that_stays_names_what_was_asked_and_who_decided(chosen: PermissionOption, how: str) -> None:
    line = PermissionQuestion(QUESTION, "/project").closing_line(PermissionAnswer(chosen, "you"))
    assert (line.title, line.description) == (f"Edit notes.txt: {how} by you", "")


async def test_the_question_in_words_and_html_is_one_display_and_its_buttons_are_another(models: Models) -> None:
    place = Place()
    await ask(RecordingCell(), place)
    buttons = place.buttons[0] or {}
    view = buttons.pop("application/vnd.jupyter.widget-view+json")
    assert (place.shown, buttons) == ([QuestionView(QUESTION, "/project").bundle], {"text/plain": NO_BUTTONS})
    assert view["model_id"] in models.models
    assert not any("notes.txt" in str(state | {"tooltip": ""}) for state in models.models.values())


async def test_widgets_are_made_and_closed_for_the_cell_that_asks(models: Models) -> None:
    cell, place = RecordingCell(), Place()
    asked = await ask_ready(models, cell, place)
    models.click(models.buttons("Allow once")[0])
    await asked.wait()
    before = cell.owned
    place.close()
    assert cell.owned == before + 1
    with warnings.catch_warnings(action="ignore"):
        assert (models.models, dict(Widget.widgets)) == ({}, {})


async def test_a_cancelled_question_takes_no_click(models: Models) -> None:
    place = Place()
    asked = await ask_ready(models, RecordingCell(), place)
    button = models.buttons("Allow once")[0]
    asked.task.cancel()
    models.click(button)
    with pytest.raises(asyncio.CancelledError):
        await asked.wait()
    place.close()
    models.click(button)
    assert models.models == {}


async def test_names_show_what_hides_in_them_and_hints_say_what_they_do(models: Models) -> None:
    sneaky = PermissionOption("x", "Reject\u202e\x1b[2K", "allow_always")
    await ask(RecordingCell(), Place(), question(EDIT, options=(sneaky, PermissionOption("y", "Later", "postpone"))))
    states = [state for state in models.models.values() if "button_style" in state]
    assert [(state["description"], state["button_style"], state["tooltip"]) for state in states] == [
        ("Later", "", "Later: Edit notes.txt"),
        (
            "Always allow (the agent remembers it)",
            "",
            "Always allow (the agent remembers it): From now on, the agent allows similar calls without asking; "
            "only the agent can revoke this. · the agent calls it “Reject⟨U+202E⟩⟨U+001B⟩[2K”",
        ),
    ]


async def test_without_ipywidgets_the_question_is_asked_in_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "copilot_widgets.permission", None)
    cell, place = RecordingCell(), Place()
    cell.typed.put_nowait("1")
    asked = await ask(cell, place)
    assert await asked.wait() == PermissionAnswer(ALLOW, "you")
    assert place.shown == [QuestionView(QUESTION, "/project").bundle]
    assert [record.getMessage() for record in caplog.records] == ["widgets failed; the question is asked as text"]


# -- buttons and a line of input, where nobody knows whether there are widgets --------------------------------------


async def test_in_doubt_a_click_withdraws_the_line_of_input(models: Models) -> None:
    cell = RecordingCell(seen=False)
    asked = await ask_ready(models, cell, Place())
    models.click(models.buttons("Allow once")[0])
    assert await asked.wait() == PermissionAnswer(ALLOW, "you")


async def test_in_doubt_a_typed_answer_wins_over_a_later_click(models: Models) -> None:
    cell = RecordingCell(seen=False)
    asked = await ask(cell, Place())
    cell.typed.put_nowait("3")
    assert await asked.wait() == PermissionAnswer(REJECT, "you")
    models.click(models.buttons("Allow once")[0])


async def test_in_doubt_the_end_of_input_leaves_the_buttons(models: Models) -> None:
    cell = RecordingCell(seen=False)
    asked = await ask_ready(models, cell, Place())
    cell.typed.put_nowait(None)
    await until(cell.typed.empty)
    models.click(models.buttons("Allow once")[0])
    assert await asked.wait() == PermissionAnswer(ALLOW, "you")


# -- a line of input ------------------------------------------------------------------------------------------------

PROMPT = "1) Allow once  2) Always allow (the agent remembers it)  3) Deny (“3 because …” tells the agent why): "


async def typed(*lines: str | None, asked: Question = QUESTION) -> tuple[PermissionAnswer, RecordingCell]:
    cell = RecordingCell(cell_id=None)
    for line in lines:
        cell.typed.put_nowait(line)
    return await (await ask(cell, Place(), asked)).wait(), cell


@pytest.mark.parametrize(
    ("line", "option"), [("1", ALLOW), (" 2 ", ALWAYS), ("deny", REJECT), (" ALLOW  ONCE\n", ALLOW)]
)
async def test_a_number_or_a_name_is_the_answer(line: str, option: PermissionOption) -> None:
    answer, cell = await typed(line)
    assert (answer, cell.prompts) == (PermissionAnswer(option, "you"), [PROMPT])


async def test_a_console_prints_the_question_alone() -> None:
    place = Place()
    asked = await ask(RecordingCell(cell_id=None), place)
    view = QuestionView(QUESTION, "/project")
    assert place.shown == [{**view.bundle, "text/plain": view.text}]
    asked.task.cancel()


async def test_at_the_end_of_input_the_question_is_not_answered() -> None:
    assert (await typed("what?", None))[0] == NOT_ANSWERED


async def test_nothing_but_nonsense_is_no_answer_in_the_end() -> None:
    answer, cell = await typed(*["what?"] * MAX_ATTEMPTS)
    assert (answer, len(cell.prompts)) == (NOT_ANSWERED, MAX_ATTEMPTS)


# -- nobody ---------------------------------------------------------------------------------------------------------


async def rejected(asked: Question) -> PermissionAnswer:
    place = Place()
    answer = await (await ask(RecordingCell(live=False), place, asked)).wait()
    assert place.shown == []
    return answer


@pytest.mark.parametrize(("asked", "answer"), [
    (replace(QUESTION, rules=("Edit",)),
     PermissionAnswer(REJECT, "none", f"{NOBODY}; to allow it, set COPILOT_KERNEL_ALLOW='[\"Edit\"]'")),
    (question(call(1, "waiting", "Dance", kind="dance")), PermissionAnswer(REJECT, "none", f"{NOBODY}{NO_RULE}")),
    (question(EDIT, options=(ALLOW,)), PermissionAnswer(None, "none", f"{NOBODY}{NO_RULE}")),
], ids=["a rule would allow it", "no rule would", "no way to reject"])  # fmt: skip
async def test_where_nobody_can_be_asked_it_is_rejected_with_the_way_to_allow_it(
    asked: Question, answer: PermissionAnswer
) -> None:
    assert await rejected(asked) == answer


async def test_a_rule_cannot_break_out_of_what_is_to_be_pasted_into_a_shell() -> None:
    rule = "Edit(x'; rm -rf ~; '\u202e)"
    answer = await rejected(replace(QUESTION, rules=(rule,)))
    words = shlex.split(answer.reason.split("set ")[1])
    assert json.loads(words[0].removeprefix("COPILOT_KERNEL_ALLOW=")) == [rule]
    assert words[1:] == []
    assert "\u202e" not in answer.reason
