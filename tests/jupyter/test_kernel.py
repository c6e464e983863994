"""What a cell does, seen from a front end; the agent is the demo agent, a process of its own."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from copilot_kernel import __version__
from copilot_kernel.errors import SEE_ABOVE

from ..limits import LIMIT
from ..ports import free_port
from ..processes import children, gone
from .conftest import StartKernel
from .ending import (
    CANCELLED,
    DEMO,
    STUBBORN,
    by_kill,
    by_request,
    by_shutdown,
    by_signal,
    by_termination,
)
from .front_end import ARGV, SLOW_DRAWING, FrontEnd, parent, until

MAIN = "from copilot_kernel.__main__ import main; main()"

# -- what a cell may be -----------------------------------------------------------------------------------------


def test_a_front_end_is_told_the_language_what_this_is_and_where_to_read_on(front_end: FrontEnd) -> None:
    info = front_end.ask("kernel_info_request")
    assert info["language_info"].items() >= {"name": "markdown", "version": "1.0", "file_extension": ".md"}.items()
    assert info["banner"].startswith(f"Copilot Kernel {__version__}: each cell is a prompt to a coding agent")
    assert [link["text"] for link in info["help_links"]] == ["GitHub Copilot CLI", "Agent Client Protocol"]
    assert all(link["url"].startswith("https://") for link in info["help_links"])


def test_an_empty_cell_does_nothing(front_end: FrontEnd) -> None:
    outcome = front_end.run(" \n ")
    assert (outcome.status, outcome.text, outcome.html) == ("ok", "", "")


def test_a_silent_request_is_not_sent_to_the_agent(front_end: FrontEnd) -> None:
    outcome = front_end.run("print('are you Python?')", silent=True)
    assert (outcome.error[0], outcome.outputs) == ("UsageError", [])
    assert front_end.run("", silent=True).status == "ok"


def test_the_agents_commands_can_be_completed_and_inspected(front_end: FrontEnd) -> None:
    front_end.run("demo: commands review reset plan")
    completed = front_end.ask("complete_request", {"code": "/re", "cursor_pos": 3})
    inspected = front_end.ask("inspect_request", {"code": "/review it", "cursor_pos": 4, "detail_level": 0})

    assert (completed["matches"], completed["cursor_start"], completed["cursor_end"]) == (["/reset", "/review"], 0, 3)
    assert inspected["data"] == {"text/plain": "The review command"}
    nothing = front_end.ask("inspect_request", {"code": " ", "cursor_pos": 0, "detail_level": 0})
    assert (nothing["status"], nothing["found"], nothing["data"]) == ("ok", False, {})


# -- order, errors ------------------------------------------------------------------------------------------------


def test_cells_run_in_order(front_end: FrontEnd) -> None:
    cells = [front_end.execute(f"demo: slow 3 0.01\nsay end of {name}") for name in ("one", "two", "three")]
    counts = [front_end.finish(cell).reply["content"]["execution_count"] for cell in cells]
    shown = [parent(m) for m in front_end.published if "end of" in str(m["content"].get("data")) and parent(m) in cells]

    assert counts == sorted(counts)
    assert list(dict.fromkeys(shown)) == cells


def test_after_an_error_the_cells_that_wait_are_aborted(front_end: FrontEnd) -> None:
    cells = [
        front_end.execute(code) for code in ("demo: slow 3 0.05", "demo: error -32603 No such luck", "demo: say x")
    ]
    assert [front_end.finish(cell).status for cell in cells] == ["ok", "error", "aborted"]
    assert front_end.run("demo: say again").status == "ok"


def test_an_error_is_a_card_that_says_it_once(front_end: FrontEnd) -> None:
    outcome = front_end.run("demo: error -32603 No such luck")
    cards = [m["content"]["data"] for m in outcome.outputs if "No such luck" in str(m["content"].get("data"))]

    assert [set(card) for card in cards] == [{"text/plain", "text/html"}]
    assert outcome.reply["content"]["traceback"] == ["AgentRefused: No such luck"]
    errors = [m["content"] for m in outcome.outputs if m["msg_type"] == "error"]
    assert [(e["evalue"], e["traceback"]) for e in errors] == [("No such luck", [SEE_ABOVE])]


BROKEN = """
from copilot_kernel.chat import Chat
async def ask(self, blocks, view):
    raise ZeroDivisionError("a slip of ours")
