"""`python -m tests.real.pictures`: Copilot CLI in JupyterLab, offline with the scripted model, for the docs.

Model, JupyterLab, kernel, agent and browser all run in a namespace.
"""

import os
import tempfile
from pathlib import Path

from ..browser.lab import Notebook, running_browser, running_lab
from ..browser.pictures import IMAGES, WIDE
from . import model
from .agents import COPILOT, PROJECT, Agent, Json
from .plays import Play

TEST = """from mean import mean

found = mean([1, 2, 3])
print("mean([1, 2, 3]): expected 2, found", found)
raise SystemExit(found != 2)
"""
FILES = {"mean.py": "def mean(values):\n    return sum(values) / (len(values) - 1)\n", "test_mean.py": TEST}
RUN = ("bash", {"command": "python3 test_mean.py", "description": "Run the tests"})
PROMPTS: dict[str, tuple[Json, ...]] = {
    "Run the tests.": (
        {"call": [RUN]},
        {"say": "The test **fails**: `mean` divides by one less than the number of values."},
    ),
    "Correct it, and run them again.": (
        {"call": [("edit", f"{PROJECT}/mean.py", " / (len(values) - 1)", " / len(values)")]},
        {"call": [RUN]},
        {"say": "`mean` now divides by the number of values, and the test **passes**."},
    ),
}


def by_default(agent: Agent) -> dict[str, str]:
    """Found on the PATH, as where nothing is set, so that no line of the notebook names it."""
    return {"COPILOT_KERNEL_AGENT": "", "PATH": f"{Path(agent.find() or '').parent}:{os.environ['PATH']}"}


def play(agent: Agent) -> None:
    """A command with its exit code, then an edit and the command again; each is asked for and allowed."""
    home = Path(os.environ["HOME"])
    with (
        model.running() as scripted,
        running_browser() as browser,
        running_lab(home / "lab", **agent.settings(home, scripted.url) | by_default(agent)) as lab,
    ):
        for name, text in FILES.items():
            (lab.root / name).write_text(text)
        scripted.known |= {words: agent.prompt(lab.root, *steps) for words, steps in PROMPTS.items()}
        lab.write("copilot.ipynb", *PROMPTS)
        context = browser.new_context(viewport={"width": WIDE[0], "height": 680}, device_scale_factor=2)
        notebook = Notebook.open(context, lab, "copilot.ipynb")
        notebook.command("application:toggle-left-area")
        for cell, questions in enumerate((1, 2)):
            notebook.run(cell, wait=False)
            for answered in range(questions):
                notebook.button(cell, agent.allow).click()
                notebook.output(cell).get_by_text("allowed by you").nth(answered).wait_for()
            notebook.wait_status("idle")
            notebook.settle(cell)
        notebook.page.screenshot(path=str(IMAGES / "copilot-done.png"))
        context.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Play("real.pictures.play", COPILOT).perform(Path(folder), Path(folder) / "cache")
