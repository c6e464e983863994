"""A question in a cell, seen from a front end: buttons that work while the cell runs, and none of them afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from .asked import WIDGET_VIEW, Asked, opened
from .conftest import StartKernel
from .front_end import LIMIT, FrontEnd


@pytest.fixture(scope="module")
def notebook(front_end: FrontEnd) -> FrontEnd:
    """A front end that has shown that it has widgets."""
    front_end.open_control()
    return front_end


# -- buttons --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line", "after"),
    [
        ("Allow once", "Allowed: Allow once (you)", "new\n"),
        ("Deny", "Rejected: Deny (you)", "old\n"),
    ],
)
def test_a_click_while_the_cell_runs_decides_what_happens(notebook: FrontEnd, name: str, line: str, after: str) -> None:
    file = Path(notebook.process.cwd(), "a.txt")
    file.write_text("old\n")
    asked = Asked(notebook, "demo: edit a.txt old => new")
    assert (asked.cell in notebook.replies, file.read_text()) == (False, "old\n")
    asked.click(name)
    assert line in asked.finish().text
    assert file.read_text() == after


def test_the_question_shows_what_is_asked_in_words_and_html_above_the_buttons(notebook: FrontEnd) -> None:
    asked = Asked(notebook, "demo: shell echo one && echo two")
    question, buttons = asked.outputs()[-2:]
    asked.click("Deny")
    asked.finish()
    assert (set(question), set(buttons)) == ({"text/plain", "text/html"}, {WIDGET_VIEW, "text/plain"})
    assert "echo one && echo two" in question["text/plain"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_questions_are_answered_in_any_order(notebook: FrontEnd, order: tuple[int, int]) -> None:
    asked = Asked(notebook, "demo: ask2", questions=2)
    names = ("Allow once", "Deny")
    for number in order:
        asked.click(names[number], number)
        notebook.shows(("Allowed", "Rejected")[number], asked.cell)
    text = asked.finish().text
    places = [text.index(words) for words in ("first", "Allowed: Allow once (you)", "second", "Rejected: Deny (you)")]
    assert places == sorted(places), text


def test_an_interrupt_takes_the_question_away_and_a_click_after_it_is_nothing(notebook: FrontEnd) -> None:
    asked = Asked(notebook, "demo: ask2", questions=2)
    notebook.manager.interrupt_kernel()
    outcome = asked.finish()
    notebook.idle(asked.click("Allow once"))
    assert outcome.error == ("Cancelled", "The turn was cancelled.")
    assert "Allowed" not in outcome.text
    assert notebook.run("demo: say Alive.").status == "ok"


def test_the_agents_own_options_are_the_buttons(notebook: FrontEnd) -> None:
    options = "options allow_once=<b>Sure</b>;reject_once=Not now;reject_always=Never"
    asked = Asked(notebook, f"demo: {options}\nask")
    ours = ["Reject with a reason…", "Reject & tell", "Back"]
    assert [name for name in asked.names() if name not in ours] == [
        "<b>Sure</b>",
        "Not now",
        "Never (kept by the agent)",
    ]
    asked.click("Never (kept by the agent)")
    assert "Rejected: Never (you)" in asked.finish().text


# -- a line of input ------------------------------------------------------------------------------------------------


def test_without_a_notebook_cell_the_question_is_a_line_of_input(notebook: FrontEnd) -> None:
    cell = notebook.execute("demo: ask", cell_id=None)
    prompt = notebook.client.get_stdin_msg(timeout=LIMIT)["content"]["prompt"]
    notebook.client.input("1")
    outcome = notebook.finish(cell)
    assert prompt == "1) Allow once  2) Always allow (kept by the agent)  3) Deny (“3 because …” tells the agent why): "
    assert ("Allowed: Allow once (you)" in outcome.text, opened(notebook, cell)) == (True, set())


def test_an_interrupt_ends_a_line_of_input(notebook: FrontEnd) -> None:
    cell = notebook.execute("demo: ask", cell_id=None)
    notebook.client.get_stdin_msg(timeout=LIMIT)
    notebook.manager.interrupt_kernel()
    assert notebook.finish(cell).error[0] == "Cancelled"


def test_where_no_widgets_were_seen_both_ways_are_open(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    for way in ("click", "type"):
        asked = Asked(front_end, "demo: ask")
        front_end.client.get_stdin_msg(timeout=LIMIT)
        if way == "click":
            asked.click("Deny")
        else:
            front_end.client.input("deny")
        assert "Rejected: Deny (you)" in asked.finish().text
    assert front_end.complaints() == []


# -- nobody ---------------------------------------------------------------------------------------------------------


def test_in_batch_nothing_is_updated_and_what_is_over_is_shown_before_the_end(notebook: FrontEnd) -> None:
    cell = notebook.execute("demo: say Begun.\nunasked echo out\nsay Waiting.\nunasked true\nwait", live=False)
    notebook.shows("Waiting.", cell)
    assert cell not in notebook.replies
    notebook.manager.interrupt_kernel()
    kinds = {m["msg_type"] for m in notebook.finish(cell).outputs}
    assert kinds == {"display_data", "error"}