Chat.ask = ask
from copilot_kernel.__main__ import main
main()
"""


def test_a_bug_of_ours_ends_the_cell_and_not_the_kernel(start_kernel: StartKernel) -> None:
    front_end = start_kernel(argv=(sys.executable, "-P", "-c", BROKEN, "-f", "{connection_file}"))
    outcome = front_end.run("hello")

    assert outcome.error == ("ZeroDivisionError", "a slip of ours")
    assert "report" in outcome.reply["content"]["traceback"][-1]
    assert front_end.run("%help").status == "ok"


# -- interrupt ----------------------------------------------------------------------------------------------------

BUSY = {
    "streaming": ("demo: slow 100000 0.02", "2 "),
    "in a tool": ("demo: say Start.\nunasked sleep 60", "sleep 60"),
    "asking": ("demo: ask Something", "Allow once"),
    "filling in a form": ("demo: elicit form\nsay Never.", "wants to know something"),
    "silent": ("demo: say Start.\nwait", "Start."),
}


@pytest.mark.parametrize("interrupt", [by_request, by_signal])
@pytest.mark.parametrize("doing", BUSY)
def test_an_interrupt_cancels_the_turn_and_what_waits_behind_it(
    front_end: FrontEnd, doing: str, interrupt: Callable[[FrontEnd], None]
) -> None:
    code, sign = BUSY[doing]
    cell, queued = front_end.execute(code), front_end.execute("demo: say Never")
    front_end.shows(sign, cell)
    interrupt(front_end)

    outcome = front_end.finish(cell)
    assert (outcome.error, "■ Stopped by you after" in outcome.text) == (CANCELLED, True)
    assert "error" not in [message["msg_type"] for message in outcome.outputs], "a red box"
    assert front_end.finish(queued).status == "aborted"
    until(lambda: not front_end.children("sleep"), "the end of the tool")
    assert front_end.run("demo: say Next").status == "ok"


def test_a_batch_run_that_is_interrupted_has_an_error_among_its_outputs(front_end: FrontEnd) -> None:
    """Programs that run notebooks look for one."""
    cell = front_end.execute("demo: unasked sleep 60", live=False)
    until(lambda: front_end.children("sleep"), "the agent's command runs")
    front_end.manager.interrupt_kernel()
    outcome = front_end.finish(cell)
    (error,) = [message["content"] for message in outcome.outputs if message["msg_type"] == "error"]
    assert (error["ename"], error["evalue"], outcome.error) == (*CANCELLED, CANCELLED)
    assert "■ Stopped by you\n" in f"{outcome.text}\n", "without a time"


def test_an_interrupt_while_the_output_is_drawn_cancels_the_turn(start_kernel: StartKernel, tmp_path: Path) -> None:
    """The agent has answered, and its words keep the event loop busy."""
    os.mkfifo(gate := tmp_path / "gate")
    argv = (sys.executable, "-P", "-c", f"{SLOW_DRAWING}{MAIN}", "-f", "{connection_file}")
    front_end = start_kernel(argv=argv, GATE=str(gate))
    cell, queued = front_end.execute("demo: say Hello"), front_end.execute("demo: say Never")
    front_end.shows("drawing", cell)
    by_request(front_end)
    gate.write_text("")

    outcome = front_end.finish(cell)
    assert (outcome.error, "■ Stopped by you" in outcome.text) == (CANCELLED, True)
    assert front_end.finish(queued).status == "aborted"


@pytest.mark.parametrize("interrupt", [by_request, by_signal])
def test_an_interrupt_between_cells_does_nothing(front_end: FrontEnd, interrupt: Callable[[FrontEnd], None]) -> None:
    interrupt(front_end)
    front_end.ask("kernel_info_request")  # a signal is on its way for a moment
    assert front_end.run("demo: say Still here").status == "ok"


@pytest.mark.parametrize("code", ["hello", "%mode plan"])
def test_an_interrupt_while_the_agent_starts_ends_the_cell(
    start_kernel: StartKernel, tmp_path: Path, code: str
) -> None:
    began = tmp_path / "began"
    front_end = start_kernel(COPILOT_KERNEL_AGENT=f"sh -c 'touch {began}; exec sleep 60'")
    cell = front_end.execute(code)
    until(began.exists, "the agent is started")
    front_end.manager.interrupt_kernel()

    outcome = front_end.finish(cell)
    assert (outcome.error, outcome.text.count("■ Stopped by you")) == (CANCELLED, 1)
    assert "error" not in [message["msg_type"] for message in outcome.outputs]


# -- the end of the process ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "agent"),
    [
        (by_shutdown, DEMO),
        (by_termination, STUBBORN),
        (by_kill, STUBBORN),
    ],
)
def test_no_process_is_left_when_the_kernel_ends_during_a_turn(
    start_kernel: StartKernel, end: Callable[[FrontEnd], None], agent: str
) -> None:
    front_end = start_kernel(COPILOT_KERNEL_AGENT=agent)
    cell = front_end.execute("demo: say Begun.\nhang")
    front_end.shows("Begun.", cell)
    processes = [front_end.process, *front_end.children()]
    end(front_end)

    assert len(processes) > 1
    until(lambda: all(gone(process) for process in processes), "the end of kernel and agent")
    assert front_end.complaints() == []


@pytest.mark.parametrize("end", [by_shutdown, by_kill])
def test_no_command_is_left_when_the_kernel_ends(start_kernel: StartKernel, end: Callable[[FrontEnd], None]) -> None:
    front_end = start_kernel(COPILOT_KERNEL_TERMINAL="on", COPILOT_KERNEL_PERMISSION_MODE="bypassPermissions")
    front_end.execute("demo: terminal sh -c 'sleep 60 & timeout 60 sleep 60; wait'")
    until(lambda: len(front_end.children("sleep")) == 2, "the command runs")
    processes = front_end.children()
    end(front_end)
    until(lambda: all(gone(process) for process in processes), "the end of the command")


STARTER = """
import os, subprocess, sys
subprocess.Popen(sys.argv[1:], env={**os.environ, "JPY_PARENT_PID": str(os.getpid())}).wait()
"""


def test_no_process_is_left_when_the_kernels_parent_dies(start_kernel: StartKernel) -> None:
    front_end = start_kernel(argv=(sys.executable, "-c", STARTER, *ARGV))
    front_end.execute("demo: wait")
    (kernel,) = children(front_end.process.pid, recursive=False)
    agent = until(lambda: children(kernel.pid), "the agent is started")[0]
    front_end.process.kill()
    until(lambda: gone(kernel) and gone(agent), "the end of kernel and agent")


# -- starting -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["shell", "stdin", "control", "iopub", "hb"])
def test_a_kernel_whose_port_is_in_use_ends_at_once_and_says_which(tmp_path: Path, channel: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = {f"{each}_port": free_port() for each in ("shell", "stdin", "control", "iopub", "hb")}
        ports[f"{channel}_port"] = taken.getsockname()[1]
        file = tmp_path / "connection.json"
        file.write_text(json.dumps({**ports, "ip": "127.0.0.1", "transport": "tcp", "key": "x"}))
        command = [part.format(connection_file=file) for part in ARGV]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert f"Port {ports[f'{channel}_port']} cannot be used: Address already in use" in done.stderr


def test_starting_imports_nothing_that_only_a_cell_needs() -> None:
    program = "import sys; from copilot_kernel.jupyter import app; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT)
    heavy = {"anyio", "ipywidgets", "markdown_it", "nh3", "debugpy", "copilot_widgets.base", "copilot_kernel.chat"}

    assert heavy & set(found.stdout.split()) == set()


def test_a_file_in_the_notebooks_folder_does_not_become_one_of_our_modules(
    start_kernel: StartKernel, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    for module in ("anyio", "ipywidgets", "markdown_it"):
        (tmp_path / "work" / f"{module}.py").write_text("raise SystemExit('imported from the folder')")
    front_end = start_kernel(argv=(sys.executable, "-m", "copilot_kernel", "-f", "{connection_file}"))

    assert front_end.run("demo: say Hello").status == "ok"
