"""Where a question stands in a page, its buttons below it, and what is left of both when it is decided."""

from typing import Any

import pytest
from copilot_kernel.output.output_area import AFTER_ANSWER, WIDGET_VIEW
from copilot_kernel.output.questions import MAX_QUESTIONS

from .recording import call, notice, said
from .sheet import END, LONG_AGO, QUESTION, Card, Sheet, asked, group, passing, text

OTHER = {"text/plain": "Really?"}
WAITING = call(1, "waiting")


def test_a_question_stands_where_its_call_stood_alone_and_makes_way_for_it() -> None:
    sheet = Sheet()
    sheet.put(said(1, "I edit."), call(2, "waiting"))
    close = sheet.ask(2, then=0.0)
    assert (sheet.outputs, sheet.withdrawn) == ([text("I edit."), QUESTION], {})
    close(notice(-1, "Allowed"))
    decided = call(2, decision="allowed by you")
    sheet.put(decided, then=0.0)
    assert sheet.outputs[1] == QUESTION
    sheet.loop.pass_time(AFTER_ANSWER)
    assert sheet.outputs == [text("I edit."), group(decided)]
    assert sheet.withdrawn == {QUESTION["text/plain"]: len(sheet.cell.sent)}


def test_a_question_about_an_earlier_call_of_several_keeps_its_place() -> None:
    sheet = Sheet()
    sheet.put(call(1), call(2, "waiting"), call(3, "waiting"), call(4))
    sheet.ask(2)
    sheet.ask(3, OTHER)
    assert sheet.outputs == [group(call(1)), QUESTION, OTHER, group(call(4))]


def test_two_questions_about_one_call_have_an_output_each_and_the_second_leaves_a_line() -> None:
    sheet = Sheet()
    sheet.put(WAITING)
    first, second = sheet.ask(1), sheet.ask(1, OTHER)
    assert sheet.outputs == [QUESTION, OTHER]
    second(notice(-2, "Rejected"))
    first(notice(-1, "Allowed"))
    sheet.loop.pass_time(LONG_AGO)
    assert sheet.outputs == [group(WAITING), group(notice(-2, "Rejected"))]


def test_a_question_is_drawn_at_once_however_much_was_sent() -> None:
    sheet = Sheet()
    sheet.put(said(1, "x " * 500_000), call(2, "waiting"), then=0.0)
    sheet.ask(2, then=0.0)
    assert sheet.outputs[-1] == QUESTION


# -- a question's buttons -------------------------------------------------------------------------------------------

BUTTONS = {WIDGET_VIEW: {"model_id": "x"}, "text/plain": "(buttons)"}
NOTHING = {"text/plain": "", "text/html": ""}


def answered() -> Sheet:
    """A call was asked about and allowed."""
    sheet = Sheet()
    sheet.put(WAITING)
    sheet.ask(1, QUESTION, BUTTONS)(notice(-1, "Allowed"))
    sheet.loop.pass_time(LONG_AGO)
    assert sheet.outputs == [group(WAITING), NOTHING]
    return sheet


def test_buttons_stand_directly_below_their_question_and_what_comes_next_takes_their_place() -> None:
    sheet = Sheet()
    sheet.put(call(1), call(2, "waiting"), call(3, "waiting"))
    close = sheet.ask(2, QUESTION, BUTTONS)
    assert sheet.outputs == [group(call(1)), QUESTION, BUTTONS, group(call(3, "waiting"))]
    close(notice(-1, "Allowed"))
    sheet.loop.pass_time(LONG_AGO)
    others = [group(call(1)), group(call(2, "waiting")), NOTHING, group(call(3, "waiting"))]
    assert (sheet.outputs, [*sheet.withdrawn.values()]) == (others, [len(sheet.cell.sent)])
    sheet.ask(2, QUESTION, BUTTONS)
    assert sheet.outputs == [*others, QUESTION, BUTTONS]


def test_a_call_that_is_asked_about_again_is_asked_about_in_its_place() -> None:
    sheet = answered()
    for _ in range(2):
        close = sheet.ask(1, QUESTION, BUTTONS)
        assert sheet.outputs == [QUESTION, BUTTONS]
        close(notice(-1, "withdrawn"))
        sheet.loop.pass_time(LONG_AGO)
        assert sheet.outputs == [group(WAITING), NOTHING]


