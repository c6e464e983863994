"""The life of a question, from outside: interrupts, and what the agent receives. Tabs: tests/browser."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .asked import ALLOW, DENY, Asked, Picked, Wire
from .front_end import FrontEnd

ALLOWED, REJECTED = "allowed by you", "denied by you"


@pytest.fixture
def notebook(wired: FrontEnd, wire: Wire) -> Iterator[FrontEnd]:
    """A front end with widgets; `wire` has heard of nothing yet. A test that fails leaves the kernel idle, too."""
    wire.mark()
    yield wired
    wired.control("interrupt_request")
    wired.run("%help")


def chosen(text: str) -> str:
    """What the cell says that was answered."""
    return "allow_once" if ALLOWED in text else "reject_once" if REJECTED in text else "cancelled"


# -- interrupts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("presses", [1, 2])
def test_an_interrupt_answers_each_open_question_once_with_cancelled(
    notebook: FrontEnd, wire: Wire, presses: int
) -> None:
    asked = Asked(notebook, f"demo: together {' ;; '.join(f'ask {number}' for number in range(5))}", questions=5)
    asked.click(ALLOW, 2)
    notebook.shows(ALLOWED, asked.cell)
    for _ in range(presses):
        notebook.manager.interrupt_kernel()
    outcome = asked.finish()
    assert (outcome.error[0], outcome.text.count(ALLOWED)) == ("Cancelled", 1)
    assert notebook.run("demo: say Alive.").status == "ok"
    if presses == 1:
        assert wire.outcomes(5) == ["allow_once", *["cancelled"] * 4]
    assert len(wire.answers()) <= 5


def test_a_click_and_an_interrupt_at_the_same_time_are_one_answer(notebook: FrontEnd, wire: Wire) -> None:
    for _ in range(5):
        wire.mark()
        asked = Asked(notebook, "demo: ask\nwait")
        asked.click(ALLOW)
        notebook.manager.interrupt_kernel()
        outcome = asked.finish()
        assert (outcome.error[0], wire.outcomes(1)) == ("Cancelled", [chosen(outcome.text)])


def test_an_interrupt_cancels_all_of_many_questions_also_those_that_were_not_shown(
    notebook: FrontEnd, wire: Wire
) -> None:
    asked = Asked(notebook, f"demo: together {' ;; '.join(f'ask Number {number}' for number in range(20))}")
    notebook.manager.interrupt_kernel()
    assert wire.outcomes(20) == ["cancelled"] * 20
    assert asked.finish().error[0] == "Cancelled"
    assert len(wire.answers()) == 20


def test_an_interrupt_cancels_the_form_and_the_turn(notebook: FrontEnd) -> None:
    shown = Picked(notebook, "demo: elicit form\nsay Never said.")
    notebook.manager.interrupt_kernel()
    outcome = shown.finish()
    assert outcome.status == "error", outcome.text
    assert outcome.error == ("Cancelled", "Stopped.")
    assert ("ℹ Cancelled" in outcome.text, "Never said." in outcome.text) == (True, False)


# -- the agent's side -----------------------------------------------------------------------------------------------


def test_a_question_that_the_agent_takes_back_is_answered_once_and_a_line_stays(notebook: FrontEnd, wire: Wire) -> None:
    go = Path(notebook.process.cwd(), "go")
    asked = Asked(notebook, "demo: withdraw go\nsay Done.")
    go.touch()
    notebook.shows("I took my question back.", asked.cell)
    asked.await_standing(0)
    notebook.idle(asked.click(ALLOW))
    text = asked.finish().text
    go.unlink()
    assert ("not run (withdrawn)" in text, "allowed" in text) == (True, False)
    assert wire.outcomes(1) == ["-32800"]


def test_a_tool_call_id_that_repeats_after_its_decision_is_not_born_answered(notebook: FrontEnd, wire: Wire) -> None:
    """Both in one turn and in the next one: that the first was allowed says nothing of the second."""
    call = {"toolCallId": "again", "title": "It", "kind": "other", "status": "pending"}
    options = [
        {"optionId": kind, "kind": kind, "name": name} for kind, name in (("allow_once", ALLOW), ("reject_once", DENY))
    ]
    ask = f"request session/request_permission {json.dumps({'toolCall': call, 'options': options})}"
    for name in (ALLOW, DENY, ALLOW):
        wire.mark()
        asked = Asked(notebook, f"demo: {ask}\nsay Between.\n{ask}")
        asked.click(name)
        notebook.shows("Between.", asked.cell)
        asked.look(1)
        asked.await_standing(1)
        assert asked.cell not in notebook.replies
        asked.click(DENY)
        asked.finish()
        assert wire.outcomes(2) == [{ALLOW: "allow_once", DENY: "reject_once"}[name], "reject_once"]
