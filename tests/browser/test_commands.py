"""Commands and their pickers, with real widgets."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

pytestmark = pytest.mark.browser


def test_what_is_picked_is_set_and_the_saved_notebook_has_no_widget(context: BrowserContext, lab: Lab) -> None:
    path = lab.write("picker.ipynb", "%mode", "%mode", "%status", "demo: say Apples", "%new", "%sessions")
    notebook = Notebook.open(context, lab, "picker.ipynb")
    notebook.run(0, wait=False)
    notebook.button(0, "Plan: thinks first").click()
    notebook.button(0, "Apply").click()
    expect(notebook.output(0)).to_contain_text("Mode: Plan: thinks first")

    notebook.run(1, wait=False)
    notebook.button(1, "Cancel").click()
    expect(notebook.output(1)).to_contain_text("Nothing changed.")

    for cell in (2, 3, 4):
        notebook.run(cell)
    expect(notebook.output(2)).to_contain_text("Plan: thinks first")
    notebook.run(5, wait=False)
    apples = notebook.output(5).locator("option", has_text="Apples").first.get_attribute("value")
    notebook.output(5).get_by_label("Session").select_option(apples)
    notebook.button(5, "Resume").click()
    expect(notebook.output(5)).to_contain_text("Resumed: Demo: demo: say Apples")

    notebook.save()
    saved = json.loads(path.read_text())
    kinds = {kind for cell in saved["cells"] for output in cell["outputs"] for kind in output.get("data", {})}
    assert (kinds, "widgets" in saved["metadata"]) == ({"text/plain", "text/html"}, False)


def test_commands_are_completed_with_what_may_follow_them(context: BrowserContext, lab: Lab) -> None:
    lab.write("complete.ipynb", "demo: say Hello", "%mode ")
    notebook = Notebook.open(context, lab, "complete.ipynb")
    notebook.run(0)
    notebook.cell(1).locator(".cm-content").click()
    notebook.page.keyboard.press("End")
    notebook.page.keyboard.press("Tab")
    items = notebook.page.locator(".jp-Completer-item")
    expect(items).to_have_count(2)
    assert [item.locator(".jp-Completer-match").inner_text() for item in items.all()] == ["agent", "plan"]
