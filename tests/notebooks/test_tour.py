"""The tour's recorded outputs are what a run gives today (nbval), and each can be read without a kernel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from .record import NOTEBOOKS

TOUR = sorted(NOTEBOOKS.glob("*.ipynb"))
HEADLESS = {
    "COPILOT_KERNEL_AGENT": "demo",
    "COPILOT_KERNEL_ALLOW": '["Read", "Edit", "Bash", "mcp__notebook__run_python"]',
}


def test_nbval_finds_the_recorded_outputs_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    command += ["-W", "default", "--nbval-cell-timeout", "60"]
    command += ["--nbval-sanitize-with", str(Path(__file__).with_name("sanitize.cfg")), *map(str, copies(tmp_path))]
    environ = {**os.environ, **HEADLESS}
    del environ["COPILOT_KERNEL_DEMO_COMMAND"]  # the shipped demo agent
    run = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-4000:]
    cells = sum(cell.cell_type == "code" for path in TOUR for cell in nbformat.read(path, as_version=4).cells)
    assert re.search(rf"\b{cells} passed", run.stdout)


def copies(folder: Path) -> list[Path]:
    """The notebooks, where nothing they write lands in the checkout."""
    made = [folder / path.name for path in TOUR]
    for copy, path in zip(made, TOUR, strict=True):
        copy.write_bytes(path.read_bytes())
    return made


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
