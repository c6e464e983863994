"""■ and the end of the kernel: what is cancelled, what goes on, and that nothing is left."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ..jupyter.ending import (
    CANCELLED,
    DEMO,
    STUBBORN,
    by_kill,
    by_request,
    by_shutdown,
    by_signal,
    by_termination,
)
from ..jupyter.front_end import SLOW_DRAWING, FrontEnd, until
from ..processes import gone
from .conftest import StartKernel
from .playing import WAIT

TICKING = """
import asyncio
async def tick():
    for _ in range(10):
        await asyncio.sleep(0.01)
    open("gate", "w").close()
task = asyncio.create_task(tick())
%copilot demo: unasked sh wait.sh
len(asyncio.all_tasks()) < 10, [t for t in asyncio.all_tasks() if 'copilot' in repr(t)]
"""
"""The agent's command ends when the user's task has."""
FORKING = """
import os
child = os.fork()
if not child:
    get_ipython().copilot.close()
    os._exit(0)
os.waitpid(child, 0)[1]
"""

PRESSES = """
import os
from copilot_kernel.chat import turn
turn.DOUBLE_CLICK_SECONDS = 0.0
press = turn.Stop.press
def pressed(self, at=None):
    press(self, at)
    open(os.environ["PRESSED"], "w").close()
turn.Stop.press = pressed
"""
"""Any two interrupts are more than a double click, and the file PRESSED tells that one was heard."""

AGAIN = """
import signal
from copilot_kernel.ipython.magic_session import MagicSession
interrupt, again = MagicSession.interrupt, [signal.SIGINT]
def interrupted(self):
    if again:
        signal.raise_signal(again.pop())
    interrupt(self)
MagicSession.interrupt = interrupted
"""
"""While an interrupt is being handled, another one arrives."""

AT_THE_END = """
import signal
from queue import SimpleQueue
from copilot_kernel.ipython import waiting
class Calls(SimpleQueue):
    def get(self):
        if (call := super().get()) is None:
            signal.raise_signal(signal.SIGINT)
        return call
waiting.SimpleQueue = Calls
"""
"""An interrupt arrives while the waiting thread takes the sign that the turn is over."""


BUSY = {
    "streaming": ("%%copilot\ndemo: slow 100000 0.02", "2 "),
    "in a tool": ("%%copilot\ndemo: say Start.\nunasked sleep 60", "sleep 60"),
    "asking": ("%copilot demo: ask Something", "Allow once"),
    "silent": ("%%copilot\ndemo: say Start.\nwait", "Start."),
    "in a function": ("def f():\n    %copilot demo: slow 100000 0.02\nf()", "2 "),
    "in a function of a cell that awaits": (
        "import asyncio\ndef f():\n    %copilot demo: slow 100000 0.02\nawait asyncio.sleep(0)\nf()",
        "2 ",
    ),
    "among others": ("x = 1\n%copilot demo: slow 100000 0.02\nx = 2", "2 "),
}


@pytest.mark.parametrize("interrupt", [by_request, by_signal])
@pytest.mark.parametrize("doing", BUSY)
def test_an_interrupt_cancels_the_turn_and_what_waits_behind_it(
    notebook: FrontEnd, doing: str, interrupt: Callable[[FrontEnd], None]
) -> None:
    code, sign = BUSY[doing]
    cell, queued = notebook.execute(code), notebook.execute("1 + 1")
    notebook.shows(sign, cell)
    interrupt(notebook)

    outcome = notebook.finish(cell)
    assert (outcome.error, outcome.reply["content"]["traceback"]) == (CANCELLED, ["Stopped."])
    assert notebook.finish(queued).status == "aborted"
    until(lambda: not notebook.children("sleep"), "the end of the tool")
    assert notebook.run("%copilot demo: say Next").status == "ok"


@pytest.mark.parametrize("code", ["%copilot demo: say Hello", "def f():\n    %copilot demo: say Hello\nf()"])
def test_an_interrupt_while_the_output_is_drawn_cancels_the_turn(
    start_kernel: StartKernel, tmp_path: Path, code: str
) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    front_end = start_kernel(GATE=str(gate))
    front_end.run(SLOW_DRAWING)
    cell, queued = front_end.execute(code), front_end.execute("1 + 1")
    front_end.shows("drawing", cell)
    by_signal(front_end)
    gate.write_text("")

    assert front_end.finish(cell).error == CANCELLED
    assert front_end.finish(queued).status == "aborted"


@pytest.mark.parametrize("code", ["%%copilot\ndemo: hang Begun.", "def f():\n    %copilot demo: hang Begun.\nf()"])
def test_the_second_interrupt_ends_an_agent_that_does_not_listen(
    start_kernel: StartKernel, tmp_path: Path, code: str
) -> None:
    pressed = tmp_path / "pressed"
    front_end = start_kernel(COPILOT_KERNEL_CANCEL_GRACE="60", PRESSED=str(pressed))
    front_end.run(PRESSES)
    cell = front_end.execute(code)
    front_end.shows("Begun.", cell)
    (agent,) = front_end.children()
    by_signal(front_end)
    until(pressed.exists, "the first interrupt is heard")
    assert not gone(agent)
    by_signal(front_end)  # not a third: at the end of the cell it would cost the reply, as in any cell of ipykernel

    assert front_end.finish(cell).error == CANCELLED
    until(lambda: gone(agent), "the end of the agent")
    assert front_end.run("%copilot demo: say Next").status == "ok"


@pytest.mark.parametrize(
    ("patch", "code"), [(AGAIN, "demo: slow 100000 0.02"), (AT_THE_END, "demo: say 1 2 3")], ids=["again", "at the end"]
)
def test_an_interrupt_at_any_moment_of_a_cell_that_blocks_waits_for_the_turns_end(
    start_kernel: StartKernel, patch: str, code: str
) -> None:
    front_end = start_kernel()
    front_end.run(patch)
    cell = front_end.execute(f"def f():\n    %copilot {code}\nf()")
    front_end.shows("2 ", cell)
    if patch == AGAIN:
        by_signal(front_end)
    assert front_end.finish(cell).error == CANCELLED
    assert "('cancelled', True)" in str(front_end.run("_copilot.stop_reason, '1 2' in _copilot.text").outputs)


def test_an_interrupt_while_the_agent_starts_ends_the_cell(start_kernel: StartKernel, tmp_path: Path) -> None:
    began = tmp_path / "began"
    front_end = start_kernel(COPILOT_KERNEL_AGENT=f"sh -c 'touch {began}; exec sleep 60'")
    cell = front_end.execute("%copilot hello")
    until(began.exists, "the agent is started")
    by_signal(front_end)
    assert front_end.finish(cell).error == CANCELLED


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import time\nwhile True:\n    time.sleep(0.1)", "KeyboardInterrupt"),
        ("import asyncio\nwhile True:\n    await asyncio.sleep(0.01)", "CancelledError"),
    ],
)
def test_an_interrupt_of_the_users_own_code_is_pythons(
    notebook: FrontEnd, tmp_path: Path, code: str, error: str
) -> None:
    """A file says that the code has begun: a signal in the middle of a print may block ipykernel's output for good."""
    began = tmp_path / "began"
    notebook.run("%copilot demo: say Before")
    cell = notebook.execute(f"open({str(began)!r}, 'w').close()\n{code}")
    until(began.exists, "the code has begun")
    by_signal(notebook)
    assert notebook.finish(cell).error[0] == error
    assert notebook.run("%copilot demo: say After").status == "ok"


