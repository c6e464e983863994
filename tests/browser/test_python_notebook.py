"""`%%copilot` in a Python notebook in JupyterLab: buttons, inputs and ■ while the cell runs, and what is saved."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

LOAD = "%load_ext copilot_kernel"
INTERRUPT = "jp-button[data-command='notebook:interrupt-kernel'], [data-command='notebook:interrupt-kernel']"
OWN_WIDGETS = """
import ipywidgets
clicks = []
button = ipywidgets.Button(description="Mine")
button.on_click(lambda button: clicks.append(1))
button
"""


def opened(context: BrowserContext, lab: Lab, name: str, *cells: str) -> tuple[Notebook, Path]:
    """A notebook with the stock Python kernel and the extension loaded; the cells begin with number 1."""
    path = lab.write(name, LOAD, *cells, kernel="python3")
    notebook = Notebook.open(context, lab, name)
    notebook.run(0)
    return notebook, path


def test_an_edit_is_allowed_by_a_button_while_the_cell_runs_and_the_saved_notebook_reads_well(
    context: BrowserContext, lab: Lab
) -> None:
    ask = "%%copilot\ndemo: say First words.\\n\\n\nslow 5\ncreate python.txt one\\ntwo\nsay Done."
    notebook, path = opened(context, lab, "python.ipynb", ask, "_copilot.diffs[0].new_text", "_copilot")
    notebook.run(1, 2, wait=False)
    expect(notebook.output(1)).to_contain_text("First words.")
    allow = notebook.button(1, "Allow once")
    expect(allow).to_be_visible()
    expect(notebook.page.locator(".jp-Stdin")).to_have_count(0)
    notebook.wait_status("busy")
    assert not (lab.root / "python.txt").exists()
    allow.click()
    expect(notebook.output(1)).to_contain_text("Done.")
    expect(notebook.output(1)).to_contain_text("allowed by you")
    expect(notebook.output(2)).to_contain_text("one")
    assert (lab.root / "python.txt").read_text().split() == ["one", "two"]
    notebook.run(3)
    expect(notebook.output(3)).to_contain_text("First words.")

    notebook.save()
    saved = json.loads(path.read_text())
    assert "allowed by you" in json.dumps(saved["cells"][1]["outputs"])
    assert "widget-view" not in json.dumps(saved["cells"])


def test_a_widget_of_the_users_and_a_plot_work_while_the_agent_works(context: BrowserContext, lab: Lab) -> None:
    plot = "%matplotlib inline\nimport matplotlib.pyplot as plt\n%copilot demo: say Plotted.\n_ = plt.plot([1, 3, 2])"
    notebook, _ = opened(context, lab, "python-own.ipynb", OWN_WIDGETS, "%copilot demo: ask", "len(clicks)", plot)
    notebook.run(1)
    notebook.run(2, wait=False)
    allow = notebook.button(2, "Allow once")
    expect(allow).to_be_visible()
    for _ in range(3):
        notebook.button(1, "Mine").click()
    allow.click()
    notebook.wait_status("idle")
    notebook.run(3)
    expect(notebook.output(3)).to_contain_text("3")
    notebook.run(4)
    expect(notebook.output(4)).to_contain_text("Plotted.")
    expect(notebook.output(4).locator("img")).to_be_visible()
