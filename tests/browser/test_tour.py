"""The tour in JupyterLab: opening it changes nothing, and part 5 gives what is recorded."""

import shutil

import nbformat
import pytest
from copilot_kernel.cli.demo import fresh_copy
from nbformat import NotebookNode
from playwright.sync_api import BrowserContext

from ..notebooks.record import IN_PAGE, NOTEBOOKS, run_in_page
from .lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_page")]

TOUR = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))
OPENED = """async () => {
  const { context } = window.jupyterapp.shell.currentWidget;
  const { language_info } = await context.sessionContext.session.kernel.info;
  return [context.model.dirty, context.model.getMetadata('language_info'), language_info];
}"""


@pytest.fixture
def tour(lab: Lab) -> Lab:
    """What `copilot-kernel demo` shows."""
    copy = fresh_copy(NOTEBOOKS)
    shutil.copytree(copy, lab.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    shutil.rmtree(copy)
    return lab


@pytest.mark.parametrize("name", TOUR)
def test_opening_a_part_of_the_tour_does_not_mark_it_as_changed(context: BrowserContext, tour: Lab, name: str) -> None:
    notebook = Notebook.open(context, tour, name)
    is_dirty, saved, language = notebook.page.evaluate(OPENED)
    assert (is_dirty, saved) == (False, language)


def texts(notebook: NotebookNode) -> dict[str, list[str]]:
    """What each cell shows, as text: the HTML also holds what the agent has read of a turn that was on its way."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {
        cell.id: [each.data["text/plain"] if "data" in each else each.ename for each in cell.outputs] for cell in cells
    }


def test_part_5_gives_in_a_page_what_is_recorded(context: BrowserContext, tour: Lab) -> None:
    ran = run_in_page(Notebook.open(context, tour, IN_PAGE.name))
    assert texts(ran) == texts(nbformat.read(IN_PAGE, as_version=4))
