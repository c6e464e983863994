"""The agent at work in the notebook that its user looks at, from the prompt to what can be undone."""

import re

import nbformat
import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import BOTH, Lab
from .story import INTERRUPT, LOAD, PROMPTS, Story, ask

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

SALES = 'sales = [{"month": month, "price": price} for month in ("May", "June") for price in (10, 12, 14)]'
TABLE = """import pandas
days = pandas.date_range("2025-01-01", "2025-06-30")
df = pandas.DataFrame({"day": days, "price": range(len(days))})"""
SELECT = "index => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = index; }"


@BOTH
def test_a_cell_that_failed_is_corrected_and_run_again_and_the_edit_is_undone_in_one_step(
    context: BrowserContext, lab: Lab, classic: bool
) -> None:
    wrong, right = 'max(sale["price"] for sale in sails)', 'max(sale["price"] for sale in sales)'
    story = Story.begin(context, lab, f"fix-story-{classic}.ipynb", SALES, wrong, "%copilot fix", classic=classic)
    notebook = story.notebook
    notebook.run(1, 2)
    expect(notebook.output(2)).to_contain_text("NameError")
    notebook.run(3, wait=False)
    expect(notebook.question(3, "Edit cell 3")).to_contain_text("in sails")
    expect(notebook.question(3, "Edit cell 3")).to_contain_text("in sales")
    assert story.sources()[2] == wrong
    story.allow(3, "Edit cell 3 and run it")
    story.ended(3)
    assert story.sources()[2] == right
    expect(notebook.output(2)).to_contain_text("14")
    expect(notebook.output(3)).to_contain_text("The cell said sails where it meant sales.")
    story.page.evaluate(SELECT, 2)
    notebook.cell(2).locator(".cm-content").click()
    story.page.keyboard.press("Control+z")
    assert story.sources()[2] == wrong


def test_a_figure_appears_in_an_inserted_cell_after_one_question_while_the_prompt_runs(
    context: BrowserContext, lab: Lab
) -> None:
    prompt = "%%copilot\nPlot the monthly mean of `price` in df."
    name = "plot-story.ipynb"
    story = Story.begin(context, lab, name, TABLE, prompt, "len(df)")
    notebook = story.notebook
    notebook.run(1)
    notebook.run(2, wait=False)
    expect(notebook.question(2, "Insert a code cell and run it")).to_contain_text('["price"].mean()')
    assert len(story.sources()) == 4
    story.allow(2, "Insert a code cell and run it")
    expect(notebook.output(3).locator("img")).to_be_visible()
    story.ended(2)
    output = notebook.output(2)
    expect(output).to_contain_text(re.compile(r"This came out:.*figure \d+×\d+", re.DOTALL))
    expect(output).to_contain_text("Inserted and ran cell 4")
    expect(output.get_by_text("by you")).to_have_count(1)
    story.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.node.scrollTop = 0; }")
    output.get_by_role("link", name="cell 4").click()
    expect(notebook.cell(3)).to_be_in_viewport()
    assert story.page.evaluate(PROMPTS) == ["[1]:", "[2]:", "[3]:", "[4]:", "[ ]:"]
    notebook.run(4)
    expect(notebook.cell(4).locator(".jp-InputPrompt").first).to_have_text("[5]:")

    notebook.save()
    saved = nbformat.read(lab.root / name, as_version=4)
    nbformat.validate(saved)
    assert all(not cell["metadata"] for cell in saved["cells"])
    assert set(saved["metadata"]) == {"kernelspec", "language_info"}
    assert story.undo() == [LOAD, TABLE, prompt, "len(df)"]


@pytest.mark.parametrize(
    ("wait", "classic"),
    [("import time; time.sleep(600)", False), ("import asyncio; await asyncio.sleep(600)", True)],
    ids=["sleep-lab", "await-classic"],
)
def test_stop_ends_code_that_the_agent_runs_and_the_next_cell_runs(
    context: BrowserContext, lab: Lab, wait: str, classic: bool
) -> None:
    prompt = ask(("insert_cell", {"source": f"print('begun')\n{wait}", "run": True}))
    name = f"stop-story-{'await' in wait}-{classic}.ipynb"
    story = Story.begin(context, lab, name, prompt, "print('still', 'here')", classic=classic)
    notebook = story.notebook
    notebook.run(1, wait=False)
    story.allow(1, "Insert a code cell and run it")
    expect(notebook.output(2)).to_contain_text("begun")
    story.page.locator(INTERRUPT).first.click()
    expect(notebook.output(2)).to_contain_text(re.compile("KeyboardInterrupt|CancelledError"))
    expect(notebook.output(1)).to_contain_text("■ Stopped by you after")
    story.rests()
    notebook.run(3)
    expect(notebook.output(3)).to_contain_text("still here")


OWN_WIDGETS = """
import ipywidgets
clicks = []
button = ipywidgets.Button(description="Mine")
button.on_click(lambda button: clicks.append(1))
button
"""


def test_a_widget_of_the_users_and_a_plot_work_while_the_agent_works(context: BrowserContext, lab: Lab) -> None:
    plot = "%matplotlib inline\nimport matplotlib.pyplot as plt\n%copilot demo: say Plotted.\n_ = plt.plot([1, 3, 2])"
    cells = (OWN_WIDGETS, "%copilot demo: ask", "len(clicks)", plot)
    notebook = Story.begin(context, lab, "own-widgets.ipynb", *cells).notebook
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
