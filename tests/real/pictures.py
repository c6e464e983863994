"""`python -m tests.real.pictures`: Copilot CLI in JupyterLab, offline with the scripted model, for the docs.

The outside half opens a namespace; the inside half runs model, JupyterLab, kernel, agent and browser in it.
"""

import os
import shlex
import sys
import tempfile
from pathlib import Path

from ..browser.lab import Notebook, running_browser, running_lab
from ..browser.pictures import IMAGES, WIDE
from . import model, namespace
from .agents import AGENTS
from .model import prompt
from .scenes import NOTES

COPILOT = AGENTS["copilot"]


def inside(home: Path) -> None:
    """An edit that is asked for and allowed, then a command with its exit code."""
    with model.running() as scripted, running_browser() as browser:
        settings = {**COPILOT.configure(home, scripted.url), "COPILOT_KERNEL_AGENT": shlex.join(COPILOT.command())}
        with running_lab(home / "lab", **settings) as lab:
            notes = lab.root / "notes.txt"
            notes.write_text(NOTES)
            change = [COPILOT.read(notes)], [COPILOT.edit(notes, "two", "TWO")]
            edit = prompt(
                *({"call": calls} for calls in change),
                {"say": "The second line is in **capitals** now."},
                words="Write the second line in capitals.",
            )
            shell = prompt(
                {"call": [COPILOT.shell("grep -c o notes.txt; exit 3")]},
                {"say": "One line has a small *o*."},
                words="Count the lines with an o.",
            )
            lab.write("copilot.ipynb", edit, shell)
            context = browser.new_context(viewport={"width": WIDE[0], "height": 900}, device_scale_factor=2)
            notebook = Notebook.open(context, lab, "copilot.ipynb")
            notebook.command("application:toggle-left-area")
            notebook.run(0, wait=False)
            notebook.button(0, COPILOT.allow).click()
            notebook.wait_status("idle")
            notebook.run(1, wait=False)
            notebook.button(1, COPILOT.allow).wait_for()
            notebook.settle(1)
            notebook.button(1, COPILOT.allow).click()
            notebook.output(1).get_by_text("One line has a small").wait_for()
            notebook.wait_status("idle")
            notebook.settle(1)
            notebook.page.screenshot(path=str(IMAGES / "copilot-done.png"))
            context.close()


def main() -> int:
    """The exit code of the inside half."""
    if "inside" in sys.argv:
        inside(Path(os.environ["HOME"]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment = namespace.environment(Path(folder), Path(folder) / "cache")
        done = namespace.run([sys.executable, "-m", "tests.real.pictures", "inside"], environment, seconds=200)
        print(done.stdout, done.stderr)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
