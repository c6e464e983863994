"""`python -m tests.notebooks.record`: run the tour without a person and keep its outputs in the notebooks."""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from ..limits import LIMIT

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
AS_RECORDED = {"COPILOT_KERNEL_ALLOW": '["Read", "Edit", "Bash", "mcp__notebook__run_python"]'}


def record(path: Path) -> None:
    """One notebook, in an empty folder; what is different each time does not go into the file."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        env = {**os.environ, **AS_RECORDED, "COPILOT_KERNEL_DEMO_HOME": f"{folder}/.demo"}
        NotebookClient(notebook, timeout=int(LIMIT), record_timing=False, resources=resources).execute(env=env)
    notebook.metadata["language_info"] = {"name": notebook.metadata["kernelspec"]["language"]}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        record(path)
        print(path.name)
