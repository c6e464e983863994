"""A conversation outlives its kernel: restart it, run the next cell, and the agent remembers."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

pytestmark = pytest.mark.browser

RESTART = "async () => { await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }"


def test_after_a_restart_of_the_kernel_the_conversation_goes_on(context: BrowserContext, lab: Lab) -> None:
    lab.write("restart.ipynb", "demo: say The first answer.", "demo: remember")
    notebook = Notebook.open(context, lab, "restart.ipynb")
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("The first answer.")
    notebook.page.evaluate(RESTART)
    notebook.wait_status("idle")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("prompt 2 of this session")
    expect(notebook.output(1)).not_to_contain_text("was lost")


def test_another_notebook_has_a_conversation_of_its_own(context: BrowserContext, lab: Lab) -> None:
    lab.write("own.ipynb", "demo: remember")
    notebook = Notebook.open(context, lab, "own.ipynb")
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("prompt 1 of this session")
