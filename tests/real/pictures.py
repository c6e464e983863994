"""`python -m tests.real.pictures`: Copilot CLI in JupyterLab, offline with the scripted model, for the docs.

Model, JupyterLab, kernel, agent and browser all run in a namespace.
"""

import os
import tempfile
from pathlib import Path

from ..browser.lab import Notebook, running_browser, running_lab
from ..browser.pictures import IMAGES, WIDE
from . import model
from .agents import COPILOT, FILE, NOTES, Agent
from .plays import Play


def play(agent: Agent) -> None:
    """An edit that is asked for and allowed, then a command with its exit code."""
    home = Path(os.environ["HOME"])
    with (
        model.running() as scripted,
        running_browser() as browser,
        running_lab(home / "lab", **agent.settings(home, scripted.url)) as lab,
    ):
        (lab.root / "notes.txt").write_text(NOTES)
        edit = agent.prompt(
            lab.root,
            {"call": [("read", FILE)]},
            {"call": [("edit", FILE, "two", "TWO")]},
            {"say": "The second line is in **capitals** now."},
            words="Write the second line in capitals.",
        )
        shell = agent.prompt(
            lab.root,
            {"call": [("shell", "grep -c o notes.txt; exit 3")]},
            {"say": "One line has a small *o*."},
            words="Count the lines with an o.",
        )
        lab.write("copilot.ipynb", edit, shell)
        context = browser.new_context(viewport={"width": WIDE[0], "height": 900}, device_scale_factor=2)
        notebook = Notebook.open(context, lab, "copilot.ipynb")
        notebook.command("application:toggle-left-area")
        notebook.run(0, wait=False)
        notebook.button(0, agent.allow).click()
        notebook.wait_status("idle")
        notebook.run(1, wait=False)
        notebook.button(1, agent.allow).wait_for()
        notebook.settle(1)
        notebook.button(1, agent.allow).click()
        notebook.output(1).get_by_text("One line has a small").wait_for()
        notebook.wait_status("idle")
        notebook.settle(1)
        notebook.page.screenshot(path=str(IMAGES / "copilot-done.png"))
        context.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Play("real.pictures.play", COPILOT).perform(Path(folder), Path(folder) / "cache")
