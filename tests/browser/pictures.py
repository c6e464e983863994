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
from .serving import Server, running_server

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


def chat_page(browser: Browser, server: Server) -> None:
    """The chat page while it asks, in both themes and on a small screen."""
    for scheme, size, name in (("light", WIDE, "light"), ("dark", WIDE, "dark"), ("light", NARROW, "narrow")):
        screen = {"viewport": {"width": size[0], "height": size[1]}, "device_scale_factor": 2, "color_scheme": scheme}
        context = browser.new_context(**screen)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(server.page)
        page.get_by_role("button", name="Run the tests").wait_for()
        if name == "light":
            page.screenshot(path=str(IMAGES / "chat-page-welcome.png"))
        page.get_by_label("Message").fill("Fix the bug in fibonacci.py")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Allow once").wait_for()
        page.evaluate("() => new Promise(done => setTimeout(done, 300))")
        page.screenshot(path=str(IMAGES / f"chat-page-{name}.png"))
        page.get_by_label("Stop the turn").click()
        page.get_by_label("Stop the turn").wait_for(state="hidden")
        context.close()


def main() -> None:
    """Both themes, wide and narrow; with the word `chat-page`, only that."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder) / "server") as server,
        running_browser() as browser,
    ):
        chat_page(browser, server)
    if "chat-page" in sys.argv:
        return
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
