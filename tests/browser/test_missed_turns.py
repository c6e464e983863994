"""Turns that go on while no page looks: the next page shows what became of them, in a real JupyterLab."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import BOTH, Lab, Notebook

pytestmark = pytest.mark.browser

ALLOW = "Allow once"
TURN = "demo: say First.\\n\\n\nwait go\ncreate made.txt yes\nsay Done."
MARKED = ".lm-TabBar-tab.copilot-waiting"
STATUS = ".copilot-status"
RESTARTED = "The kernel was restarted or shut down before this turn ended."
OUTPUTS = """index => {
  const { model } = window.jupyterapp.shell.currentWidget.content.widgets[index];
  return { outputs: model.outputs.toJSON(), count: model.executionCount };
}"""
SECONDS = re.compile(r"\d+(\.\d+)? s")


def go(lab: Lab) -> None:
    """Let the agent go on."""
    (lab.root / "go").touch()


def reload(notebook: Notebook, *, saved: bool = False) -> None:
    """Load the page again, as it is on disk."""
    if saved:
        notebook.save()
    notebook.page.on("dialog", lambda dialog: dialog.accept())
    notebook.page.reload()
    notebook.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").first.wait_for()


def kept(notebook: Notebook, index: int = 0) -> dict[str, Any]:
    """What the page has of a turn: its outputs, the record of the conversation among them, and the prompt number."""
    notebook.page.wait_for_function(
        "index => window.jupyterapp.shell.currentWidget.content.widgets[index].model.executionCount", arg=index
    )
    found = dict(notebook.page.evaluate(OUTPUTS, index))
    for output in found["outputs"]:
        record = output.get("metadata", {}).get("copilot_kernel", {})
        record.pop("session_id", None)
        record.pop("session", None)
        output["data"] = {mime: SECONDS.sub("n s", text) for mime, text in output["data"].items()}
    found["outputs"] = [output for output in found["outputs"] if output["data"]["text/plain"]]
    return found


def undisturbed(context: BrowserContext, lab: Lab, prompt: str, kernel: str = "copilot") -> dict[str, Any]:
    """The same turn on a page that stays."""
    go(lab)
    notebook = Notebook.new(context, lab, "undisturbed.ipynb", prompt, kernel=kernel)
    notebook.run(0, wait=False)
    notebook.button(0, ALLOW).click()
    found = kept(notebook)
    notebook.page.close()
    (lab.root / "go").unlink()
    (lab.root / "made.txt").unlink()
    return found


@BOTH
def test_a_page_that_was_loaded_again_while_the_answer_came_shows_it_to_its_end(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    expected = undisturbed(context, lab, TURN)
    notebook = Notebook.new(context, lab, "streaming.ipynb", TURN, classic=classic)
    notebook.run(0, wait=False)
    expect(notebook.output(0)).to_contain_text("First.")
    reload(notebook)
    expect(notebook.output(0)).to_contain_text("First.")
    expect(notebook.cell(0).locator(".jp-InputPrompt")).to_have_text("[*]:")
    go(lab)
    notebook.button(0, ALLOW).click()
    assert kept(notebook) == expected
    assert (lab.root / "made.txt").read_text() == "yes"
