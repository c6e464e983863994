"""The table of contents: a Copilot notebook's leaves outputs out, a Python notebook's keeps them."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import BOTH, Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

SHOWN = (
    "() => [...window.jupyterapp.shell.widgets('left')].find(each => each.id === 'table-of-contents').model !== null"
)
# The third cell counts as changed, and its outputs are looked through again if they are to be.
REFRESHED = """async () => {
  const { model } = [...window.jupyterapp.shell.widgets('left')].find(each => each.id === 'table-of-contents');
  const { content } = window.jupyterapp.shell.currentWidget;
  const { sanitizer } = content.rendermime;
  const sanitize = sanitizer.sanitize;
  let sanitized = 0;
  sanitizer.sanitize = (...args) => { sanitized += 1; return sanitize.apply(sanitizer, args); };
  const { outputs } = content.widgets[2].model;
  outputs.set(0, outputs.get(0).toJSON());
  await model.refresh();
  delete sanitizer.sanitize;
  return { sanitized, headings: model.headings.map(each => each.text), outputs: model.configuration.includeOutput };
}"""
HEADINGS = "from IPython.display import HTML\nHTML('<h1>Mine</h1>')"
ANSWER = "say # Title\\n\\nThe answer."


def refreshed(notebook: Notebook) -> dict[str, Any]:
    """What the table of contents did and shows once an output of the third cell has changed."""
    notebook.page.wait_for_function(SHOWN)
    return dict(notebook.page.evaluate(REFRESHED))


@BOTH
def test_a_copilot_notebook_is_not_searched_for_headings_of_outputs(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    notebook = Notebook.new(
        context, lab, "contents.ipynb", "demo: say One.", "demo: say Two.", f"demo: {ANSWER}", classic=classic
    )
    notebook.run(0, 1, 2)
    expect(notebook.output(2).locator("h1")).to_have_text("Title")
    assert refreshed(notebook) == {"sanitized": 0, "headings": [], "outputs": False}
    settings = lab.root.parents[1] / "private" / "_settings_dir" / "@jupyterlab" / "toc-extension"
    assert not settings.exists()

    notebook.page.evaluate(
        "() => window.jupyterapp.commands.execute('toc:display-outputs-numbering')"
    )  # the user's own choice stays
    notebook.run(2)
    shown = refreshed(notebook)
    assert shown["outputs"]
    assert shown["sanitized"] > 0


def test_a_python_notebook_keeps_the_headings_of_its_outputs(context: BrowserContext, lab: Lab) -> None:
    notebook = Notebook.new(
        context,
        lab,
        "python-contents.ipynb",
        "%load_ext copilot_kernel",
        f"%%copilot\ndemo: {ANSWER}",
        HEADINGS,
        kernel="python3",
    )
    notebook.run(0, 1, 2)
    shown = refreshed(notebook)
    assert shown["headings"] == ["Mine"]
    assert shown["sanitized"] > 0
