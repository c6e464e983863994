"""Notebook 7, the other front end of Jupyter's own: from its list of files to an answer, on a small screen."""

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

pytestmark = pytest.mark.browser

FITS = "shown => shown.scrollWidth <= shown.clientWidth"


def test_from_the_list_of_files_to_an_answer_and_a_question_on_a_small_screen(
    context: BrowserContext, lab: Lab
) -> None:
    files = context.new_page()
    files.goto(f"{lab.url}/tree/{lab.folder}?token={lab.token}")
    files.get_by_text("New", exact=True).first.click()
    with context.expect_page() as opening:
        files.get_by_role("menuitem", name="Copilot", exact=True).first.click()
    notebook = Notebook(opening.value)
    notebook.wait_ready()
    notebook.page.set_viewport_size({"width": 480, "height": 900})
    notebook.cell(0).locator(".cm-content").click()
    notebook.page.keyboard.type("demo: say First words.\\n\\n\ncreate seven.txt one\\ntwo\nsay Done.", delay=1)
    notebook.page.keyboard.press("Shift+Enter")
    expect(notebook.output(0)).to_contain_text("First words.")
    allow = notebook.button(0, "Allow once")
    expect(allow).to_be_in_viewport()
    assert notebook.output(0).locator(".copilot-question").evaluate(FITS)
    expect(notebook.output(0).locator(".jp-OutputArea-output").first).to_have_css("padding-left", "8px")
    assert not (lab.root / "seven.txt").exists()
    allow.click()
    expect(notebook.output(0)).to_contain_text("Done.")
    expect(notebook.output(0)).to_contain_text("allowed by you")
    assert (lab.root / "seven.txt").read_text().split() == ["one", "two"]
