"""What an agent did without waiting for an answer."""

import pytest
from copilot_kernel.conversation.calls import went_on
from copilot_kernel.conversation.model import Unasked
from copilot_kernel.conversation.reduce import ask, decide, end_turn, mark

from .playing import ASK, BEGIN, call, play, status


def test_what_is_done_without_a_question_is_seen_when_it_is_completed() -> None:
    steps = [play(BEGIN), *(play(BEGIN, status(told)) for told in ("in_progress", "completed", "failed"))]
    assert [went_on(call(each)) for each in steps] == ["no", "perhaps", "unasked", "no"]


@pytest.mark.parametrize(
    ("allowed", "told", "seen"),
    [
        (True, "in_progress", "no"),
        (True, "completed", "no"),
        (False, "in_progress", "no"),
        (False, "completed", "refused"),
        (False, "failed", "no"),
        (None, "completed", "refused"),
    ],
)
def test_what_was_asked_about_may_do_as_it_was_told(allowed: bool | None, told: str, seen: str) -> None:
    asked, entry = ask(play(BEGIN, status("in_progress")), ASK)
    assert went_on(call(asked)) == "no"
    assert went_on(call(play(status(told), start=decide(asked, entry, allowed, "…")))) == seen


def test_what_was_allowed_and_then_cancelled_with_its_turn_is_no_disobedience() -> None:
    asked, entry = ask(play(BEGIN), ASK)
    ended = end_turn(decide(asked, entry, True, "Allowed"), "cancelled")
    assert went_on(call(play(status("completed"), start=ended))) == "no"


def test_a_mark_is_put_once_and_a_question_takes_it_off() -> None:
    before = play(BEGIN, status("in_progress"))
    after = mark(before, 1, Unasked("ran without asking"))
    assert (call(after).unasked, mark(after, 1, Unasked("ran without asking")) is after) == (
        Unasked("ran without asking"),
        True,
    )
    assert call(ask(after, ASK)[0]).unasked is None
    assert mark(after, 0, Unasked("x")) is after
