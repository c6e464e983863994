"""IPython in a terminal: no kernel, no widgets, and Ctrl-C."""

from __future__ import annotations

import asyncio
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
from copilot_kernel.ipython.cell import ShellCell

from ..agent.command import COMMAND
from ..jupyter.front_end import gone, no_settings, until
from ..jupyter.terminals import in_terminal, interrupt
from ..limits import LIMIT

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
    return [each for each in psutil.Process(terminal.pid).children(recursive=True) if is_agent(each)]


def is_agent(process: psutil.Process) -> bool:
    try:
        return COMMAND[-1] in process.cmdline()
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def agent(terminal: pexpect.spawn) -> psutil.Process:
    """The agent that has answered in the terminal's first cell."""
    terminal.sendline("%copilot demo: say Ready")
    terminal.expect(r"In \[2\]:")
    (agent,) = agents(terminal)
    return agent


def test_an_answer_is_printed_and_is_a_value(terminal: pexpect.spawn) -> None:
    terminal.sendline("%copilot demo: say Is this it?")
    terminal.expect("\r\nIs this it\\?\r\n")
    terminal.expect(r"In \[2\]:")
    assert "Out[" not in terminal.before
    terminal.sendline("turn = %copilot demo: say Once more")
    terminal.expect("\r\nOnce more\r\n")
    terminal.expect(r"In \[3\]:")
    terminal.sendline("repr(turn), turn is _copilot")
    terminal.expect(r"Out\[3\]: \('<Turn end_turn, 9 characters>', True\)")
    terminal.sendline("_copilot")
    terminal.expect(r"Out\[4\]: Once more")


def test_a_question_is_asked_and_answered(terminal: pexpect.spawn) -> None:
    terminal.sendline("%copilot demo: ask Something")
    terminal.expect(ASKED)
    terminal.sendline("perhaps")
    terminal.expect(ASKED)
    terminal.sendline("1")
    terminal.expect("allowed by you")
    terminal.expect(r"In \[2\]:")


async def test_a_question_that_was_withdrawn_is_not_asked_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: prompts.append(prompt) or "yes")
    calls: SimpleQueue[Any] = SimpleQueue()
    cell = ShellCell(None, calls, live=True)
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
    terminal.sendline(f"%copilot demo: {doing}")
    terminal.expect(sign)
    interrupt(terminal)
    terminal.expect(r"■ Stopped by you after \d[^\r]* s\r\n")
    assert "Traceback" not in terminal.before
    terminal.expect(r"In \[3\]:")
    assert agents(terminal) == [agent]

    terminal.sendline("%copilot demo: ask Something else")
    terminal.expect(ASKED)
    terminal.sendline("1")
    terminal.expect("allowed by you")


def test_an_error_is_a_card_and_a_name(terminal: pexpect.spawn) -> None:
    terminal.sendline("%copilot demo: error -32603 No such luck")
    terminal.expect(r"✗ No such luck[\s\S]*\r\nAgentRefused: No such luck\r\n")
    assert "Traceback" not in terminal.before


@pytest.mark.usefixtures("agent")
def test_the_users_own_loop_and_ctrl_c_are_pythons(terminal: pexpect.spawn) -> None:
    terminal.sendline("import asyncio; await asyncio.sleep(0.01, 'slept')")
    terminal.expect(r"Out\[2\]: 'slept'")
    terminal.expect(r"In \[3\]:")
    terminal.sendline(f"print('be' + 'gun'); {BLOCKING}")
    terminal.expect("begun")
    terminal.sendintr()
    terminal.expect("KeyboardInterrupt")
    terminal.expect(r"In \[4\]:")


def test_nothing_is_left_after_the_end(terminal: pexpect.spawn, agent: psutil.Process) -> None:
    terminal.sendline("exit")
    terminal.expect(pexpect.EOF)
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
