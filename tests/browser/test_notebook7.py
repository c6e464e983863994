"""Notebook 7, the other front end of Jupyter's own: the Copilot kernel, and `%%copilot` beside Python."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook
from .test_first_use import DEAD_WIDGET
from .test_python_notebook import INTERRUPT, LOAD

pytestmark = pytest.mark.browser

FITS = "shown => shown.scrollWidth <= shown.clientWidth"


def opened(context: BrowserContext, lab: Lab, name: str, *cells: str) -> Notebook:
    """A notebook with the stock Python kernel and the extension loaded; the cells begin with number 1."""
    lab.write(name, LOAD, *cells, kernel="python3")
    notebook = Notebook.open(context, lab, name, classic=True)
    notebook.run(0)
    return notebook


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
    assert not (lab.root / "seven.txt").exists()
    allow.click()
    expect(notebook.output(0)).to_contain_text("Done.")
    expect(notebook.output(0)).to_contain_text("allowed by you")
    assert (lab.root / "seven.txt").read_text().split() == ["one", "two"]


def test_in_python_an_answer_streams_and_an_edit_is_allowed_while_the_cell_runs(
    context: BrowserContext, lab: Lab
) -> None:
    ask = "%%copilot\ndemo: say First words.\\n\\n\nslow 5\ncreate python7.txt one\\ntwo\nsay Done."
    notebook = opened(context, lab, "python7.ipynb", ask, "_copilot.diffs[0].new_text")
    notebook.run(1, wait=False)
    notebook.run(2, wait=False)
    expect(notebook.output(1)).to_contain_text("First words.")
    allow = notebook.button(1, "Allow once")
    expect(allow).to_be_visible()
    expect(notebook.page.locator(".jp-Stdin")).to_have_count(0)
    notebook.wait_status("busy")
    assert not (lab.root / "python7.txt").exists()
    allow.click()
    expect(notebook.output(1)).to_contain_text("Done.")
    expect(notebook.output(2)).to_contain_text("one")
    assert (lab.root / "python7.txt").read_text().split() == ["one", "two"]

    notebook.save()
    assert "widget-view" not in json.dumps(json.loads((lab.root / "python7.ipynb").read_text())["cells"])
    notebook.page.reload()
    expect(notebook.output(1)).to_contain_text("allowed by you")
    expect(notebook.page.locator(DEAD_WIDGET)).to_have_count(0)


def test_in_python_stop_cancels_the_turn_and_the_cells_behind_it(context: BrowserContext, lab: Lab) -> None:
    ask = "%%copilot\ndemo: say Working.\\n\\n\nask"
    notebook = opened(context, lab, "stop7.ipynb", ask, "print('never')", "%copilot demo: say Alive.")
    notebook.run(1, wait=False)
    notebook.run(2, wait=False)
    expect(notebook.button(1, "Allow once")).to_be_visible()
    notebook.page.locator(INTERRUPT).first.click()
    expect(notebook.output(1)).to_contain_text("■ Stopped by you after")
    expect(notebook.button(1, "Allow once")).to_have_count(0)
    notebook.wait_status("idle")
    expect(notebook.output(2)).to_have_text("")
    notebook.run(3)
    expect(notebook.output(3)).to_contain_text("Alive.")