# -- the user's own loop --------------------------------------------------------------------------------------------


def test_a_task_of_the_users_goes_on_while_the_agent_works(notebook: FrontEnd) -> None:
    (Path(notebook.process.cwd()) / "wait.sh").write_text(WAIT)
    assert "(True, [])" in str(notebook.run(TICKING).outputs)


def test_the_users_loop_is_the_one_it_was(notebook: FrontEnd) -> None:
    notebook.run("import asyncio, threading\nloop = asyncio.get_event_loop()")
    code = "%copilot demo: say Hello\nasyncio.get_running_loop() is loop, await asyncio.sleep(0.01, 'slept')"
    assert "(True, 'slept')" in str(notebook.run(code).outputs)
    outcome = notebook.run(
        "with open('run.txt', 'w') as f: pass\nimport concurrent.futures\nasync def one(): return 1\n"
        "concurrent.futures.ThreadPoolExecutor().submit(asyncio.run, one()).result()"
    )
    assert "'1'" in str(outcome.outputs)


def test_plots_are_shown_before_and_after_and_in_the_same_cell(notebook: FrontEnd) -> None:
    plot = "%matplotlib inline\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\n"
    for code in (plot, f"{plot}%copilot demo: say Hello", f"%copilot demo: say Hello\n{plot}", plot):
        outcome = notebook.run(code, limit=60)
        pictures = [m for m in outcome.outputs if "image/png" in m["content"].get("data", {})]
        assert (outcome.status, len(pictures)) == ("ok", 1)


# -- the end --------------------------------------------------------------------------------------------------------


HANGS = "%%copilot\ndemo: say Begun.\nhang"


@pytest.mark.parametrize(
    ("end", "agent", "during"),
    [
        *((by_shutdown, DEMO, HANGS), (by_shutdown, STUBBORN, ""), (by_termination, DEMO, HANGS)),
        *((by_kill, DEMO, ""), (by_kill, STUBBORN, HANGS)),
    ],
)
def test_no_process_is_left_when_the_kernel_ends(
    start_kernel: StartKernel, end: Callable[[FrontEnd], None], agent: str, during: str
) -> None:
    front_end = start_kernel(COPILOT_KERNEL_AGENT=agent)
    front_end.run("%copilot demo: say Hello")
    if during:
        front_end.shows("Begun.", front_end.execute(during))
    processes = [front_end.process, *front_end.children()]
    end(front_end)
    assert len(processes) > 1
    until(lambda: all(gone(process) for process in processes), "the end of kernel and agent")
    assert front_end.complaints() == []


def test_a_child_process_of_the_users_does_not_end_the_agent(notebook: FrontEnd) -> None:
    notebook.run("%copilot demo: say Hello")
    agents = notebook.children()
    assert "'0'" in str(notebook.run(FORKING).outputs)
    assert notebook.children() == agents
    assert notebook.run("%copilot demo: say Still here").status == "ok"
