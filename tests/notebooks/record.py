"""`python -m tests.notebooks.record`: run the tour without a person and keep its outputs in the notebooks.

Part 5 is about cells that the agent changes, so it runs in a page, where every question is allowed once.
"""

import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from playwright.sync_api import Error as PlaywrightError

from ..browser.lab import KERNEL_STATUS, SIZE, Notebook, running_lab, running_profile
from ..jupyter.front_end import until
from ..limits import LIMIT
from ..trusting import trust_environment

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
IN_PAGE = NOTEBOOKS / "05-copilot-works-in-your-notebook.ipynb"
AS_RECORDED = {"COPILOT_KERNEL_ALLOW": '["Read", "Edit", "Bash", "mcp__notebook__run_python"]'}
EMPTY = {"text/html": "", "text/plain": ""}
MODEL = "() => JSON.parse(JSON.stringify(window.jupyterapp.shell.currentWidget.context.model))"
VARYING = (r" · (<span[^>]*>)?[0-9.]+ s(</span>)?", r'<span class="copilot-undo.*?</span>')
GONE = r'<a href="#cell-id=[0-9a-f-]{36}"[^>]*>(.*?)</a>'
"""A link to a cell that was inserted: undone, it has gone."""


def record(path: Path) -> None:
    """One notebook, in an empty folder; what is different each time does not go into the file."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as private:
        resources = {"metadata": {"path": folder}}
        places = ("COPILOT_KERNEL_DEMO_HOME", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR")
        env = {**os.environ, **AS_RECORDED, **{name: f"{private}/{name}" for name in places}}
        trust_environment(env)
        NotebookClient(notebook, timeout=int(LIMIT), record_timing=False, resources=resources).execute(env=env)
    nbformat.write(notebook, path)


def record_in_page(path: Path) -> None:
    """The same in JupyterLab."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with running_lab(root) as lab, running_profile(root / "profile", SIZE) as context:
            shutil.copy(path, lab.root)
            nbformat.write(run_in_page(Notebook.open(context, lab, path.name)), path)


def run_in_page(page: Notebook) -> NotebookNode:
    """Run each code cell, allow what the agent asks, and undo what it does to cells: the notebook with its outputs."""
    page.command("notebook:clear-all-cell-outputs")
    notebook = _model(page)
    for cell in notebook.cells:
        cell.metadata.pop("trusted", None)
    sources = [cell.source for cell in notebook.cells]
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            page.run(index, wait=False)
            until(partial(_is_over, page, cell.id), f"{cell.id} ends")
            cell |= {each: _cell(page, cell.id)[each] for each in ("outputs", "execution_count")}
            cell.outputs = [_as_each_time(output) for output in cell.outputs if output.get("data") != EMPTY]
            if [each.source for each in _model(page).cells] != sources:
                page.command("notebook:undo-cell-action")
    return notebook


def _is_over(page: Notebook, id: str) -> bool:
    """Press *Allow once*, if it is there; True once the cell has ended."""
    for button in page.page.get_by_role("button", name="Allow once").all():
        with suppress(PlaywrightError):  # it has gone meanwhile
            button.click(timeout=1000)
    return bool(_cell(page, id).execution_count) and page.page.evaluate(KERNEL_STATUS) == "idle"


def _model(page: Notebook) -> NotebookNode:
    return nbformat.from_dict(page.page.evaluate(MODEL))


def _cell(page: Notebook, id: str) -> NotebookNode:
    return next(cell for cell in _model(page).cells if cell.id == id)


def _as_each_time(output: NotebookNode) -> NotebookNode:
    """The output without what is different each time."""
    output.get("metadata", {}).get("copilot_kernel", {}).pop("session_id", None)
    for mime, text in output.get("data", {}).items():
        output.data[mime] = re.sub(GONE, r"\1", re.sub("|".join(VARYING), "", text))
    return output


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        (record_in_page if path == IN_PAGE else record)(path)
        print(path.name)
