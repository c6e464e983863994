"""Code that the agent runs in a terminal: on the waiting thread, shown and heard, with IPython's own bookkeeping."""

from __future__ import annotations

import json
from pathlib import Path

from .playing import SETUP
from .test_terminal import ended

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
    told = [shown.execution_count, list(shown.outputs), failed.ok, about_asked, refused, summary]
    return [*told, notebook.has_variables]
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
