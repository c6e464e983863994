"""What happens in VS Code's notebooks, whose front end has ways of its own; see `vs_code.py`. For both kernels."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from copilot_kernel.chat.turn_record import METADATA_KEY
from copilot_kernel.cli.kernelspec import local_spec
from copilot_kernel.config import Settings
from copilot_kernel.output.vs_code import AS_SAVED
from copilot_kernel.prompts.context import SAVE_FIRST
from copilot_kernel.sandbox import unavailable

from ..agent.command import COMMAND
from ..processes import gone, has_argument, running
from .asked import WIDGET_VIEW
from .front_end import ARGV, OPTIONS, kernel_process, parent, until
from .vs_code import VSCode

IMPATIENT = "from copilot_kernel.output import vs_code; vs_code.DRAW_SECONDS = 0.5"
PYTHON = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
MAIN = "import runpy; runpy.run_module('copilot_kernel', run_name='__main__')"
QUESTION = "Use this tool?"


class Window(VSCode):
    """A window, and how a prompt is written in its notebook."""

    def prompt(self, text: str) -> str:
        return f"%%copilot\n{text}" if self.language == "python" else text

    def command(self, text: str) -> str:
        return f"%copilot {text}" if self.language == "python" else text


Open = Callable[..., Window]


@pytest.fixture(params=["copilot", "python"])
def open_window(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Start a kernel and open a notebook with it; `impatient`: it waits half a second for buttons."""
    with ExitStack() as stack:

        def start(
            name: str = "book.ipynb",
            *,
            impatient: bool = False,
            environ: dict[str, str] | None = None,
            draws: bool = True,
        ) -> Window:
            is_python = request.param == "python"
            patched = (sys.executable, "-P", "-c", f"{IMPATIENT}\n{MAIN}", *OPTIONS)
            argv = PYTHON if is_python else patched if impatient else ARGV
            front_end = stack.enter_context(kernel_process(tmp_path, environ or {}, argv))
            language = "python" if is_python else local_spec()["language"]
            window = Window(front_end, tmp_path / "work" / name, language, draws=draws)
            if is_python:
                assert window.run(f"%load_ext copilot_kernel\n{IMPATIENT if impatient else ''}").state == "ok"
            return window

        yield start


def test_an_answer_streams_and_its_record_is_in_the_saved_notebook(open_window: Open) -> None:
    window = open_window()
    for _ in range(2):  # the second one has nothing to import, and begins early
        cell = window.run(window.prompt("demo: say Hello\nslow 30 0.05\nsay Bye"))
    window.save()
    saved = json.loads(window.path.read_text())["cells"][-1]
    records = [each["metadata"][METADATA_KEY] for each in saved["outputs"] if METADATA_KEY in each.get("metadata", {})]
    assert ("Hello" in cell.text, "Bye" in cell.text, len(records), saved["metadata"]) == (True, True, 1, {})
    assert ([each for each in cell.outputs if not _says_something(each)], window.lost) == ([], [])


def _says_something(output: dict) -> bool:
    return output["output_type"] != "display_data" or bool(output["data"]["text/plain"].strip())


