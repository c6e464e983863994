"""Notebooks run without a person: nbclient and papermill."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from ..limits import LIMIT


def notebook(kernelspec: str, *cells: str) -> Any:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": kernelspec, "display_name": "Copilot", "language": "copilot"}
    return book


def executed(book: Any, folder: Path, **options: Any) -> Any:
    return NotebookClient(book, timeout=int(LIMIT), resources={"metadata": {"path": str(folder)}}, **options).execute()


def shown(cell: Any) -> str:
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def test_a_failed_cell_fails_the_run_with_its_name_and_text(kernelspec: str, tmp_path: Path) -> None:
    book = notebook(kernelspec, "demo: error -32603 No such luck", "demo: say Never")
    with pytest.raises(CellExecutionError) as caught:
        executed(book, tmp_path)
    assert (caught.value.ename, "No such luck" in caught.value.evalue) == ("AgentRefused", True)


def test_a_second_run_leaves_the_notebook_with_its_metadata_as_it_was_and_questions_are_rejected(
    kernelspec: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    cells = ("demo: think Hm.\nsay Hello\nplan One;Two / 1\nunasked echo out", "demo: edit a.txt old => new")
    first = executed(notebook(kernelspec, *cells), tmp_path, record_timing=False)
    second = executed(deepcopy(first), tmp_path, record_timing=False)

    assert first == second
    assert [cell.metadata for cell in first.cells] == [{}, {}]
    assert (tmp_path / "a.txt").read_text() == "old\n"
    assert "COPILOT_KERNEL_ALLOW" in shown(first.cells[1])
    assert "widgets" not in first.metadata
    assert [list(o.metadata) for cell in first.cells for o in cell.outputs if o.metadata] == [["copilot_kernel"]] * 2


@pytest.mark.parametrize("runner", ["nbclient", "papermill"])
def test_a_second_run_sends_its_prompts_again_and_gives_the_same(
    kernelspec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: str
) -> None:
    from papermill import execute_notebook

    monkeypatch.setenv("COPILOT_KERNEL_RERUN", "keep")
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Edit"]')
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path / "state"))
    book = notebook(kernelspec, "%status", "demo: say Hello", "demo: edit a.txt old => new\nsay Done.")
    work, (source, out) = tmp_path / "work", (tmp_path / name for name in ("in.ipynb", "out.ipynb"))
    work.mkdir()

    def run() -> tuple[list[str], str]:
        (work / "a.txt").write_text("old\n")
        nbformat.write(book, source)
        if runner == "nbclient":
            done = executed(nbformat.read(source, 4), work)
        else:
            done = execute_notebook(source, out, cwd=work, progress_bar=False)
        return [shown(cell) for cell in done.cells[1:]], (work / "a.txt").read_text()

    first, second = run(), run()
    assert ("Done." in first[0][1], first[1]) == (True, "new\n")
    assert second == first
