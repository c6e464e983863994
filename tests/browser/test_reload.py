"""A page that is reloaded while a question is open in a notebook that was not saved, in a real JupyterLab."""

from __future__ import annotations

import sys

import pytest
from playwright.sync_api import BrowserContext, expect

from ..jupyter.front_end import until
from ..limits import LIMIT
from .lab import Lab, Notebook

pytestmark = pytest.mark.browser

ALLOW = "Allow once"
GRACE = "import copilot_kernel.frontend.questions as questions; questions.GRACE_SECONDS = {}"
KERNEL = f"""{GRACE}
is_drawn = questions.Card.is_drawn
async def looked(*question):
    drawn = await is_drawn(*question)
    open(f"drawn-{{{{drawn}}}}", "w").close()
    return drawn
questions.Card.is_drawn = looked
from runpy import run_module
run_module('copilot_kernel', run_name='__main__', alter_sys=True)
"""
"""It tells in its folder whether a page draws the question, once it knows that."""
HASTE = 0.1
LOST = "A question was cancelled because no open page showed it"


@pytest.fixture(scope="module")
def hasty(server: Lab) -> str:
    """The name of a Copilot kernel that does not wait for a page to draw a question."""
    server.add_kernel("hasty", (sys.executable, "-P", "-c", KERNEL.format(HASTE), "-f", "{connection_file}"))
    return "hasty"


@pytest.fixture(scope="module")
def patient(server: Lab) -> str:
    """The name of one that waits."""
    server.add_kernel("patient", (sys.executable, "-P", "-c", KERNEL.format(LIMIT), "-f", "{connection_file}"))
    return "patient"


def opened(context: BrowserContext, lab: Lab, name: str, *cells: str, kernel: str) -> Notebook:
    """A notebook that is saved only when the test says so: the front-end extension would save each question."""
    context.route("**/extensions/copilot-kernel/**", lambda route: route.abort())
    return Notebook.new(context, lab, name, *cells, kernel=kernel)


def reload(notebook: Notebook) -> None:
    """Leave the page without saving, and open it again; a slow page is there only when the question is cancelled."""
    notebook.page.on("dialog", lambda dialog: dialog.accept())
    notebook.page.reload()
    notebook.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").first.wait_for()
    notebook.wait_status("busy", "idle")


def run_after(notebook: Notebook, index: int) -> None:
    """Run a cell once the kernel is idle, again if it was so early that the cancelled cell before took it along."""
    notebook.wait_status("idle")
    for _ in range(3):
        notebook.run(index)
        if notebook.output(index).inner_text().strip():
            return


def lose(context: BrowserContext, lab: Lab, kernel: str, name: str) -> None:
    """Ask in another notebook, lose the question, and wait until it is cancelled: the grace time has passed."""
    notebook = opened(context, lab, name, "demo: ask Something else", kernel=kernel)
    notebook.run(0, wait=False)
    expect(notebook.button(0, ALLOW)).to_be_visible()
    reload(notebook)
    until((lab.root / "drawn-False").exists, "the end of the grace time", limit=LIMIT)
    notebook.wait_status("idle")
    notebook.page.close()


@pytest.mark.parametrize("ask", ["demo: ask Something\nsay Done.", "demo: elicit form\nsay Done.", "%mode"])
def test_a_question_that_a_reload_lost_is_cancelled(context: BrowserContext, lab: Lab, hasty: str, ask: str) -> None:
    notebook = opened(context, lab, f"lost-{len(ask)}.ipynb", ask, "demo: say Next.", kernel=hasty)
    notebook.run(0, wait=False)
    expect(notebook.output(0).get_by_role("button").first).to_be_visible()
    reload(notebook)
    expect(notebook.output(0)).to_have_text("")
    run_after(notebook, 1)
    expect(notebook.output(1)).to_contain_text("Next.")
    assert (LOST in notebook.output(1).inner_text()) == (ask != "%mode")


def test_a_question_that_comes_after_the_reload_is_cancelled(context: BrowserContext, lab: Lab, hasty: str) -> None:
    ask = "demo: say First.\\n\\n\nslow 80 0.1\nask Something\nsay Done."
    notebook = opened(context, lab, "early.ipynb", ask, "demo: say Next.", kernel=hasty)
    notebook.run(0, wait=False)
    expect(notebook.output(0)).to_contain_text("First.")
    reload(notebook)
    run_after(notebook, 1)
    expect(notebook.output(1)).to_contain_text("Next.")
    expect(notebook.output(1)).to_contain_text(LOST)


def test_saved_at_the_end_of_a_long_notebook_it_still_waits(context: BrowserContext, lab: Lab, hasty: str) -> None:
    """JupyterLab draws it when somebody scrolls there."""
    cells = ["demo: say Nothing.\n" + "\n".join(f"# line {line}" for line in range(20))] * 40
    notebook = opened(context, lab, "long.ipynb", *cells, "demo: create long.txt yes\nsay Done.", kernel=hasty)
    notebook.run(40, wait=False)
    expect(notebook.button(40, ALLOW)).to_be_visible()
    notebook.save()
    reload(notebook)
    lose(context, lab, hasty, "clock-long.ipynb")
    notebook.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.scrollToItem(40)")
    notebook.button(40, ALLOW).click()
    notebook.wait_status("idle")
    assert (lab.root / "long.txt").read_text().strip() == "yes"


def test_a_second_page_without_it_does_not_cancel_what_the_first_shows(
    context: BrowserContext, lab: Lab, patient: str
) -> None:
    first = opened(context, lab, "two.ipynb", "demo: create two.txt yes\nsay Done.", kernel=patient)
    first.run(0, wait=False)
    expect(first.button(0, ALLOW)).to_be_visible()
    second = Notebook(context.new_page())
    second.page.goto(lab.address("two.ipynb"))
    second.page.locator(".jp-NotebookPanel:visible .jp-CodeCell").first.wait_for()
    second.wait_status("busy")
    expect(second.output(0)).to_have_text("")
    until((lab.root / "drawn-True").exists, "a look at the first page", limit=LIMIT)
    first.button(0, ALLOW).click()
    expect(first.output(0)).to_contain_text("Done.")
    assert (lab.root / "two.txt").read_text().strip() == "yes"
