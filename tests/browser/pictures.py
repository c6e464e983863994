"""`python -m tests.browser.pictures`: the documentation's pictures, taken of the real thing with the demo agent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from .lab import Lab, Notebook, running_browser, running_lab

RECORDING = Path(__file__).parents[1] / "store" / "data" / "events.jsonl"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDE, NARROW = (1000, 760), (480, 900)


def question(browser: Browser, lab: Lab, theme: str, size: tuple[int, int], name: str) -> None:
    """A cell that runs and waits for an answer, then the same cell when it is over."""
    lab.write(f"{name}.ipynb", "Make a plan for a command line", "Fix the bug in fibonacci.py", "Run the tests")
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, device_scale_factor=2)
    notebook = Notebook.open(context, lab, f"{name}.ipynb")
    notebook.theme(f"JupyterLab {theme}")
    notebook.command("application:toggle-left-area")
    notebook.run(0)
    notebook.run(1, wait=False)
    button = notebook.button(1, "Allow once")
    button.wait_for()
    notebook.settle(1)
    notebook.page.screenshot(path=str(IMAGES / f"question-{name}.png"))
    button.click()
    notebook.wait_status("idle")
    notebook.run(2, wait=False)
    notebook.button(2, "Allow once").click()
    notebook.wait_status("idle")
    notebook.settle(2)
    notebook.page.screenshot(path=str(IMAGES / f"answer-{name}.png"))
    context.close()


def exported(browser: Browser, lab: Lab) -> None:
    """A recorded session of GitHub Copilot CLI as a notebook, made from its event log."""
    home = lab.root.parent / "copilot"
    session = home / "session-state" / "recorded"
    session.mkdir(parents=True)
    shutil.copy(RECORDING, session / "events.jsonl")
    command = [
        str(Path(sys.executable).with_name("copilot-kernel")),
        "export",
        "last",
        "--from-log",
        "-o",
        "past.ipynb",
    ]
    subprocess.run(command, cwd=lab.root, env={**os.environ, "COPILOT_HOME": str(home)}, check=True)
    context = browser.new_context(viewport={"width": WIDE[0], "height": 1100}, device_scale_factor=2)
    notebook = Notebook.open(context, lab, "past.ipynb")
    notebook.command("application:toggle-left-area")
    notebook.settle(3)
    notebook.page.screenshot(path=str(IMAGES / "export.png"))
    context.close()


def main() -> None:
    """Both themes, wide and narrow."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_lab(Path(folder) / "lab") as lab,
        running_browser() as browser,
    ):
        for theme, size, name in (("Light", WIDE, "light"), ("Dark", WIDE, "dark"), ("Light", NARROW, "narrow")):
            question(browser, lab, theme, size, name)
        exported(browser, lab)


if __name__ == "__main__":
    main()