@pytest.mark.parametrize(("happens", "shown"), [
    (lambda sheet: sheet.put(said(2, "So.")), [text("So.")]),
    (lambda sheet: sheet.ask(7, QUESTION, BUTTONS), [QUESTION, BUTTONS]),
    (lambda sheet: sheet.status("silent"), [passing("silent")]),
    (Sheet.end, [END]),
], ids=["text", "question", "status", "footer"])  # fmt: skip
def test_where_buttons_stood_at_the_end_stands_what_comes_next(happens: Any, shown: list[Any]) -> None:
    sheet = answered()
    happens(sheet)
    assert sheet.outputs[1:] == shown


def test_a_question_about_what_stands_further_up_has_its_buttons_below_it_at_the_end() -> None:
    sheet = Sheet()
    sheet.put(WAITING, said(2, "So."))
    close = sheet.ask(1, QUESTION, BUTTONS)
    assert sheet.outputs == [group(WAITING), text("So."), QUESTION, BUTTONS]
    close(notice(-1, "Allowed"))
    sheet.area.settle()
    assert sheet.outputs == [group(WAITING), text("So."), NOTHING, NOTHING]


def test_a_question_that_was_never_sent_leaves_no_empty_display() -> None:
    sheet = Sheet()
    sheet.area.put(WAITING)
    question = asked(1, QUESTION, BUTTONS, Card(sheet, "one"))
    sheet.area.open_question(question)(notice(-1, "withdrawn"))
    sheet.loop.pass_time(LONG_AGO)
    assert (sheet.outputs, [*sheet.withdrawn]) == ([group(WAITING)], ["one"])


def test_what_was_decided_late_does_not_touch_what_took_the_place_of_the_buttons() -> None:
    sheet = Sheet()
    sheet.put(WAITING)
    close = sheet.ask(1, QUESTION, BUTTONS)
    sheet.end()
    close(notice(-1, "withdrawn"))
    sheet.loop.pass_time(LONG_AGO)
    assert sheet.outputs == [group(WAITING), END]


def test_buttons_are_told_before_what_stands_above_them_moves_them() -> None:
    sheet = Sheet()
    sheet.put(call(1, title="Above"), said(2, "So."), call(3, "waiting"))
    close = sheet.ask(3, QUESTION, BUTTONS, then=0.0)
    for below_or_as_high in (said(4, "Below."), said(4, "Below.\n\nMuch."), call(1, title="Still above")):
        sheet.put(below_or_as_high)
    assert sheet.shifted == []
    sheet.put(call(1, "failed", title="Above", raw_output="one\ntwo\nthree"))
    assert sheet.shifted == [len(sheet.cell.sent) - 1]
    close(notice(-1, "Allowed"))
    sheet.put(call(1, title="Above"))
    assert len(sheet.shifted) == 1


def test_buttons_never_follow_buttons_in_one_display() -> None:
    """JupyterLab would hide the new ones together with the old ones."""
    sheet = Sheet()
    sheet.put(WAITING)
    sheet.ask(1, QUESTION, BUTTONS)(notice(-1, "Allowed"))
    others = {**BUTTONS, WIDGET_VIEW: {"model_id": "y"}}
    sheet.ask(1, QUESTION, others)
    assert sheet.outputs == [QUESTION, others]
    assert [bundle for _, bundle in sheet.cell.sent][-2:] == [NOTHING, others]


@pytest.mark.parametrize("one_by_one", [True, False])
def test_with_buttons_too_a_hundred_questions_stay_under_the_limit_and_in_order(one_by_one: bool) -> None:
    sheet = Sheet()
    closes: list[Any] = []
    for number in range(100):
        sheet.put(call(number, "waiting", f"step{number}"), then=0.0)
        question, buttons = {"text/plain": f"May{number}?"}, {"text/plain": f"buttons{number}"}
        closes.append((number, sheet.ask(number, question, buttons, then=0.1)))
        assert sheet.cell.plain[sheet.cell.plain.index(f"May{number}?") + 1] == f"buttons{number}"
        if one_by_one or len(closes) == MAX_QUESTIONS:
            for asked, close in closes:
                close(notice(-asked - 1, f"line{asked}"))
                sheet.area.put(call(asked, "completed", f"step{asked}"))
            closes.clear()
    sheet.end()
    words = " ".join(sheet.cell.plain).split()
    assert len(sheet.outputs) <= 48
    assert [number for number in range(100) if words.count(f"step{number}") != 1] == []
    assert [word for word in words if word.startswith(("May", "buttons"))] == []
