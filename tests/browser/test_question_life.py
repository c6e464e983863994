"""The life of a question in a real JupyterLab: two tabs, a kernel started again, an old notebook."""

import re

import pytest
from copilot_widgets.base import OVER
from playwright.sync_api import BrowserContext, expect

from .axe import findings
from .lab import BOTH, Lab, Notebook, toasts
from .test_first_use import DEAD_WIDGET

pytestmark = pytest.mark.browser

ALLOW, DENY = "Allow once", "Deny"
REJECTED = "denied by you"
RESTART = "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
STATUS, MARKED = ".copilot-status", ".lm-TabBar-tab.copilot-waiting"
FOCUSED = "() => document.activeElement.classList.contains('copilot-question')"


def asking(context: BrowserContext, lab: Lab, name: str, *cells: str) -> Notebook:
    """A notebook whose first cell runs and has asked."""
    notebook = Notebook.new(context, lab, name, *cells)
    notebook.run(0, wait=False)
    expect(notebook.button(0, ALLOW).first).to_be_enabled()
    return notebook


SAY, CREATE = "demo: say Hello.", "demo: create again.txt yes\nsay Done."
SETTINGS = {
    SAY: {"COPILOT_KERNEL_DEMO": "signed-out,auth=agent"},
    CREATE: {"COPILOT_KERNEL_RERUN": "ask", "COPILOT_KERNEL_PERMISSION_MODE": "bypassPermissions"},
}


@pytest.mark.parametrize(("cell", "answer"), [
    ("%permissions mode bypassPermissions", "Don't"), (SAY, "Not now"), (CREATE, "Keep the answer"),
], ids=["a setting that widens", "signing in", "a prompt that is run again"])  # fmt: skip
def test_a_question_of_our_own_is_counted_marked_notified_and_found_by_its_key(
    context: BrowserContext, lab: Lab, loud: None, cell: str, answer: str
) -> None:
    kernel = "copilot"
    if cell in SETTINGS:
        lab.add_kernel(kernel := f"asks-{answer.split()[0].lower()}", **SETTINGS[cell])
    notebook = Notebook.new(context, lab, "ours.ipynb", *["%help"] * 20, cell, kernel=kernel)
    page = notebook.page
    if cell == CREATE:
        notebook.run(20)
        assert (lab.root / "again.txt").exists()
    notebook.run(20, wait=False)
    expect(notebook.button(20, answer)).to_be_enabled()
    page.evaluate("() => void window.jupyterapp.shell.currentWidget.content.scrollToItem(0)")
    expect(page.locator(STATUS)).to_contain_text("1 question waiting")
    expect(page.locator(MARKED)).to_have_count(1)
    expect(toasts(page)).to_contain_text("asks in ours.ipynb")
    page.keyboard.press("Alt+q")
    expect(notebook.output(20)).to_be_in_viewport()
    page.wait_for_function(FOCUSED)
    notebook.button(20, answer).click()
    expect(page.locator(MARKED)).to_have_count(0)
    expect(page.locator(STATUS)).not_to_contain_text("waiting")
    expect(toasts(page)).to_have_count(0)


@BOTH
def test_a_question_and_a_turn_in_another_page_are_counted_and_said(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    first = Notebook.new(context, lab, "shared.ipynb", SAY, "demo: create a.txt yes\nsay Done.", "%status")
    first.run(0)
    first.save()
    expect(first.page.locator(STATUS)).to_have_text(re.compile("^demo agent · .* · Ask first$"))
    other = Notebook(context.new_page())
    other.page.goto(lab.address("shared.ipynb", classic=classic))
    other.wait_ready()
    other.run(1, wait=False)
    expect(other.button(1, ALLOW)).to_be_enabled()
    expect(first.page.locator(STATUS)).to_have_text("demo agent: 1 question waiting")
    expect(first.page.locator(MARKED)).to_have_count(1)
    other.wait_saved()
    late = Notebook(context.new_page())
    late.page.goto(lab.address("shared.ipynb"))
    expect(late.page.locator(STATUS)).to_have_text("demo agent: 1 question waiting")
    assert findings(late.page, ".jp-OutputArea", ".copilot-status") == []
    late.button(1, DENY).click()
    expect(late.output(1)).to_contain_text("denied by you.")
    assert findings(late.page, ".jp-OutputArea", ".copilot-status") == []
    expect(other.output(1)).to_contain_text(REJECTED)
    for page in (first.page, late.page):
        expect(page.locator(STATUS)).to_have_text(re.compile("^demo agent · .* · Ask first$"))
        expect(page.locator(MARKED)).to_have_count(0)


def test_after_a_restart_the_question_says_that_it_is_over(context: BrowserContext, lab: Lab) -> None:
    notebook = asking(context, lab, "restarted.ipynb", "demo: create restarted.txt yes\nsay Done.")
    notebook.page.evaluate(RESTART)
    notebook.wait_status("idle")
    card = notebook.output(0).locator(".copilot-question")
    expect(card).to_have_class(re.compile("jupyter-widgets-disconnected"))
    expect(notebook.question(0, "restarted.txt")).to_be_visible()
    assert OVER in card.evaluate("card => getComputedStyle(card, '::after').content")
    expect(notebook.button(0, re.compile("."))).to_have_count(0)
    card.evaluate("card => card.querySelectorAll('button').forEach(button => button.click())")
    notebook.run(0, wait=False)
    expect(notebook.button(0, ALLOW)).to_be_enabled()
    assert not (lab.root / "restarted.txt").exists()
    notebook.button(0, DENY).click()
    expect(notebook.output(0)).to_contain_text(REJECTED)
    expect(notebook.page.locator(DEAD_WIDGET)).to_have_count(0)
