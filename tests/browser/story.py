"""A Python notebook in which the agent works, as its user sees it."""

import json
from typing import Any

from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

LOAD = "%load_ext copilot_kernel"
INTERRUPT = "jp-button[data-command='notebook:interrupt-kernel'], [data-command='notebook:interrupt-kernel']"
SOURCES = "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(cell => cell.getSource())"
END = "demo agent, "
PROMPTS = """() => {
  const { node } = window.jupyterapp.shell.currentWidget;
  return Array.from(node.querySelectorAll('.jp-CodeCell .jp-InputPrompt'), prompt => prompt.textContent);
}"""


class Story:
    """The notebook in front, in which a prompt is answered."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook, self.page = notebook, notebook.page

    @classmethod
    def begin(
        cls,
        context: BrowserContext,
        lab: Lab,
        name: str,
        *cells: str | dict[str, Any],
        classic: bool = False,
    ) -> "Story":
        """A new notebook. Cell 0 loads the extension; the cells have the ids `c0`, `c1`, …"""
        lab.write(name, LOAD, *cells, kernel="python3")
        notebook = Notebook.open(context, lab, name, classic=classic)
        notebook.run(0)
        return cls(notebook)

    def sources(self) -> list[str]:
        """Of all cells of the notebook in front."""
        return list(self.page.evaluate(SOURCES))

    def allow(self, index: int, question: str) -> None:
        """Answer the question in a cell, and wait for its buttons to go: the next ones may stand in their place."""
        expect(self.notebook.question(index, question)).to_be_visible()
        button = self.notebook.answers(index, question).get_by_role("button", name="Allow once").element_handle()
        button.click()
        button.wait_for_element_state("hidden")

    def ended(self, index: int) -> None:
        """Wait for the end of the turn in a cell; then nothing in the notebook seems to run."""
        expect(self.notebook.output(index)).to_contain_text(END)
        self.rests()

    def rests(self) -> None:
        """Wait until nothing in the notebook seems to run."""
        self.notebook.wait_status("idle")
        self.page.wait_for_function(f"() => !({PROMPTS})().some(prompt => prompt.includes('*'))")

    def undo(self) -> list[str]:
        """The sources after one step back of the notebook."""
        self.notebook.command("notebook:undo-cell-action")
        return self.sources()


def ask(*calls: tuple[str, Any]) -> str:
    """A cell whose prompt makes the agent call tools one after the other."""
    return "%%copilot\ndemo: " + "\n".join(f"notebook {tool} {json.dumps(arguments)}" for tool, arguments in calls)
