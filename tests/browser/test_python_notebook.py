"""`%copilot` in a Python notebook in JupyterLab, beside widgets and plots of the user's."""

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


def test_a_widget_of_the_users_and_a_plot_work_while_the_agent_works(context: BrowserContext, lab: Lab) -> None:
    plot = "%matplotlib inline\nimport matplotlib.pyplot as plt\n%copilot demo: say Plotted.\n_ = plt.plot([1, 3, 2])"
    cells = (LOAD, OWN_WIDGETS, "%copilot demo: ask", "len(clicks)", plot)
    notebook = Notebook.new(context, lab, "python-own.ipynb", *cells, kernel="python3")
    notebook.run(0, 1)
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
