"""IPython in a terminal: no kernel, no widgets, and Ctrl-C."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pexpect
import psutil
import pytest
from copilot_kernel.ipython.cell import shell_cell

from ..agent.command import COMMAND
from ..jupyter.front_end import no_settings, until
from ..jupyter.terminals import enter, in_terminal, interrupt
from ..limits import LIMIT
from ..processes import children, gone, has_argument
from .playing import SETUP

IPYTHON = ("-P", "-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-confirm-exit", "--no-banner")
BLOCKING = "import time; [time.sleep(0.1) for _ in range(600)]"
"""A signal between Python's last look for one and the beginning of a single long `sleep` would wait for its end."""
ASKED = r"1\) Allow once.*: "


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, **no_settings(folder), "TERM": "dumb", "COPILOT_KERNEL_AGENT": "demo"}


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn]:
    argv = (sys.executable, *IPYTHON, "--ext=copilot_kernel")
    with in_terminal(argv, tmp_path, environment(tmp_path)) as child:
        child.expect(r"In \[1\]:", timeout=LIMIT)
        yield child


def agents(terminal: pexpect.spawn) -> list[psutil.Process]:
    return children(terminal.pid, has_argument(COMMAND[-1]))


@pytest.fixture
def agent(terminal: pexpect.spawn) -> psutil.Process:
    """The agent that has answered in the terminal's first cell."""
    enter(terminal, "%copilot demo: say Ready", r"In \[2\]:")
    (agent,) = agents(terminal)
    return agent


def test_an_answer_is_printed_and_is_a_value(terminal: pexpect.spawn) -> None:
    enter(terminal, "%copilot demo: say Is this it?", "\r\nIs this it\\?\r\n", r"In \[2\]:")
    assert "Out[" not in terminal.before
    enter(terminal, "turn = %copilot demo: say Once more", "\r\nOnce more\r\n", r"In \[3\]:")
    enter(terminal, "repr(turn), turn is _copilot", r"Out\[3\]: \('<Turn end_turn, 9 characters>', True\)")
    enter(terminal, "_copilot", r"Out\[4\]: Once more")


def test_a_question_is_asked_and_answered(terminal: pexpect.spawn) -> None:
    enter(terminal, "%copilot demo: ask Something", ASKED)
    enter(terminal, "perhaps", ASKED)
    enter(terminal, "1", "allowed by you", r"In \[2\]:")


async def test_a_question_that_was_withdrawn_is_not_asked_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: prompts.append(prompt) or "yes")
    calls: SimpleQueue[Any] = SimpleQueue()
    cell = shell_cell(None, calls, live=True)
    first, second = (asyncio.create_task(cell.input(prompt)) for prompt in ("First? ", "Second? "))
    withdrawn = await asyncio.to_thread(calls.get, timeout=LIMIT)
    first.cancel()
    for ask in (withdrawn, await asyncio.to_thread(calls.get, timeout=LIMIT)):
        ask.function()
    assert (await asyncio.wait_for(second, LIMIT), prompts) == ("yes", ["Second? "])


@pytest.mark.parametrize(
    ("doing", "sign"), [("slow 100000 0.05", "3 4 "), ("ask Something", ASKED), ("together slow 1 0 ;; wait", r"\n1 ")]
)
def test_ctrl_c_cancels_the_turn(terminal: pexpect.spawn, agent: psutil.Process, doing: str, sign: str) -> None:
    enter(terminal, f"%copilot demo: {doing}", sign)
    interrupt(terminal)
    terminal.expect(r"■ Stopped by you after \d[^\r]* s\r\n")
    assert "Traceback" not in terminal.before
    terminal.expect(r"In \[3\]:")
    assert agents(terminal) == [agent]

    enter(terminal, "%copilot demo: ask Something else", ASKED)
    enter(terminal, "1", "allowed by you")


def test_an_error_is_a_card_and_a_name(terminal: pexpect.spawn) -> None:
    enter(
        terminal, "%copilot demo: error -32603 No such luck", r"✗ No such luck[\s\S]*\r\nAgentRefused: No such luck\r\n"
    )
    assert "Traceback" not in terminal.before


