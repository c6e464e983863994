"""What goes with a prompt from a Python notebook, seen from its front end; the agent says what it has got."""

import pytest

from ..jupyter.front_end import FrontEnd
from .conftest import LOAD, StartKernel
from .test_notebook import value

FAILING = "prices = {'pear': 2}\nprices['apple']"
ECHO = "%%copilot\ndemo: echo"


def test_a_failed_cell_goes_with_the_next_prompt_and_not_with_the_one_after(notebook: FrontEnd) -> None:
    notebook.run(FAILING)
    outcome = notebook.run(ECHO)
    assert "the error in the last cell" in outcome.text
    assert all(words in outcome.text for words in ("resource: notebook:error", "prices[\\'apple\\']", "KeyError:"))
    shown = notebook.run("%copilot %context").text
    assert "error in the last cell" in shown
    assert "notebook:error" not in notebook.run(ECHO).text


def test_a_prompt_that_was_not_sent_loses_nothing(notebook: FrontEnd) -> None:
    notebook.run(FAILING)
    outcome = notebook.run("%%copilot\ndemo: echo @var:nonsense")
    assert (outcome.error[0], "Unknown variable 'nonsense'" in outcome.text) == ("UsageError", True)
    assert "notebook:error" in notebook.run(ECHO).text


@pytest.mark.parametrize("fix", ["%copilot fix", "%%copilot\nfix"])
def test_fix_sends_the_values_involved_and_needs_a_failed_cell(notebook: FrontEnd, fix: str) -> None:
    notebook.run(FAILING)
    assert notebook.run(fix, live=False).status == "ok"
    sent = "get_ipython().copilot._session.kernel_session.runner.chat.sent[0].text"
    assert "prices: dict 1" in value(notebook, sent)
    assert "No failed cell" in notebook.run("%copilot fix").text


def test_the_cell_may_have_failed_before_a_front_end_loads_the_extension(start_kernel: StartKernel) -> None:
    kernel = start_kernel(load=False)
    kernel.run(FAILING)
    kernel.run(LOAD, silent=True, store_history=False)
    assert "error in the last cell" in kernel.run(ECHO).text


# -- completion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("%%copilot\nWhy @", {"error", "above", "cell:", "var:"}),
        ("%%copilot\nWhy @var:prices_o", {"var:prices_of_fruit"}),
        ("x = 1\n%copilot fix @er", {"error"}),
    ],
)
def test_mentions_are_completed_in_prompts(notebook: FrontEnd, code: str, found: set[str]) -> None:
    notebook.run("prices_of_fruit = 1; _private = 2")
    reply = notebook.ask("complete_request", {"code": code, "cursor_pos": len(code)})
    assert (set(reply["matches"]), reply["cursor_start"]) == (found, code.rindex("@") + 1)


def test_elsewhere_completion_is_ipythons(notebook: FrontEnd) -> None:
    notebook.run("get_ipython().Completer.use_jedi = False\nimport os")  # jedi takes seconds to begin
    code = "@os.pat"
    assert ".path" in notebook.ask("complete_request", {"code": code, "cursor_pos": len(code)})["matches"]
