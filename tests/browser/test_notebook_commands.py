"""The front-end extension's commands, and files that are pasted or dropped into prompts."""

import json

import pytest
from playwright.sync_api import BrowserContext, expect

from .axe import findings
from .driven import CELLS
from .lab import BOTH, Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

GIVE = """async ([selector, kind, name, type, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, {type}));
  const event = kind === 'paste'
    ? new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})
    : new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true});
  document.querySelector(selector).dispatchEvent(event);
  return event.defaultPrevented;
}"""
EDITOR = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell.jp-mod-active .cm-content"


def cells(notebook: Notebook) -> list[list[str]]:
    return list(notebook.page.evaluate(CELLS))


def give(notebook: Notebook, kind: str, name: str, type: str, text: str) -> bool:
    """Paste or drop a file into the active cell; whether the extension took it."""
    return bool(notebook.page.evaluate(GIVE, [EDITOR, kind, name, type, text]))


@BOTH
def test_a_button_beneath_a_traceback_asks_copilot_to_fix_it(context: BrowserContext, lab: Lab, classic: bool) -> None:
    name = f"fix-{classic}.ipynb"
    notebook = Notebook.new(context, lab, name, "x = 1", "undefined_name", kernel="python3", classic=classic)
    page = notebook.page
    fix = page.get_by_role("button", name="Fix with Copilot")
    notebook.run(0)
    notebook.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    expect(page.locator(".jp-cell-toolbar [data-command='copilot:ask-about-cell'] >> visible=true")).to_have_count(1)
    expect(fix).to_have_count(0)
    notebook.run(1)
    expect(fix).to_have_count(1)
    assert fix.evaluate(
        "each => each.getBoundingClientRect().top >= each.previousElementSibling.getBoundingClientRect().bottom"
    )
    notebook.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    assert findings(page, ".copilot-fix") == []
    fix.click()
    notebook.wait_status("idle")
    assert [source for _, source in cells(notebook)][2] == "%copilot fix"
    expect(notebook.output(2)).to_contain_text("demo")
    expect(notebook.output(2)).not_to_contain_text("not found")
    expect(fix).to_have_count(1)


def test_an_empty_notebook_suggests_prompts_that_fill_its_cell(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "empty.ipynb", "")
    suggested = notebook.page.locator(".copilot-suggestions button")
    expect(suggested).to_have_text(
        ["Explain what this project does", "Find a bug and fix it", "Make a plan for a new feature"]
    )
    assert findings(notebook.page, ".copilot-suggestions") == []
    suggested.nth(1).click()
    assert [source for _, source in cells(notebook)] == ["Find a bug and fix it"]
    expect(suggested).to_have_count(0)
    notebook.page.keyboard.press("Control+Z")
    expect(suggested).to_have_count(3)


def test_a_prompt_about_a_cell_names_it_and_is_completed_by_typing(context: BrowserContext, lab: Lab) -> None:
    for kernel, magic in (("python3", "%%copilot\n"), ("copilot", "")):
        name = f"ask-about-{kernel}.ipynb"
        notebook = Notebook.new(context, lab, name, "x = 1", "y = 2", kernel=kernel)
        first = cells(notebook)[0][0]
        notebook.command("copilot:ask-about-cell")
        notebook.page.keyboard.type("Why?")
        assert [source for _, source in cells(notebook)] == ["x = 1", f"{magic}@cell:{first} Why?", "y = 2"]


def test_shortcuts_ask_about_a_cell(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "shortcut.ipynb", "x = 1", kernel="python3")
    notebook.cell(0).locator(".jp-InputPrompt").click()
    notebook.page.keyboard.press("Shift+Q")
    expect(notebook.cell(1)).to_contain_text("%%copilot")


def test_a_new_notebook_and_the_chat_are_commands(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(context, lab, "start.ipynb", "x = 1", kernel="python3")
    notebook.command("copilot:open-chat")
    chat = notebook.page.frame_locator("iframe.copilot-chat")
    expect(chat.get_by_label("Message")).to_be_visible()
    notebook.command("copilot:open-chat")
    expect(notebook.page.locator("iframe.copilot-chat")).to_have_count(1)
    notebook.command("copilot:new-notebook")
    expect(notebook.page.locator(".jp-NotebookPanel:visible .jp-Toolbar-kernelName")).to_have_text("Copilot")


def test_a_file_that_is_pasted_or_dropped_into_a_prompt_is_saved_and_attached(
    context: BrowserContext, lab: Lab
) -> None:
    notebook = Notebook.new(context, lab, "files/paste.ipynb", "%%copilot\nWhat is it?", "x = 1", kernel="python3")
    notebook.cell(0).locator(".cm-content").click()
    assert give(notebook, "paste", "image.png", "image/png", "first")
    expect(notebook.cell(0)).to_contain_text("%attach image.png")
    assert give(notebook, "drop", "image.png", "image/png", "second")
    expect(notebook.cell(0)).to_contain_text("%attach image-2.png")
    source = "%%copilot\n%attach image.png\n%attach image-2.png\nWhat is it?"
    assert cells(notebook)[0][1] == source
    saved = {path.name: path.read_text() for path in (lab.root / "files").glob("*.png")}
    assert saved == {"image.png": "first", "image-2.png": "second"}

    notebook.cell(1).locator(".cm-content").click()
    give(notebook, "drop", "other.txt", "text/plain", "third")
    expect(notebook.cell(1)).to_contain_text("third")  # as the editor does by itself
    notebook.save()
    written = json.loads((lab.root / "files" / "paste.ipynb").read_text())
    assert "".join(written["cells"][0]["source"]) == source
    assert "attachments" not in written["cells"][0]
    assert not (lab.root / "files" / "other.txt").exists()
