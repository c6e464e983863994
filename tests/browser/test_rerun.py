"""Running a cell again in a real JupyterLab, after its kernel was restarted."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook
from .test_question_life import RESTART

pytestmark = pytest.mark.browser


def test_after_a_restart_a_button_keeps_the_saved_answer(context: BrowserContext, lab: Lab) -> None:
    lab.add_kernel("rerun-asks", COPILOT_KERNEL_RERUN="ask", COPILOT_KERNEL_ALLOW='["Edit"]')
    lab.write("again.ipynb", "demo: create again.txt yes\nsay Done.", kernel="rerun-asks")
    notebook = Notebook.open(context, lab, "again.ipynb")
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("Changed again.txt")
    notebook.save()
    notebook.page.evaluate(RESTART)
    notebook.wait_status("idle")
    (lab.root / "again.txt").write_text("no\n")

    notebook.run(0, wait=False)
    expect(notebook.answers(0, "This cell's last turn changed 1 file (again.txt). Run it again?")).to_be_visible()
    notebook.button(0, "Keep the answer").click()
    expect(notebook.output(0)).to_contain_text("Run it again? → Keep the answer")
    expect(notebook.output(0)).to_contain_text("Changed again.txt")
    notebook.wait_status("idle")
    assert (lab.root / "again.txt").read_text() == "no\n"
