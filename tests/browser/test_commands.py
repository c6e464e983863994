"""Commands and their pickers, with real widgets."""

import re

import nbformat
import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]


def test_what_is_picked_is_set_at_once_and_no_picker_blocks_run_all(context: BrowserContext, lab: Lab) -> None:
    path = lab.write("picker.ipynb", "%mode", "%status", "demo: say Apples", "%new", "%sessions")
    notebook = Notebook.open(context, lab, "picker.ipynb")
    notebook.command("notebook:run-all-cells")
    resume = notebook.output(4).get_by_title(re.compile("^Resume: Demo: demo: say Apples · (just now|\\d+ min ago)$"))
    expect(resume).to_be_visible()
    notebook.wait_status("idle")
    expect(notebook.output(0).get_by_role("cell", name="plan", exact=True)).to_be_visible()

    notebook.run(0)
    expect(notebook.output(0).get_by_role("cell", name="plan", exact=True)).to_be_hidden()
    notebook.button(0, "Plan: thinks first").click()
    expect(notebook.output(0).get_by_role("status")).to_have_text("✓ Mode: Plan: thinks first (plan)")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("Plan: thinks first")

    resume.click()
    expect(notebook.output(4)).to_contain_text("demo: say Apples")
    expect(notebook.output(4).get_by_role("status")).to_contain_text("✓ Resumed: Demo: demo: say Apples")
    expect(notebook.button(0, "Plan: thinks first")).to_have_count(0)

    notebook.save()
    shown = nbformat.read(path, 4).cells[4].outputs
    assert "Demo: demo: say Apples" in shown[0]["data"]["text/plain"]


def test_a_saved_notebook_shows_the_choices_and_a_page_that_is_loaded_again_the_picker(
    context: BrowserContext, lab: Lab
) -> None:
    notebook = Notebook.new(context, lab, "saved-picker.ipynb", "%mode")
    notebook.run(0)
    notebook.save()
    notebook.page.reload()
    notebook.wait_ready()
    notebook.button(0, "Plan: thinks first").click()
    expect(notebook.output(0).get_by_role("status")).to_contain_text("✓ Mode: Plan")

    notebook.page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.sessionContext.shutdown(); }")
    notebook.page.reload()
    notebook.wait_ready()
    expect(notebook.output(0).get_by_role("cell", name="plan", exact=True)).to_be_visible()
    expect(notebook.output(0).locator(".jp-OutputArea-child").nth(1)).to_be_hidden()
