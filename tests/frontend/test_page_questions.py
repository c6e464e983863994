"""Where a question stands in a page, its buttons below it, and what is left of both when it is decided."""

from __future__ import annotations

from typing import Any

import pytest
from copilot_kernel.frontend.output_area import AFTER_ANSWER, WIDGET_VIEW
from copilot_kernel.frontend.slots import MAX_QUESTIONS, OpenQuestion

from .recording import call, notice, said
from .sheet import LONG_AGO, group, page, passing, text

QUESTION = {"text/plain": "May it?", "text/html": "<p>May it?</p>"}


def test_a_question_stands_where_its_call_stood_alone_and_makes_way_for_it() -> None:
    sheet, cell, loop = page()
    withdrawn: list[int] = []
    sheet.put(said(1, "I edit."))
    sheet.put(call(2, "waiting"))
    loop.pass_time(LONG_AGO)
    close = sheet.open_question(2, OpenQuestion(QUESTION, lambda: withdrawn.append(len(cell.sent))))
    loop.pass_time()
    assert (cell.outputs, withdrawn) == ([text("I edit."), QUESTION], [])
    close(notice(-1, "Allowed"))
    sheet.put(call(2, decision="allowed by you"))
    loop.pass_time()
    assert cell.outputs[1] == QUESTION
    loop.pass_time(AFTER_ANSWER)
    decided = group(call(2, decision="allowed by you"))
    assert (cell.outputs, withdrawn) == ([text("I edit."), decided], [len(cell.sent)])


def test_a_question_about_an_earlier_call_of_several_keeps_its_place() -> None:
    sheet, cell, loop = page()
    for entry in (call(1), call(2, "waiting"), call(3, "waiting"), call(4)):
        sheet.put(entry)
    loop.pass_time(LONG_AGO)
    other = {"text/plain": "And this?"}
    sheet.open_question(2, OpenQuestion(QUESTION, lambda: None))
    sheet.open_question(3, OpenQuestion(other, lambda: None))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1)), QUESTION, other, group(call(4))]


def test_two_questions_about_one_call_have_an_output_each_and_the_second_leaves_a_line() -> None:
    sheet, cell, loop = page()
    sheet.put(call(1, "waiting"))
    first = sheet.open_question(1, OpenQuestion(QUESTION, lambda: None))
    other = {"text/plain": "Really?"}
    second = sheet.open_question(1, OpenQuestion(other, lambda: None))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [QUESTION, other]
    second(notice(-2, "Rejected"))
    first(notice(-1, "Allowed"))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1, "waiting")), group(notice(-2, "Rejected"))]


def test_a_question_is_drawn_at_once_however_much_was_sent() -> None:
    sheet, cell, loop = page()
    sheet.put(said(1, "x " * 500_000))
    sheet.put(call(2, "waiting"))
    loop.pass_time()
    sheet.open_question(2, OpenQuestion(QUESTION, lambda: None))
    loop.pass_time()
    assert cell.outputs[-1] == QUESTION


# -- a question's buttons -------------------------------------------------------------------------------------------

BUTTONS = {WIDGET_VIEW: {"model_id": "x"}, "text/plain": "(buttons)"}
NOTHING = {"text/plain": "", "text/html": ""}


def test_buttons_stand_directly_below_their_question_and_what_comes_next_takes_their_place() -> None:
    sheet, cell, loop = page()
    withdrawn: list[int] = []
    for entry in (call(1), call(2, "waiting"), call(3, "waiting")):
        sheet.put(entry)
    loop.pass_time(LONG_AGO)
    close = sheet.open_question(2, OpenQuestion(QUESTION, lambda: withdrawn.append(len(cell.sent)), BUTTONS))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1)), QUESTION, BUTTONS, group(call(3, "waiting"))]
    close(notice(-1, "Allowed"))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1)), group(call(2, "waiting")), NOTHING, group(call(3, "waiting"))]
    assert withdrawn == [len(cell.sent)]
    sheet.open_question(2, OpenQuestion(QUESTION, lambda: None, BUTTONS))
    loop.pass_time(LONG_AGO)
    others = [group(call(1)), group(call(2, "waiting")), NOTHING, group(call(3, "waiting"))]
    assert cell.outputs == [*others, QUESTION, BUTTONS]


def test_a_call_that_is_asked_about_again_is_asked_about_in_its_place() -> None:
    sheet, cell, loop = page()
    sheet.put(call(1, "waiting"))
    for _ in range(3):
        close = sheet.open_question(1, OpenQuestion(QUESTION, lambda: None, BUTTONS))
        loop.pass_time(LONG_AGO)
        assert cell.outputs == [QUESTION, BUTTONS]
        close(notice(-1, "withdrawn"))
        loop.pass_time(LONG_AGO)
        assert cell.outputs == [group(call(1, "waiting")), NOTHING]


