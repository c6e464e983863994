"""The status item and its menu, by mouse and by keyboard."""

import os
import re

import pytest
from playwright.sync_api import BrowserContext, expect

from .axe import findings
from .lab import Lab, Notebook, toasts

pytestmark = pytest.mark.browser

ITEM = ".copilot-status"
LABEL = ".copilot-menu .lm-Menu-itemLabel"


def test_the_item_says_what_is_in_force_and_its_menu_sets_it(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "menu.ipynb", "demo: say word", "")
    page = notebook.page
    item = page.locator(ITEM)
    expect(item).to_have_text("Copilot · Ask first")  # before the first prompt
    notebook.run(0)
    expect(item).to_have_text("demo agent · Scripted · Ask first")
    item.press("Enter")
    page.locator(LABEL, has_text="Permissions").hover()
    plan = page.locator(LABEL, has_text="Plan only")
    expect(plan).to_be_visible()
    if folder := os.environ.get("SHOTS"):
        for theme in ("Dark", "Light"):
            page.keyboard.press("Escape")
            page.keyboard.press("Escape")
            notebook.theme(f"JupyterLab {theme}")
            for width in (1400, 700):
                page.set_viewport_size({"width": width, "height": 900})
                item.press("Enter")
                page.locator(LABEL, has_text="Permissions").hover()
                plan.wait_for()
                page.screenshot(path=f"{folder}/menu-{theme}-{width}.png")
                page.keyboard.press("Escape")
                page.keyboard.press("Escape")
        item.press("Enter")
        page.locator(LABEL, has_text="Permissions").hover()
    page.locator(LABEL, has_text="Allow everything").click()
    page.locator(".copilot-ask").get_by_role("button", name=re.compile("^Allow everything")).click()
    expect(item).to_have_text("demo agent · Scripted · ⚠ Allow everything")
    expect(item).to_have_attribute("data-kind", "alarm")
    assert findings(page, ITEM) == []
    notebook.cell(1).locator(".cm-content").fill("%permissions mode plan")
    notebook.run(1)
    expect(item).to_have_text("demo agent · Scripted · Plan only")
    expect(toasts(page)).to_have_count(0)


def test_a_python_notebook_with_prompts_has_the_item_too_and_a_new_conversation_is_a_cell(
    context: BrowserContext, lab: Lab
) -> None:
    notebook = Notebook.new(
        context, lab, "python.ipynb", "%load_ext copilot_kernel\n%copilot demo: say word", kernel="python3"
    )
    item = notebook.page.locator(ITEM)
    expect(item).to_have_text("Copilot")
    notebook.run(0)
    expect(item).to_have_text("demo agent · Scripted · Ask first")
    item.press("Enter")
    notebook.page.locator(LABEL, has_text="Conversation").hover()
    notebook.page.locator(LABEL, has_text="New conversation").click()
    expect(notebook.cell(1).locator(".cm-content")).to_have_text("%copilot %new")
    expect(notebook.output(1)).to_contain_text("new conversation")


def test_notebook_7_has_the_menu_without_a_status_bar(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "classic.ipynb", "demo: say word", classic=True)
    notebook.run(0)
    notebook.command("copilot:menu")
    page = notebook.page
    page.locator(LABEL, has_text="Permissions").hover()
    page.locator(LABEL, has_text="Plan only").click()
    notebook.command("copilot:menu")
    page.locator(LABEL, has_text="Conversation").hover()
    page.locator(LABEL, has_text="What was allowed").click()
    expect(notebook.output(1)).to_contain_text("Plan only (plan)")