def test_a_notebook_saved_by_an_earlier_version_runs(open_window: Open, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    cell = {"cell_type": "code", "id": "old", "metadata": {}, "source": ["say"], "outputs": [], "execution_count": None}
    old = {"cells": [cell], "metadata": {"language_info": {"name": "copilot"}}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "work" / "book.ipynb").write_text(json.dumps(old))
    window = open_window()
    window.cells[0].source = window.prompt("demo: say Hello")
    assert window.run(window.cells[0]).state == "ok"


def test_a_question_is_one_box_that_is_clicked_while_the_cell_runs(open_window: Open) -> None:
    window = open_window()
    cell = window.start(window.prompt("demo: ask"))
    window.until(lambda: window.buttons(cell), "buttons")
    (box,) = cell.views
    in_box = [str(state.get("value")) for state in window.states(box) if state["_model_name"] == "HTMLModel"]
    assert [QUESTION in value for value in in_box].count(True) == 1
    assert [QUESTION in str(each) for each in cell.outputs].count(True) == 1
    window.click(cell, "Allow once")
    window.finish(cell)
    assert (cell.state, window.boxes, cell.views) == ("ok", [], [])
    assert "allowed by you" in cell.text


def test_where_no_buttons_appear_a_box_asks_once_the_question_is_shown_and_from_then_on_at_once(
    open_window: Open,
) -> None:
    window = open_window(draws=False, impatient=True)
    for answer, decided in (("1", "allowed by you"), ("deny", "denied by you"), ("3", "denied by you")):
        cell = window.start(window.prompt("demo: ask"))
        window.type(answer)
        window.finish(cell)
        assert decided in cell.text
        # The box comes on another socket than the outputs: only their dates say in which order the kernel sent them.
        sent = sorted((m for m in window.published if parent(m) == cell.request), key=lambda m: m["header"]["date"])
        asking = [m["msg_type"] for m in sent if QUESTION in str(m["content"])]
        assert (asking.index("input_request") > 0, WIDGET_VIEW in str(sent)) == (True, answer == "1")
    assert len(window.boxes) == 3


def test_escape_in_the_box_asks_again_once(open_window: Open) -> None:
    window = open_window(draws=False, impatient=True)
    cell = window.start(window.prompt("demo: ask"))
    window.escape()
    window.escape()
    window.finish(cell)
    assert (len(window.boxes), "no answer was given" in cell.text) == (2, True)


def test_an_early_question_and_a_status_line_leave_nothing_behind(open_window: Open) -> None:
    """Also those that come before VS Code has cleared the cell's outputs, and where nothing else is shown."""
    window = open_window()
    cell = window.start(window.prompt("demo: ask"))
    window.click(cell, "Deny")
    window.finish(cell)
    stopped = window.start(window.prompt("demo: wait"))
    window.shows(stopped, "◐")
    window.interrupt(stopped)
    assert ("Stopped by you" in stopped.text, "◐" in cell.text + stopped.text, window.lost) == (True, False, [])
    assert [each for each in (*cell.outputs, *stopped.outputs) if not _says_something(each)] == []


@pytest.mark.parametrize("sandbox", ["off", "required"])
def test_an_interrupt_ends_the_cell_but_not_the_agent_which_ends_with_the_kernel(
    open_window: Open, tmp_path: Path, sandbox: str
) -> None:
    if sandbox == "required" and (problem := unavailable(Settings(start_folder=str(tmp_path / "work")))):
        pytest.skip(str(problem))
    window, agents = open_window(environ={"COPILOT_KERNEL_SANDBOX": sandbox}), list[psutil.Process]()
    for code in ("wait", "ask", "wait"):
        cell = window.start(window.prompt(f"demo: say Begun.\nremember\n{code}"))
        window.shows(cell, "prompt")
        agents = agents or _agents(window)
        window.interrupt(cell)
        assert ("Stopped by you" in cell.text, window.boxes, cell.views) == (True, [], [])
    assert "prompt 4 " in window.run(window.prompt("demo: remember")).text
    assert agents == _agents(window) != []
    window.front_end.process.kill()
    until(lambda: all(map(gone, agents)), "the end of the agent")


def _agents(window: Window) -> list[psutil.Process]:
    is_agent, folder = has_argument(COMMAND[-1]), str(window.path.parent)
    return running(lambda process: is_agent(process) and process.cwd() == folder)


def test_the_saved_file_tells_which_cell_asks_and_what_it_did_before_a_restart(
    open_window: Open, tmp_path: Path
) -> None:
    environ = {"COPILOT_KERNEL_ALLOW": '["Edit"]', "COPILOT_KERNEL_RERUN": "keep"}
    environ |= {name: str(tmp_path / name) for name in ("COPILOT_KERNEL_STATE", "COPILOT_KERNEL_DEMO_HOME")}
    window, file = open_window(environ=environ), tmp_path / "work" / "a.txt"
    file.write_text("old\n")
    window.insert("# Notes")
    window.save()
    asking = window.insert(window.prompt("demo: echo @above"))
    assert SAVE_FIRST in str(window.run(asking).outputs)
    window.save()
    assert "notebook:cell/" in window.run(asking).text
    window.run(window.prompt("demo: say Gladly.\nedit a.txt old => new"))
    window.save()
    assert [AS_SAVED in each.text for each in window.cells].count(True) == 1
    window.front_end.process.kill()

    again = open_window(environ=environ)
    file.write_text("old\n")
    kept = again.run(next(cell for cell in again.cells if "Gladly" in cell.source))
    assert ("Not sent (rerun = keep)" in kept.text, "Gladly." in kept.text, file.read_text()) == (True, True, "old\n")
    assert "prompt 3 " in again.run(again.prompt("demo: remember")).text


def test_a_turn_is_undone_with_a_click(open_window: Open, tmp_path: Path) -> None:
    window = open_window(environ={"COPILOT_KERNEL_ALLOW": '["Edit"]'})
    file = tmp_path / "work" / "a.txt"
    file.write_text("old\n")
    window.run(window.prompt("demo: edit a.txt old => new"))
    assert file.read_text() == "new\n"
    undo = window.run(window.command("%undo 1"))
    window.click(undo, "Undo")
    window.shows(undo, "✓ Restored: a.txt")
    assert file.read_text() == "old\n"
    pickers = [window.run(window.command("%mode")) for _ in range(2)]  # the second one closes the first
    assert (window.lost, [len(cell.views) for cell in pickers]) == ([], [0, 1])
    expected = "%copilot %undo 1 restore" if window.language == "python" else "type %undo 1 restore"
    assert expected in str(window.published)


def test_tools_that_change_cells_are_not_offered(open_window: Open) -> None:
    window = open_window(environ={"COPILOT_KERNEL_DEMO": "mcp-http"})
    cell = window.run(window.prompt('demo: notebook insert_cell {"source": "x"}'))
    assert "The notebook has no tool `insert_cell`" in cell.text


def test_a_restart_or_reload_with_a_question_open_ends_it_and_the_conversation_goes_on(
    open_window: Open, tmp_path: Path
) -> None:
    environ = {name: str(tmp_path / name) for name in ("COPILOT_KERNEL_STATE", "COPILOT_KERNEL_DEMO_HOME")}
    window = open_window(environ=environ)
    window.insert("# Notes")
    window.save()
    window.run(window.prompt("demo: remember"))
    cell = window.start(window.prompt("demo: ask"))
    window.until(lambda: window.buttons(cell), "buttons")
    window.save()
    agents = _agents(window)
    window.front_end.process.kill()
    until(lambda: all(map(gone, agents)), "the end of the agent")

    again = open_window(environ=environ)
    (left,) = [each for each in json.loads(window.path.read_text())["cells"] if "ask" in "".join(each["source"])]
    assert QUESTION in str(left["outputs"])
    asked = again.start(next(each for each in again.cells if each.id == left["id"]))
    again.click(asked, "Deny")
    again.finish(asked)
    assert ("denied by you" in asked.text, again.boxes) == (True, [])
    assert "prompt 4 " in again.run(again.prompt("demo: remember")).text


def test_a_notebook_goes_from_vs_code_to_jupyterlab_and_back(open_window: Open, tmp_path: Path) -> None:
    """JupyterLab names cells by their ids in the file, and keeps the outputs that VS Code has written."""
    environ = {"COPILOT_KERNEL_ALLOW": '["Edit"]', "COPILOT_KERNEL_RERUN": "keep"}
    environ |= {name: str(tmp_path / name) for name in ("COPILOT_KERNEL_STATE", "COPILOT_KERNEL_DEMO_HOME")}
    window, file = open_window(environ=environ), tmp_path / "work" / "a.txt"
    file.write_text("old\n")
    window.insert("# Notes")
    window.save()
    window.run(window.prompt("demo: say Gladly.\nedit a.txt old => new"))
    window.save()
    (cell,) = [each for each in window.cells if "Gladly" in each.source]
    window.front_end.process.kill()

    lab = open_window(environ={**environ, "JPY_SESSION_NAME": str(window.path)})
    again = next(each for each in lab.cells if each.id == cell.id)
    for uri in (cell.id, again.uri):
        file.write_text("old\n")
        again.uri = uri
        kept = lab.run(again)
        assert ("Not sent (rerun = keep)" in kept.text, file.read_text()) == (True, "old\n")
