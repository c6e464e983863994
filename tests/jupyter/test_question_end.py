"""What becomes of an open question when its agent, its kernel or its notebook's session ends."""

from collections.abc import Callable

import psutil
import pytest
from copilot_kernel.rendering.question import DECIDED

from ..processes import gone
from .asked import ALLOW, DENY, Asked
from .conftest import StartKernel
from .ending import by_shutdown
from .front_end import LIMIT, FrontEnd, is_output, until

QUESTION = DECIDED


@pytest.fixture
def notebook(start_kernel: StartKernel) -> FrontEnd:
    """A kernel of the test's own, which it ends."""
    front_end = start_kernel()
    front_end.open_control()
    return front_end


@pytest.fixture(scope="module")
def shared(front_end: FrontEnd) -> FrontEnd:
    front_end.open_control()
    return front_end


def several(count: int) -> str:
    return f"together {' ;; '.join(f'ask Number {number}' for number in range(count))}"


def agent_of(front_end: FrontEnd) -> psutil.Process:
    (agent,) = front_end.children()
    return agent


# -- the agent ends -------------------------------------------------------------------------------------------------


def test_the_death_of_the_agent_ends_the_cell_and_its_questions(shared: FrontEnd) -> None:
    notebook, count = shared, 4
    asked = Asked(notebook, f"demo: {several(count)}", questions=count)
    agent_of(notebook).kill()
    outcome = asked.finish()
    assert outcome.error[0] == "AgentExited"
    assert (outcome.text.count("not run ("), QUESTION in outcome.text) == (count, False)
    notebook.idle(asked.click(ALLOW))
    assert notebook.run("demo: say Back.").status == "ok"
    assert notebook.complaints() == []


# -- the kernel ends ------------------------------------------------------------------------------------------------


def by_restart(front_end: FrontEnd) -> None:
    """As JupyterLab does: the kernel is asked to end, and started again on the same connection."""
    front_end.manager.restart_kernel()


@pytest.mark.parametrize("end", [by_restart, by_shutdown])
def test_a_kernel_that_is_told_to_end_closes_its_questions_first(
    notebook: FrontEnd, end: Callable[[FrontEnd], None]
) -> None:
    asked = Asked(notebook, f"demo: say Before.\\n\\n\n{several(2)}", questions=2)
    agent = agent_of(notebook)
    end(notebook)
    until(lambda: gone(agent), "the agent's end")
    notebook.see(lambda m: is_output(m, asked.cell) and "■ Stopped" in str(m["content"]))
    text = "\n".join(bundle["text/plain"] for bundle in asked.outputs())
    assert (asked.standing(), text.count("not run ("), "Before." in text) == ([], 2, True)
    assert QUESTION not in text
    if end is by_restart:
        notebook.client.wait_for_ready(timeout=LIMIT)
        notebook.open_control()
        notebook.idle(notebook.press(asked.button(ALLOW)))
        again = Asked(notebook, "demo: ask")
        notebook.idle(notebook.press(asked.button(ALLOW)))
        again.click(DENY)
        assert "denied by you" in again.finish().text
        assert notebook.complaints() == []


def test_a_kernel_that_is_killed_leaves_no_agent_and_a_cell_that_reads_as_a_question(notebook: FrontEnd) -> None:
    """Nobody can say a last word here: what stands in the notebook must not look like a decision."""
    asked = Asked(notebook, "demo: shell echo one && echo two")
    agent = agent_of(notebook)
    notebook.process.kill()
    until(lambda: gone(agent), "the agent's end")
    text = "\n".join(bundle["text/plain"] for bundle in asked.outputs())
    assert (QUESTION in text, "echo one && echo two" in text) == (True, True)
    assert not any(word in text for word in ("allowed", "denied", "not run"))
