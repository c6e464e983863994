"""Marks beside cells that the agent inserted or edited."""

import pytest
from playwright.sync_api import BrowserContext, expect

from .axe import findings
from .lab import BOTH, Lab, Notebook
from .story import LOAD, Story, ask

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

MARKED = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .map(({ node }) => node.querySelector(':scope > .copilot-mark > summary')?.title ?? '')"""
FOCUSED = "() => document.activeElement.textContent"
EDIT, INSERT = {"id": "c1", "expected": "a = 1", "source": "a = 2"}, {"source": "Text", "type": "markdown"}


def wait_marks(notebook: Notebook, *titles: str) -> None:
    """Until the cells have marks with these titles."""
    notebook.page.wait_for_function(f"titles => JSON.stringify(({MARKED})()) === JSON.stringify(titles)", arg=titles)


@BOTH
def test_cells_are_marked_until_the_user_edits_them_also_after_a_reload(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    prompt = ask(("edit_cell", EDIT), ("insert_cell", INSERT))
    story = Story.begin(context, lab, "marks.ipynb", "a = 1", "b = 1", prompt, classic=classic)
    notebook, page = story.notebook, story.page
    wait_marks(notebook, "", "", "", "")
    notebook.run(3, wait=False)
    story.allow(3, "Edit cell 2")
    story.allow(3, "Insert a markdown cell")
    story.ended(3)
    edited, inserted = "Edited by demo agent, asked in [2]", "Inserted by demo agent, asked in [2]"
    page.locator(".copilot-mark > summary").last.hover()  # the number comes after the footer
    page.locator(".copilot-mark > summary").first.hover()
    wait_marks(notebook, "", edited, "", "", inserted)
    expect(page.locator(".copilot-mark").get_by_role("button", name="Undo")).to_have_count(0)  # none is open

    page.locator(".copilot-mark > summary").first.focus()
    page.keyboard.press("Enter")
    opened = page.locator(".copilot-mark[open]")
    expect(opened.get_by_role("button")).to_have_text(["Review", "Undo"])
    assert findings(page, ".copilot-mark") == []
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => ({FOCUSED})() === 'cell 2'")

    notebook.save()
    saved = (lab.root / "marks.ipynb").read_text()
    assert ('"crc32": ' in saved, "copilot-mark" in saved) == (True, False)
    page.reload()
    notebook.wait_ready()
    wait_marks(notebook, "", edited, "", "", inserted)
    page.locator(".copilot-mark > summary").first.click()
    expect(opened.get_by_role("button")).to_have_text(["Review"])  # the page has no undo for a saved turn
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    notebook.cell(1).locator(".cm-content").click()
    page.keyboard.type("0")
    wait_marks(notebook, "", "", "", "", inserted)
    page.keyboard.press("Backspace")
    wait_marks(notebook, "", edited, "", "", inserted)


def test_undo_at_a_mark_is_that_of_its_turn(context: BrowserContext, lab: Lab) -> None:
    story = Story.begin(context, lab, "mark-undo.ipynb", "a = 1", ask(("edit_cell", EDIT)))
    story.notebook.run(2, wait=False)
    story.allow(2, "Edit cell 2")
    story.ended(2)
    story.page.locator(".copilot-mark > summary").click()
    story.page.locator(".copilot-mark").get_by_role("button", name="Undo").click()
    story.notebook.button(3, "Undo").click()
    wait_marks(story.notebook, "", "", "", "")
    assert story.sources()[:2] == [LOAD, "a = 1"]
