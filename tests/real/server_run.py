"""A walk through cells that the server runs: `python -m tests.real.server_run NAME FOLDER`, with Chromium.

`COPILOT_TEST_LAB_PYTHON` names the Python of an environment with Copilot Kernel and JupyterLab 4.6, beside one of

- jupyter-server-documents 0.3.3, jupyter-docprovider 3.0.4 and jupyter-collaboration-ui 3.0.4,
- jupyter-server-nbmodel 0.2.9 and jupyter-collaboration 5.0.4.

Each step prints what came of it; pictures go to FOLDER.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Error, Page, expect

from ..browser.lab import SIZE, Lab, Notebook, running_lab, running_profile

HELLO, MAIL = "Hello", "Send an e-mail"
ANSWER, ASKED_ONLY = "demo agent", "I only asked"
LIMIT_MS = 20_000


class Walk:
    """The steps in one JupyterLab; `failed` counts those that went wrong."""

    def __init__(self, context: BrowserContext, lab: Lab, folder: Path, name: str) -> None:
        self.context, self.lab, self.folder, self.name, self.failed = context, lab, folder, name, 0

    def step(self, number: int, words: str, act: Callable[[str], Page]) -> None:
        """Do one step in a notebook of its own. `act` gets its name, and returns the page that it ends with."""
        try:
            page = act(f"step{number}.ipynb")
            result = "works"
        except (AssertionError, Error) as error:
            page, result = self.context.pages[-1], f"FAILS: {' '.join(str(error).split())[:300]}"
            self.failed += 1
        page.screenshot(path=self.folder / f"{self.name}-{number}.png")
        print(f"{self.name} {number} {words}: {result}", flush=True)
        for each in self.context.pages[1:]:
            each.close()

    def open(self, name: str, *cells: str, kernel: str = "copilot") -> Notebook:
        notebook = Notebook.new(self.context, self.lab, name, *cells, kernel=kernel)
        notebook.page.set_default_timeout(LIMIT_MS)
        expect.set_options(timeout=LIMIT_MS)
        return notebook

    def prompt(self, name: str) -> Page:
        notebook = self.open(name, HELLO)
        notebook.run(0, wait=False)
        expect(notebook.output(0)).to_contain_text(ANSWER)
        return notebook.page

    def question(self, name: str) -> Page:
        notebook = self.open(name, MAIL)
        notebook.run(0, wait=False)
        allow(notebook.page)
        expect(notebook.output(0)).to_contain_text(ASKED_ONLY)
        expect(notebook.page.locator(".copilot-ask")).to_have_count(0)
        return notebook.page

    def stop(self, name: str) -> Page:
        notebook = self.open(name, MAIL)
        notebook.run(0, wait=False)
        asked(notebook.page)
        notebook.page.screenshot(path=self.folder / f"{self.name}-asked.png")
        notebook.command("notebook:interrupt-kernel")
        expect(notebook.page.locator(".copilot-ask")).to_have_count(0)
        expect(notebook.output(0)).to_contain_text("Stopped")
        return notebook.page

    def run_all(self, name: str) -> Page:
        notebook = self.open(name, HELLO, MAIL, f"{HELLO} again")
        notebook.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
        allow(notebook.page)
        for index, words in enumerate((ANSWER, ASKED_ONLY, ANSWER)):
            expect(notebook.output(index)).to_contain_text(words)
        return notebook.page

    def reload(self, name: str) -> Page:
        notebook = self.open(name, MAIL, f"{MAIL} again")
        notebook.run(0, wait=False)
        asked(notebook.page)
        notebook.page.reload()
        allow(notebook.page)
        expect(notebook.output(0)).to_contain_text(ASKED_ONLY)
        notebook.run(1, wait=False)
        allow(notebook.page)
        expect(notebook.output(1)).to_contain_text(ASKED_ONLY)
        return notebook.page

    def two_tabs(self, name: str) -> Page:
        first = self.open(name, HELLO, MAIL, f"{MAIL} again")
        first.run(0, wait=False)
        expect(first.output(0)).to_contain_text(ANSWER)
        second = Notebook(self.context.new_page())
        second.page.goto(self.lab.address(name))
        second.wait_ready()
        second.run(1, wait=False)
        asked(second.page)
        expect(first.page.locator(".copilot-ask")).to_have_count(0)
        allow(second.page)
        expect(second.output(1)).to_contain_text(ASKED_ONLY)
        return second.page

    def python(self, name: str) -> Page:
        notebook = self.open(name, "%load_ext copilot_kernel", f"%%copilot\n{MAIL}", kernel="python3")
        notebook.run(0, wait=False)
        notebook.run(1, wait=False)
        allow(notebook.page)
        expect(notebook.output(1)).to_contain_text(ASKED_ONLY)
        return notebook.page


def asked(page: Page) -> None:
    """Wait for the card of a question."""
    expect(page.locator(".copilot-ask")).to_be_visible()


def allow(page: Page) -> None:
    """Answer the question in the page's card, once its buttons count."""
    asked(page)
    button = page.locator(".copilot-ask").get_by_role("button", name="Allow once")
    expect(button).to_be_enabled()
    button.click()


def main() -> int:
    """Take the walk; the number of steps that went wrong."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    steps = ("prompt", "question", "stop", "run_all", "reload", "two_tabs", "python")
    chosen = sys.argv[3:] or steps
    with running_lab(folder / "lab") as lab, running_profile(folder / "profile", SIZE) as context:
        walk = Walk(context, lab, folder, name)
        for number, step in enumerate(steps):
            if step in chosen:
                walk.step(number, step, getattr(walk, step))
    return walk.failed


if __name__ == "__main__":
    sys.exit(main())
