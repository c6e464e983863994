"""Many notebooks at once, run by papermill in the processes of a Dask cluster."""

from pathlib import Path

import nbformat
import pytest
from cloudpickle import register_pickle_by_value
from distributed import Client, LocalCluster
from papermill import execute_notebook

from .. import ports
from ..jupyter.conftest import kernelspec
from ..jupyter.test_nbclient import notebook, shown
from .engine import await_none_of

__all__ = ["kernelspec"]  # a fixture
pytestmark = pytest.mark.engine

NOTEBOOKS = 6


def test_notebooks_of_a_cluster_do_not_mix_and_leave_no_process(kernelspec: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for number in range(NOTEBOOKS):
        cells = (f"demo: say First of {number}.", f"demo: create {number}.txt x", f"demo: say Last of {number}.")
        nbformat.write(notebook(kernelspec, *cells), tmp_path / "in" / f"{number}.ipynb")
    cluster = LocalCluster(2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, local_directory=tmp_path)
    register_pickle_by_value(ports)
    with cluster, Client(cluster) as client:
        client.run(ports.use_for_kernels)
        runs = [
            client.submit(execute_notebook, *(str(tmp_path / place / f"{number}.ipynb") for place in ("in", "out")),
                          cwd=str(tmp_path), progress_bar=False)
            for number in range(NOTEBOOKS)
        ]  # fmt: skip
        done = client.gather(runs)
    texts = [[shown(cell) for cell in book.cells] for book in done]
    for number, (first, asked, last) in enumerate(texts):
        assert f"First of {number}." in first
        assert "COPILOT_KERNEL_ALLOW" in asked
        assert f"Last of {number}." in last
    await_none_of(tmp_path)
