"""The extension itself: the cell that loads it, and what is left and gone on with when it is unloaded or reloaded."""

from ..jupyter.front_end import FrontEnd, Outcome
from .conftest import LOAD, StartKernel
from .test_notebook import results, value

TRANSFORMERS = """
manager = get_ipython().input_transformer_manager
ours = [*manager.token_transformers, *(each.__func__ for each in manager.line_transforms if hasattr(each, "__func__"))]
ours += [each.__func__ for each in get_ipython().input_transformers_post]
[each.__qualname__ for each in ours if each.__module__.startswith("copilot_kernel")]
"""
FUNCTION = "def ask():\n    turn = %copilot demo: say Only once\n    return turn\n"
CHOOSE_OTHER = "import os; os.environ['COPILOT_KERNEL_AGENT'] = 'nobody'\n%reload_ext copilot_kernel"


def said(outcome: Outcome, words: str) -> int:
    """How often a reader sees them, in whatever kind of output."""
    return outcome.text.count(words) + sum(data["text/plain"].count(words) for data in results(outcome))


# -- the cell that loads it -----------------------------------------------------------------------------------------


def test_in_the_cell_that_loads_it_an_answer_is_shown_once(start_kernel: StartKernel) -> None:
    front_end, cell = start_kernel(load=False), f"{LOAD}\n%copilot demo: say Same cell"
    outcome = front_end.run(cell)
    assert (outcome.status, said(outcome, "Same cell"), results(outcome)) == ("ok", 1, [])
    outcome = front_end.run(cell)
    assert (said(outcome, "Same cell"), results(outcome)) == (1, [])
    assert value(front_end, "_copilot") == "Same cell"


def test_there_a_question_is_a_line_of_input_and_buttons_work_in_the_next(start_kernel: StartKernel) -> None:
    front_end = start_kernel(load=False)
    cell = front_end.execute(f"{LOAD}\n%copilot demo: ask Something")
    front_end.type("1")
    assert "allowed by you" in front_end.finish(cell).text
    cell = front_end.execute("%copilot demo: ask Something")
    front_end.click(front_end.button("Allow once"))
    assert "allowed by you" in front_end.finish(cell).text
    assert not front_end.client.stdin_channel.msg_ready()


# -- an answer that the cell has shown ------------------------------------------------------------------------------


def test_an_answer_is_not_shown_again_as_the_value_of_its_cell(notebook: FrontEnd) -> None:
    outcome = notebook.run(f"{FUNCTION}ask()")
    assert (said(outcome, "Only once"), results(outcome)) == (1, [])
    outcome = notebook.run("turn = %copilot demo: say Only once\nturn")
    assert (said(outcome, "Only once"), results(outcome)) == (1, [])
    assert value(notebook, "_copilot") == value(notebook, "turn") == "Only once"


def test_an_answer_that_was_captured_is_shown_as_the_value_of_its_cell(notebook: FrontEnd) -> None:
    capturing = "from IPython.utils.capture import capture_output\nwith capture_output():\n    turn = ask()\nturn"
    outcome = notebook.run(FUNCTION + capturing)
    assert (said(outcome, "Only once"), len(results(outcome))) == (1, 1)


# -- unloaded and loaded again --------------------------------------------------------------------------------------


def test_it_can_be_unloaded_and_loaded_again(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    front_end.run("%copilot demo: say Hello")
    agents, transformers = front_end.children(), value(front_end, TRANSFORMERS)
    assert front_end.run("%unload_ext copilot_kernel").status == "ok"
    assert (len(agents), front_end.children(), value(front_end, TRANSFORMERS)) == (1, [], "[]")
    assert front_end.run("%copilot demo: say Hello").status == "error"
    assert value(front_end, "'copilot' in get_ipython().magics_manager.magics['line']") == "False"
    assert value(front_end, "hasattr(get_ipython(), 'copilot')") == "False"
    printers = "get_ipython().display_formatter.ipython_display_formatter"
    known = f"[*{printers}.type_printers, *{printers}.deferred_printers]"
    assert "copilot_kernel" not in value(front_end, known)
    for _ in range(2):
        assert front_end.run("%reload_ext copilot_kernel").status == "ok"
    assert said(front_end.run("%copilot demo: say Again"), "Again") == 1
    assert (len(front_end.children()), value(front_end, TRANSFORMERS)) == (1, transformers)
    assert front_end.complaints() == []


def test_if_the_end_of_the_agent_fails_nothing_stays_hooked_and_it_can_be_loaded_again(
    start_kernel: StartKernel,
) -> None:
    front_end = start_kernel()
    front_end.run("%copilot demo: say Hello")
    fails = "def fails():\n    raise OSError('no end')\nget_ipython().copilot.close = fails\n%unload_ext copilot_kernel"
    outcome = front_end.run(fails)
    assert (outcome.status, value(front_end, TRANSFORMERS)) == ("error", "[]")
    assert value(front_end, "'copilot' in get_ipython().magics_manager.magics['line']") == "False"
    assert value(front_end, "hasattr(get_ipython(), 'copilot')") == "False"
    assert front_end.run("%reload_ext copilot_kernel").status == "ok"
    assert said(front_end.run("%copilot demo: say Again"), "Again") == 1


def test_a_variable_that_a_cell_sets_is_no_setting(start_kernel: StartKernel) -> None:
    front_end = start_kernel()
    front_end.run("%copilot demo: say Hello")
    outcome = front_end.run(f"{CHOOSE_OTHER}\n%copilot demo: remember")
    assert said(outcome, "This is prompt 1") == 1
