"""The tour's recorded outputs are what a run gives today (nbval), and each can be read without a kernel."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from copilot_kernel.demo import project

from ..trusting import trust_environment
from .record import AS_RECORDED, NOTEBOOKS

TOUR = sorted(NOTEBOOKS.glob("*.ipynb"))
OURS = ("COPILOT_KERNEL_AGENT", "COPILOT_KERNEL_DEMO_COMMAND")
"""Set for other tests; the notebooks name their agent, which is the one that is shipped."""
SANITIZE = f"--nbval-sanitize-with={Path(__file__).with_name('sanitize.cfg')}"
PROJECT_ABOVE = """[tool.pytest.ini_options]
addopts = ["-p", "no:nbval", "--import-mode=importlib"]
filterwarnings = ["error"]
"""


@pytest.mark.parametrize(
    ("how", "more"), [(("--nbval", SANITIZE), AS_RECORDED), (("--nbval-lax",), {})], ids=["as recorded", "lax"]
)
def test_nbval_runs_the_tour_without_settings_and_leaves_nothing_behind(
    tmp_path: Path, how: tuple[str, ...], more: dict[str, str]
) -> None:
    """In a checkout, whose settings of pytest do not count, and after a run that was broken off."""
    (tmp_path / "pyproject.toml").write_text(PROJECT_ABOVE)
    folder = shutil.copytree(NOTEBOOKS, tmp_path / "notebooks", ignore=shutil.ignore_patterns("__pycache__"))
    before = listing(tmp_path)
    project.reset(folder)
    environ = {name: value for name, value in os.environ.items() if name not in OURS} | more
    environ["COPILOT_KERNEL_DEMO_HOME"] = str(tmp_path.with_name(f"{tmp_path.name}-home"))
    environ["JUPYTER_CONFIG_DIR"] = str(tmp_path.with_name(f"{tmp_path.name}-config"))
    trust_environment(environ)
    command = [sys.executable, "-m", "pytest", "-q", *how, "notebooks"]
    run = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-4000:]
    cells = sum(cell.cell_type == "code" for path in TOUR for cell in nbformat.read(path, as_version=4).cells)
    assert re.search(rf"\b{cells} passed", run.stdout)
    assert listing(tmp_path) == before


def listing(folder: Path) -> dict[Path, bytes]:
    """Every file, with its content."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_there_are_five_notebooks_and_each_code_cell_is_recorded() -> None:
    assert len(TOUR) == 5
    cells = [cell for path in TOUR for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)


@pytest.mark.parametrize("path", TOUR, ids=lambda path: path.stem)
def test_a_recorded_output_can_be_read_without_a_kernel(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert "widgets" not in notebook.metadata
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type == "error" or (output.get("text") or output.data["text/plain"]).strip()
            assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {})


@pytest.mark.parametrize("path", TOUR, ids=lambda path: path.stem)
def test_nobody_is_told_to_allow_everything(path: Path) -> None:
    assert "bypassPermissions" not in path.read_text()
