"""`%%copilot` on ipykernel's own kernel, seen from a front end: what a cell shows, gives and does to the others."""

from __future__ import annotations

from typing import Any

import pytest

from ..jupyter.front_end import FrontEnd, Outcome
from .conftest import StartKernel

CATCHING = """
from copilot_kernel.errors import CopilotError
try:
    %copilot demo: error -32603 No
except CopilotError as error:
    print('caught', error)
"""


def results(outcome: Outcome) -> list[dict[str, Any]]:
    return [m["content"]["data"] for m in outcome.outputs if m["msg_type"] == "execute_result"]


def value(notebook: FrontEnd, expression: str) -> str:
    """What an expression is, as Python writes it."""
    return str(results(notebook.run(expression))[0]["text/plain"])


# -- what a cell shows and gives ----------------------------------------------------------------------------------


def test_an_answer_is_a_value_that_is_not_shown_twice(notebook: FrontEnd) -> None:
    outcome = notebook.run("%copilot demo: say Here it is: `x`\\n\\n```py\\nx = 1\\n```")
    assert (outcome.text.count("Here it is"), results(outcome)) == (1, [])
    assert value(notebook, "_copilot.code_blocks[0]") == "CodeBlock(language='py', code='x = 1\\n')"
    assert value(notebook, "repr(_copilot)").startswith("'<Turn end_turn, ")
    shown = results(notebook.run("_copilot"))[0]
    assert ("Here it is" in shown["text/plain"], "<code" in shown["text/html"]) == (True, True)


def test_an_answer_can_be_assigned(notebook: FrontEnd) -> None:
    outcome = notebook.run("turn = %copilot demo: say What is it?\nturn.text, turn is _copilot")
    assert results(outcome)[0]["text/plain"] == "('What is it?', True)"


def test_variables_are_filled_in_and_what_is_not_is_told(notebook: FrontEnd) -> None:
    outcome = notebook.run("n, name = 20, 'Ada'\n%copilot demo: say {n + 1} for $name, $5")
    assert "21 for Ada, $5" in outcome.text
    outcome = notebook.run("%%copilot\ndemo: say {n} and {unknown}")
    assert "{n} and {unknown}" in outcome.text
    assert "Expressions in braces were not filled in (NameError: name 'unknown' is not defined)" in outcome.text


def test_in_a_loop_each_turn_is_awaited(notebook: FrontEnd) -> None:
    outcome = notebook.run(
        "texts = []\nfor n in 1, 2:\n    %copilot demo: say turn {n}\n    texts.append(str(_copilot))\ntexts"
    )
    assert results(outcome)[0]["text/plain"] == "['turn 1', 'turn 2']"


def test_in_a_function_it_blocks_and_sees_the_functions_variables(notebook: FrontEnd) -> None:
    outcome = notebook.run("def f(x):\n    answer = %copilot demo: say {x}\n    return answer.text\nf(7)")
    assert results(outcome)[0]["text/plain"] == "'7'"


def test_what_is_captured_is_not_shown(notebook: FrontEnd) -> None:
    outcome = notebook.run("%%capture captured\n%copilot demo: say Hidden")
    assert (outcome.status, outcome.outputs) == ("ok", [])
    outcome = notebook.run("'Hidden' in captured.stdout, _copilot.text")
    assert results(outcome)[0]["text/plain"] == "(True, 'Hidden')"


def test_a_magic_that_runs_another_cell_is_not_disturbed(notebook: FrontEnd) -> None:
    outcome = notebook.run("%%time\n%copilot demo: say Timed")
    assert (outcome.status, "Timed" in outcome.text, "Wall time" in outcome.text) == ("ok", True, True)


@pytest.mark.parametrize("cell", ["%copilot", "%%copilot", "%%copilot\n\n"])
def test_without_a_prompt_it_says_how_it_is_used(notebook: FrontEnd, cell: str) -> None:
    outcome = notebook.run(cell)
    assert (outcome.status, "%copilot PROMPT" in outcome.text) == ("ok", True)


@pytest.mark.parametrize("cell", ["%copilot %status", "%%copilot %status", "%%copilot\n%status", "%copilot /status"])
def test_commands_are_the_kernels(notebook: FrontEnd, cell: str) -> None:
    text = notebook.run(cell).text
    assert ("Agent" in text, "demo" in text) == (True, True)


def test_a_command_is_no_answer(notebook: FrontEnd) -> None:
    notebook.run("%copilot demo: say An answer")
    assert value(notebook, "[_copilot.text]") == "['An answer']"
    outcome = notebook.run("nothing = %copilot %permissions\nnothing is None, _copilot.text")
    assert results(outcome)[0]["text/plain"] == "(True, 'An answer')"


def test_a_file_goes_along_with_the_prompt_below_it(notebook: FrontEnd) -> None:
    notebook.run("open('note.txt', 'w').write('x')")
    assert "note.txt" in notebook.run("%%copilot\n%attach note.txt\ndemo: echo").text


# -- errors and interrupts ------------------------------------------------------------------------------------------


def test_an_error_is_a_card_and_one_short_line_and_what_waits_is_aborted(notebook: FrontEnd) -> None:
    cell = notebook.execute("%%copilot\ndemo: ask Now?\nerror -32603 No such luck")
    queued = notebook.execute("1 + 1")  # it has arrived before the click has
    notebook.click(notebook.button("Allow once"))
    outcome = notebook.finish(cell)
    assert (outcome.error[0], "No such luck" in outcome.error[1]) == ("AgentRefused", True)
    assert outcome.reply["content"]["traceback"] == ["AgentRefused, see above"]
    assert "No such luck" in outcome.text
    assert notebook.finish(queued).status == "aborted"
    batch = notebook.run("%copilot demo: error -32603 No such luck", live=False)
    assert batch.reply["content"]["traceback"] == ["AgentRefused: No such luck"]


def test_an_error_can_be_caught(notebook: FrontEnd) -> None:
    outcome = notebook.run(CATCHING)
    assert (outcome.status, "caught No" in outcome.text) == ("ok", True)


def test_a_late_chunk_goes_to_the_cell_of_its_turn(notebook: FrontEnd) -> None:
    cell = notebook.execute("%%copilot\ndemo: say First.\nlate And late.")
    notebook.run("import asyncio; await asyncio.sleep(0.3)")
    notebook.shows("And late.", cell)


# -- the extension itself -------------------------------------------------------------------------------------------


def test_loading_loads_nothing_of_the_agent(start_kernel: StartKernel) -> None:
    loaded = "import sys; [m for m in sys.modules if m.startswith(('copilot_', 'anyio', 'markdown_it', 'ipywidgets'))]"
    names = value(start_kernel(), loaded)
    rooms = ("", ".extension", ".transform")
    assert sorted(eval(names)) == ["copilot_kernel", *(f"copilot_kernel.ipython{name}" for name in rooms)]
