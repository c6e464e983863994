"""A question in a cell, seen from a front end: answered while the cell runs, and over when the cell is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from copilot_kernel.rendering.question import DECIDED

from ..processes import gone
from .asked import ALLOW, DENY, Asked, Picked, Wire
from .conftest import StartKernel
from .ending import by_shutdown
from .front_end import LIMIT, FrontEnd, is_output, until

# -- a line of input ------------------------------------------------------------------------------------------------


def test_where_no_widgets_were_seen_both_ways_are_open(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    for way in ("click", "type"):
        asked = Asked(front_end, "demo: ask")
        front_end.client.get_stdin_msg(timeout=LIMIT)
        if way == "click":
            asked.click(DENY)
        else:
            front_end.client.input("deny")
        assert "denied by you" in asked.finish().text
    assert front_end.complaints() == []


def test_in_a_console_what_was_typed_for_the_first_description_does_not_allow_the_second(
    wired: FrontEnd, wire: Wire
) -> None:
    """A console goes on showing the first prompt; the line that it sends does not say which one it is for."""
    wire.mark()
    folder = Path(wired.process.cwd())
    cell = wired.execute("demo: swap echo one > one.txt => echo two > two.txt => go", cell_id=None)
    for deny in ("3) Deny", "2) Deny"):  # a call that has changed is never allowed for always
        prompt = wired.client.get_stdin_msg(timeout=LIMIT)["content"]["prompt"]
        assert ("1) Allow once" in prompt, deny in prompt) == (True, True)
        (folder / "go").touch()
    for line in ("1", "2"):
        wired.client.input(line)
    outcome = wired.finish(cell)
    assert (wire.outcomes(1), "denied by you" in outcome.text) == (["reject_once"], True)
    assert not (folder / "two.txt").exists()


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


# -- interrupts -----------------------------------------------------------------------------------------------------


def several(count: int) -> str:
    return f"together {' ;; '.join(f'ask Number {number}' for number in range(count))}"


def test_a_click_and_an_interrupt_at_the_same_time_are_one_answer(wired: FrontEnd, wire: Wire) -> None:
    for _ in range(5):
        wire.mark()
        asked = Asked(wired, "demo: ask\nwait")
        asked.click(ALLOW)
        wired.manager.interrupt_kernel()
        outcome = asked.finish()
        chosen = "allow_once" if "allowed by you" in outcome.text else "cancelled"
        assert (outcome.error[0], wire.outcomes(1)) == ("Cancelled", [chosen])


def test_an_interrupt_cancels_all_of_many_questions_also_those_that_were_not_shown(wired: FrontEnd, wire: Wire) -> None:
    wire.mark()
    asked = Asked(wired, f"demo: {several(20)}")
    asked.click(ALLOW)
    wired.shows("allowed by you", asked.cell)
    wired.manager.interrupt_kernel()
    assert asked.finish().error[0] == "Cancelled"
    assert wire.outcomes(20) == ["allow_once", *["cancelled"] * 19]


# -- the kernel ends ------------------------------------------------------------------------------------------------


def by_restart(front_end: FrontEnd) -> None:
    """As JupyterLab does: the kernel is asked to end, and started again on the same connection."""
    front_end.manager.restart_kernel()


@pytest.mark.parametrize("end", [by_restart, by_shutdown])
def test_a_kernel_that_is_told_to_end_closes_its_questions_first(
    start_kernel: StartKernel, end: Callable[[FrontEnd], None]
) -> None:
    kernel = start_kernel()
    kernel.open_control()
    asked = Asked(kernel, f"demo: say Before.\\n\\n\n{several(2)}", questions=2)
    (agent,) = kernel.children()
    end(kernel)
    until(lambda: gone(agent), "the agent's end")
    kernel.see(lambda m: is_output(m, asked.cell) and "■ Stopped" in str(m["content"]))
    text = "\n".join(bundle["text/plain"] for bundle in asked.outputs())
    assert (asked.standing(), text.count("not run ("), "Before." in text, DECIDED in text) == ([], 2, True, False)
    if end is by_restart:
        kernel.client.wait_for_ready(timeout=LIMIT)
        kernel.open_control()
        again = Asked(kernel, "demo: ask")
        kernel.idle(kernel.press(asked.button(ALLOW)))
        again.click(DENY)
        assert "denied by you" in again.finish().text
        assert kernel.complaints() == []
