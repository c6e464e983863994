"""A question in a cell, seen from a front end: buttons that work while the cell runs, and none of them afterwards."""

from pathlib import Path

import pytest

from .asked import Asked, Picked, opened
from .conftest import StartKernel
from .front_end import LIMIT, FrontEnd

# -- buttons --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_questions_are_answered_in_any_order(notebook: FrontEnd, order: tuple[int, int]) -> None:
    asked = Asked(notebook, "demo: ask2", questions=2)
    names = ("Allow once", "Deny")
    for number in order:
        asked.click(names[number], number)
        notebook.shows(("allowed", "denied")[number], asked.cell)
    text = asked.finish().text
    places = [text.index(words) for words in ("first", "allowed by you", "second", "denied by you")]
    assert places == sorted(places), text


# -- a line of input ------------------------------------------------------------------------------------------------


def test_without_a_notebook_cell_the_question_is_a_line_of_input(notebook: FrontEnd) -> None:
    cell = notebook.execute("demo: ask", cell_id=None)
    prompt = notebook.type("1")["content"]["prompt"]
    outcome = notebook.finish(cell)
    assert (
        prompt
        == "1) Allow once  2) Always allow (the agent remembers it)  3) Deny (“3 because …” tells the agent why): "
    )
    assert ("allowed by you" in outcome.text, opened(notebook, cell)) == (True, set())


def test_where_no_widgets_were_seen_both_ways_are_open(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    for way in ("click", "type"):
        asked = Asked(front_end, "demo: ask")
        front_end.client.get_stdin_msg(timeout=LIMIT)
        if way == "click":
            asked.click("Deny")
        else:
            front_end.client.input("deny")
        assert "denied by you" in asked.finish().text
    assert front_end.complaints() == []


# -- nobody ---------------------------------------------------------------------------------------------------------


def test_in_batch_nothing_is_updated_and_what_is_over_is_shown_before_the_end(notebook: FrontEnd) -> None:
    cell = notebook.execute("demo: say Begun.\nunasked echo out\nsay Waiting.\nunasked true\nwait", live=False)
    notebook.shows("Waiting.", cell)
    assert cell not in notebook.replies
    notebook.manager.interrupt_kernel()
    kinds = {m["msg_type"] for m in notebook.finish(cell).outputs}
    assert kinds == {"display_data", "error"}


# -- pickers --------------------------------------------------------------------------------------------------------


def test_a_session_is_picked_and_what_was_said_is_shown(start_kernel: StartKernel, tmp_path: Path) -> None:
    own = {name: str(tmp_path / name) for name in ("COPILOT_KERNEL_DEMO_HOME", "COPILOT_KERNEL_STATE")}
    kernel = start_kernel(**own)
    kernel.open_control()
    for code in ("%new", "demo: say Apples", "%new", "demo: say Pears"):
        kernel.run(code)
    for code in ("%sessions", "%resume"):
        shown = Picked(kernel, code)
        kernel.finish(shown.cell)
        kernel.press(next(key for key, state in shown.models().items() if "Apples" in str(state.get("tooltip"))))
        kernel.shows("say Apples", shown.cell)
        kernel.shows("Resumed: ", shown.cell)