@pytest.mark.parametrize("after", ["text", "question", "status", "footer"])
def test_where_buttons_stood_at_the_end_stands_what_comes_next(after: str) -> None:
    sheet, cell, loop = page()
    sheet.put(call(1, "waiting"))
    close = sheet.open_question(1, OpenQuestion(QUESTION, lambda: None, BUTTONS))
    loop.pass_time(LONG_AGO)
    close(notice(-1, "Allowed"))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1, "waiting")), NOTHING]
    match after:
        case "text":
            sheet.put(said(2, "So."))
        case "question":
            sheet.open_question(7, OpenQuestion(QUESTION, lambda: None, BUTTONS))
        case "status":
            sheet.status("silent")
        case "footer":
            sheet.settle()
            sheet.add({"text/plain": "the end"}, {})
    loop.pass_time(LONG_AGO)
    wanted = {"text": [text("So.")], "question": [QUESTION, BUTTONS], "footer": [{"text/plain": "the end"}]}
    assert cell.outputs[1:] == wanted.get(after, [passing("silent")])


def test_a_question_about_what_stands_further_up_has_its_buttons_below_it_at_the_end() -> None:
    sheet, cell, loop = page()
    for entry in (call(1, "waiting"), said(2, "So.")):
        sheet.put(entry)
    loop.pass_time(LONG_AGO)
    close = sheet.open_question(1, OpenQuestion(QUESTION, lambda: None, BUTTONS))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1, "waiting")), text("So."), QUESTION, BUTTONS]
    close(notice(-1, "Allowed"))
    sheet.settle()
    assert cell.outputs == [group(call(1, "waiting")), text("So."), NOTHING, NOTHING]


def test_a_question_that_was_never_sent_leaves_no_empty_display() -> None:
    sheet, cell, loop = page()
    gone: list[str] = []
    sheet.put(call(1, "waiting"))
    sheet.open_question(1, OpenQuestion(QUESTION, lambda: gone.append("one"), BUTTONS))(notice(-1, "withdrawn"))
    loop.pass_time(LONG_AGO)
    assert (cell.outputs, gone) == ([group(call(1, "waiting"))], ["one"])


def test_what_was_decided_late_does_not_touch_what_took_the_place_of_the_buttons() -> None:
    sheet, cell, loop = page()
    sheet.put(call(1, "waiting"))
    close = sheet.open_question(1, OpenQuestion(QUESTION, lambda: None, BUTTONS))
    loop.pass_time(LONG_AGO)
    sheet.settle()
    sheet.add({"text/plain": "the end"}, {})
    close(notice(-1, "withdrawn"))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [group(call(1, "waiting")), {"text/plain": "the end"}]


def test_buttons_are_told_before_what_stands_above_them_moves_them() -> None:
    sheet, cell, loop = page()
    shifted: list[int] = []
    for entry in (call(1, title="Above"), said(2, "So."), call(3, "waiting")):
        sheet.put(entry)
    loop.pass_time(LONG_AGO)
    asked = OpenQuestion(QUESTION, lambda: None, BUTTONS, lambda: shifted.append(len(cell.sent)))
    close = sheet.open_question(3, asked)
    sheet.put(said(4, "Below."))
    loop.pass_time(LONG_AGO)
    for below_or_as_high in (said(4, "Below.\n\nMuch."), call(1, title="Still above")):
        sheet.put(below_or_as_high)
        loop.pass_time(LONG_AGO)
    assert shifted == []
    sheet.put(call(1, "failed", title="Above", raw_output="one\ntwo\nthree"))
    loop.pass_time(LONG_AGO)
    assert shifted == [len(cell.sent) - 1]
    close(notice(-1, "Allowed"))
    sheet.put(call(1, title="Above"))
    loop.pass_time(LONG_AGO)
    assert len(shifted) == 1


def test_buttons_never_follow_buttons_in_one_display() -> None:
    """JupyterLab would hide the new ones together with the old ones."""
    sheet, cell, loop = page()
    sheet.put(call(1, "waiting"))
    close = sheet.open_question(1, OpenQuestion(QUESTION, lambda: None, BUTTONS))
    loop.pass_time(LONG_AGO)
    close(notice(-1, "Allowed"))
    others = {**BUTTONS, WIDGET_VIEW: {"model_id": "y"}}
    sheet.open_question(1, OpenQuestion(QUESTION, lambda: None, others))
    loop.pass_time(LONG_AGO)
    assert cell.outputs == [QUESTION, others]
    assert [bundle for _, bundle in cell.sent][-2:] == [NOTHING, others]


@pytest.mark.parametrize("one_by_one", [True, False])
def test_with_buttons_too_a_hundred_questions_stay_under_the_limit_and_in_order(one_by_one: bool) -> None:
    sheet, cell, loop = page()
    closes: list[Any] = []
    for number in range(100):
        sheet.put(call(number, "waiting", f"step{number}"))
        question, buttons = {"text/plain": f"May{number}?"}, {"text/plain": f"buttons{number}"}
        closes.append((number, sheet.open_question(number, OpenQuestion(question, lambda: None, buttons))))
        loop.pass_time(0.1)
        assert cell.plain[cell.plain.index(f"May{number}?") + 1] == f"buttons{number}"
        if one_by_one or len(closes) == MAX_QUESTIONS:
            for asked, close in closes:
                close(notice(-asked - 1, f"line{asked}"))
                sheet.put(call(asked, "completed", f"step{asked}"))
            closes.clear()
    sheet.settle()
    sheet.add({"text/plain": "the end"}, {})
    words = " ".join(cell.plain).split()
    assert len(cell.outputs) <= 48
    assert [number for number in range(100) if words.count(f"step{number}") != 1] == []
    assert [word for word in words if word.startswith(("May", "buttons"))] == []
