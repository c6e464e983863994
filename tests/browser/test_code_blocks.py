"""What the front-end extension adds to the page: buttons on code blocks, and a hint in an empty notebook."""

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import BOTH, Lab, Notebook
from .story import SOURCES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

ANSWER = "say Try this:\\n\\n```python\\nx = 1\\ny = 2\\n```\\nDone."
USERS_OWN = "from IPython.display import HTML\nHTML('<pre>mine</pre>')"
LOOKS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(({ model, node }) => {
  const { whiteSpace, fontFamily } = getComputedStyle(node.querySelector('.cm-content'));
  return [model.mimeType, whiteSpace === 'break-spaces', !fontFamily.includes('mono')];
})"""
"""Of each cell how it is coloured, whether its lines wrap, and whether its font is proportional."""
MARKDOWN, PYTHON = ["text/x-ipythongfm", True, True], ["text/x-ipython", False, False]
HINT = """cell => getComputedStyle(cell.querySelector('.cm-line'), '::before').content"""


@BOTH
def test_a_code_block_of_an_answer_is_copied_and_inserted_below(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    cells = ("%load_ext copilot_kernel", f"%%copilot\ndemo: {ANSWER}", USERS_OWN)
    path = lab.write("blocks.ipynb", *cells, kernel="python3")
    notebook = Notebook.open(context, lab, "blocks.ipynb", classic=classic)
    notebook.run(0, 1, 2)
    tools = notebook.page.locator(".copilot-code-tools")
    expect(tools).to_have_count(1)
    expect(tools).to_have_css("opacity", "0")
    notebook.output(1).locator("pre", has_text="x = 1").hover()
    expect(tools).to_have_css("opacity", "1")
    copy = tools.get_by_role("button", name="Copy", exact=True)
    copy.click()
    expect(tools).to_contain_text("Copied")
    assert notebook.page.evaluate("() => navigator.clipboard.readText()") == "x = 1\ny = 2"

    insert = tools.get_by_role("button", name="Insert below")
    insert.focus()
    notebook.page.keyboard.press("Enter")
    sources = list(cells)
    sources.insert(2, "x = 1\ny = 2")
    assert notebook.page.evaluate(SOURCES) == sources
    notebook.command("notebook:undo-cell-action")
    assert notebook.page.evaluate(SOURCES) == list(cells)
    notebook.save()
    assert "copilot-code-tools" not in path.read_text()
    notebook.page.reload()
    expect(notebook.output(1).locator("pre", has_text="x = 1")).to_be_visible()
    expect(tools).to_have_count(0)


def test_a_new_copilot_notebook_says_what_to_type(context: BrowserContext, lab: Lab) -> None:
    path = lab.write("hint.ipynb", "", "")
    notebook = Notebook.open(context, lab, "hint.ipynb")
    expect(notebook.page.locator(".jp-NotebookPanel:visible .copilot-notebook")).to_have_count(1)
    assert "%help lists commands" in notebook.cell(0).evaluate(HINT)
    assert notebook.cell(1).evaluate(HINT) == "none"
    notebook.cell(0).locator(".cm-content").click()
    notebook.page.keyboard.type("H")
    assert notebook.cell(0).evaluate(HINT) == "none"
    notebook.page.keyboard.press("Backspace")
    assert "%help" in notebook.cell(0).evaluate(HINT)
    notebook.save()
    assert "%help" not in path.read_text()

    other = Notebook.new(context, lab, "other.ipynb", "", kernel="python3")
    assert other.cell(0).evaluate(HINT) == "none"


def test_a_prompt_wraps_and_is_markdown_as_long_as_it_is_one(context: BrowserContext, lab: Lab) -> None:
    cells = ("%%copilot\nNot **in** this file", "x = 1")
    notebook = Notebook.new(context, lab, "prompts.ipynb", *cells, kernel="python3")
    looks = f"looks => JSON.stringify(({LOOKS})()) === JSON.stringify(looks)"
    notebook.page.wait_for_function(looks, arg=[MARKDOWN, PYTHON])
    notebook.command("notebook:insert-cell-below")
    notebook.command("notebook:move-cell-down")
    notebook.page.wait_for_function(looks, arg=[MARKDOWN, PYTHON, PYTHON])
    notebook.cell(0).locator(".cm-content").click()
    notebook.page.keyboard.press("Control+Home")
    notebook.page.keyboard.press("Delete")
    notebook.page.wait_for_function(looks, arg=[PYTHON] * 3)
    notebook.page.keyboard.type("%")
    notebook.page.wait_for_function(looks, arg=[MARKDOWN, PYTHON, PYTHON])

    notebook = Notebook.new(context, lab, "prompts-copilot.ipynb", "What **is** it?", "%help")
    notebook.page.wait_for_function(looks, arg=[MARKDOWN, ["text/x-markdown", True, False]])
