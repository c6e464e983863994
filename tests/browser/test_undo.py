"""Undo beside what a turn has changed: a button that shows what would be restored, and asks."""

import json
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.rendering.footer import UNDONE
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell
from playwright.sync_api import BrowserContext, expect

from .lab import BOTH, Lab
from .story import LOAD, Story, ask

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

HOSTILE = "from IPython.display import HTML\nHTML('<div class=\"copilot-undo copilot-undo-{1/0}\">mine</div>')"
OPEN_BESIDE = """async path => {
  const { commands, shell } = window.jupyterapp;
  const notebook = shell.currentWidget;
  await commands.execute('docmanager:open', { path, options: { mode: 'split-right' } });
  shell.activateById(notebook.id);
}"""
RENAME = """async path => {
  const { serviceManager, shell } = window.jupyterapp;
  await serviceManager.contents.rename(shell.currentWidget.context.path, path);
}"""
CHANGE = """([index, source]) =>
  window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells[index].setSource(source)"""

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WHOLE = (
    new_markdown_cell(
        "![dot](attachment:dot.png)",
        metadata={"tags": ["keep"], "slideshow": {"slide_type": "slide"}},
        attachments={"dot.png": {"image/png": DOT}},
    ),
    new_code_cell(
        "alpha = 0.5",
        execution_count=7,
        metadata={"tags": ["parameters"], "editable": True},
        outputs=[new_output("stream", name="stdout", text="took six hours\n" * 200_000)],
    ),
    new_raw_cell("\\section{Raw}", metadata={"raw_mimetype": "text/latex"}),
)


def saved_cells(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text())["cells"])


@BOTH
def test_a_turn_is_undone_by_its_button(context: BrowserContext, lab: Lab, classic: bool) -> None:
    file = lab.root / "undone.txt"
    file.write_text("first\n")
    prompt = "%%copilot\ndemo: edit undone.txt first => second"
    story = Story.begin(context, lab, "undo.ipynb", prompt, HOSTILE, classic=classic)
    story.notebook.run(2)
    story.notebook.run(1, wait=False)
    story.allow(1, "undone.txt")
    story.ended(1)
    assert file.read_text() == "second\n"

    button = story.page.locator(".copilot-undo-button")
    expect(button).to_have_count(1)
    line, box = story.notebook.output(1).get_by_text("Changed undone.txt").bounding_box(), button.bounding_box()
    assert box["height"] >= 24
    assert box["y"] <= line["y"] <= box["y"] + box["height"]
    button.click()
    restore = story.notebook.output(2).get_by_role("button", name="Undo")
    expect(restore).to_have_count(1)
    assert story.sources()[2].startswith("%copilot %undo 1-")
    assert file.read_text() == "second\n"
    restore.click()
    expect(story.notebook.output(2)).to_contain_text("Restored: undone.txt.")
    assert file.read_text() == "first\n"
    expect(story.notebook.output(1)).to_contain_text(f"{UNDONE} · undone.txt is as it was")
    expect(button).to_have_count(0)
    story.notebook.save()
    saved = (lab.root / "undo.ipynb").read_text()
    assert "copilot-undo-button" not in saved
    assert "Restored: undone.txt." in saved
    assert f"{UNDONE} · undone.txt is as it was" in saved
    story.notebook.run(1, wait=False)
    story.allow(1, "undone.txt")
    story.ended(1)
    expect(story.notebook.output(1)).not_to_contain_text("last time")


def test_cells_are_restored_and_what_the_user_changed_since_stays(context: BrowserContext, lab: Lab) -> None:
    prompt = ask(
        ("edit_cell", {"id": "c1", "expected": "a = 1", "source": "a = 2"}),
        ("edit_cell", {"id": "c2", "expected": "b = 1", "source": "b = 2"}),
        ("delete_cell", {"id": "c3", "expected": "c = 1"}),
        ("insert_cell", {"source": "d = 1", "type": "code"}),
    )
    story = Story.begin(context, lab, "undo-cells.ipynb", "a = 1", "b = 1", "c = 1", prompt)
    story.notebook.run(4, wait=False)
    story.allow(4, "Edit cell 2")
    story.allow(4, "Edit cell 3")
    story.allow(4, "Delete cell 4")
    story.allow(3, "Insert")
    story.ended(3)
    assert story.sources() == [LOAD, "a = 2", "b = 2", prompt, "d = 1"]
    story.page.evaluate(CHANGE, [2, "b = 3"])
    story.page.locator(".copilot-undo-button").click()
    output = story.notebook.output(4)
    expect(output.get_by_text("it has changed since")).to_be_visible()
    output.get_by_role("button", name="Undo").click()
    expect(story.notebook.output(5)).to_contain_text("Restored:")  # the deleted cell is above it again
    sources = [source for source in story.sources() if not source.startswith("%copilot %undo")]
    assert sources == [LOAD, "a = 1", "b = 3", "c = 1", prompt]


def test_a_deleted_cell_comes_back_whole(context: BrowserContext, lab: Lab) -> None:
    deleting = [("delete_cell", {"id": f"c{at}", "expected": cell["source"]}) for at, cell in enumerate(WHOLE, 1)]
    story = Story.begin(context, lab, "undo-whole.ipynb", *WHOLE, ask(*deleting))
    before = saved_cells(lab.root / "undo-whole.ipynb")
    story.notebook.run(4, wait=False)
    for place in (2, 2, 1):  # of the prompt, among the code cells
        story.allow(place, "Delete cell 2")
    story.ended(1)
    assert len(story.sources()) == 2
    story.page.locator(".copilot-undo-button").click()
    story.notebook.output(2).get_by_role("button", name="Undo").click()
    expect(story.notebook.output(3)).to_contain_text("Restored: deleted cell")
    story.notebook.save()
    assert saved_cells(lab.root / "undo-whole.ipynb")[1:4] == before[1:4]


def test_after_a_rename_neither_the_notebook_nor_what_is_open_beside_it_is_restored(
    context: BrowserContext, lab: Lab
) -> None:
    (lab.root / "sub").mkdir()
    for name in ("beside.txt", "closed.txt"):
        (lab.root / name).write_text("first\n")
    edits = [f"edit {name} first => second" for name in ("beside.txt", "closed.txt", "sub/renamed.ipynb")]
    story = Story.begin(
        context, lab, "undo-rename.ipynb", "%%copilot\ndemo: say hello", "%%copilot\ndemo: " + "\n".join(edits)
    )
    story.notebook.run(1)
    story.page.evaluate(RENAME, lab.path("sub/renamed.ipynb"))
    story.page.evaluate(OPEN_BESIDE, lab.path("beside.txt"))
    story.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells[1].setSource('first')"
    )
    story.notebook.save()
    story.notebook.run(2, wait=False)
    for edit in edits:
        story.allow(2, edit.split()[1])
    story.ended(2)
    story.page.locator(".copilot-undo-button").click()
    output = story.notebook.output(3)
    expect(output.get_by_text("it is open in another tab")).to_be_visible()
    expect(output).not_to_contain_text("renamed.ipynb")
    output.get_by_role("button", name="Undo").click()
    expect(output).to_contain_text("Restored: closed.txt.")
    texts = [(lab.root / name).read_text() for name in ("beside.txt", "closed.txt")]
    assert texts == ["second\n", "first\n"]