@pytest.mark.usefixtures("agent")
def test_the_users_own_loop_and_ctrl_c_are_pythons(terminal: pexpect.spawn) -> None:
    enter(terminal, "import asyncio; await asyncio.sleep(0.01, 'slept')", r"Out\[2\]: 'slept'", r"In \[3\]:")
    enter(terminal, f"print('be' + 'gun'); {BLOCKING}", "begun")
    terminal.sendintr()
    terminal.expect("KeyboardInterrupt")
    terminal.expect(r"In \[4\]:")


def test_nothing_is_left_after_the_end(terminal: pexpect.spawn, agent: psutil.Process) -> None:
    enter(terminal, "exit", pexpect.EOF)
    until(lambda: gone(agent), "the end of the agent")


LOADING = """
from IPython.terminal.interactiveshell import TerminalInteractiveShell
shell = TerminalInteractiveShell.instance(simple_prompt=True)
for cell in ("%load_ext copilot_kernel\\n%copilot demo: say Only once", "_copilot"):
    assert shell.run_cell(cell, store_history=True).success
"""


def ended(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python, run to its end without a terminal."""
    options: dict[str, Any] = {"cwd": folder, "env": environment(folder), "stdin": subprocess.DEVNULL}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True, **options)


def test_in_the_cell_that_loads_it_an_answer_is_shown_once(tmp_path: Path) -> None:
    run = ended(tmp_path, "-c", LOADING)
    first, _, second = run.stdout.partition("Out[1]: <Turn end_turn, 9 characters>\n")
    assert (first.count("Only once"), second.count("Only once"), run.stderr) == (1, 1, "")


def test_without_a_terminal_a_question_is_rejected(tmp_path: Path) -> None:
    code = "get_ipython().run_line_magic('copilot', 'demo: create a.txt x')"
    run = ended(tmp_path, "-m", "IPython", "--colors=NoColor", "--ext=copilot_kernel", "-c", code)
    assert ("denied" in run.stdout, "COPILOT_KERNEL_ALLOW" in run.stdout) == (True, True)
    assert not (tmp_path / "a.txt").exists()


# -- code that the agent runs ---------------------------------------------------------------------------------------

PLAYING = """
import json
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from traitlets.config import Config

config = Config()
config.HistoryManager.enabled = False
shell = TerminalInteractiveShell.instance(simple_prompt=True, config=config)
open("wait.sh", "w").write("until rm gate 2>/dev/null; do sleep 0.02; done")
SCRIPT = '''
async def script(notebook):
    shown = await notebook.run_python("x = 20\\\\nprint('printed')\\\\nx + 1")
    failed = await notebook.run_python("1 / 0")
    asked = await notebook.run_python("%copilot hello")
    refused = str(await asyncio.gather(notebook.run_python("await asyncio.sleep(0)"), return_exceptions=True))
    summary = {each.name: each.value for each in await notebook.list_variables("")}["x"]
    about_asked = [[each.ok, each.outputs[-1]["ename"]] for each in (asked, await notebook.run_python("exit()"))]
    played = [shown.execution_count, list(shown.outputs), failed.ok, about_asked, refused, summary]
    return [*played, notebook.has_variables]
'''
for cell in ("%load_ext copilot_kernel", SETUP, SCRIPT, "%copilot demo: unasked sh wait.sh", "x"):
    assert shell.run_cell(cell, store_history=True).success, cell
json.dump([shell.user_ns["played"], shell.execution_count, shell.user_ns["Out"]], open("told.json", "w"))
"""


def test_code_runs_on_the_waiting_thread(tmp_path: Path) -> None:
    run = ended(tmp_path, "-c", f"SETUP = {SETUP!r}\n{PLAYING}")
    (count, outputs, ok, asked, refused, value, has_variables), after, results = json.loads(
        (tmp_path / "told.json").read_text()
    )
    assert (count, ok, value, has_variables) == (5, False, "20", True)
    assert [output.get("text") or output["data"]["text/plain"] for output in outputs] == ["printed\n", "21"]
    assert (asked, "cannot be run here" in refused) == ([[False, "UsageError"], [False, "SystemExit"]], True)
    assert ("printed\n" in run.stdout, "ZeroDivisionError" in run.stdout) == (True, True)
    assert (after, results["9"]) == (10, 20)
