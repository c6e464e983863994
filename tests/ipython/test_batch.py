"""Python notebooks run without a person: nbclient and papermill."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from copilot_kernel.pages.saved_notebook import UNKNOWN

from ..jupyter.front_end import installed
from ..jupyter.test_nbclient import executed, notebook, shown
from ..limits import LIMIT
from .conftest import ARGV, LOAD


@pytest.fixture(scope="module")
def kernelspec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of an installed Python kernel of this interpreter."""
    with installed(tmp_path_factory.mktemp("jupyter"), "python-test", argv=ARGV, language="python") as name:
        yield name


def test_a_question_is_rejected_and_the_cell_says_how_to_allow_it(kernelspec: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    book = executed(notebook(kernelspec, LOAD, "%%copilot\ndemo: edit a.txt old => new"), tmp_path)
    assert (tmp_path / "a.txt").read_text() == "old\n"
    assert "COPILOT_KERNEL_ALLOW" in shown(book.cells[1])
    assert "widgets" not in book.metadata


def test_what_is_allowed_by_a_setting_is_done(kernelspec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Edit"]')
    (tmp_path / "a.txt").write_text("old\n")
    book = executed(
        notebook(kernelspec, LOAD, "%%copilot\ndemo: edit a.txt old => new", "len(_copilot.diffs)"), tmp_path
    )
    assert ((tmp_path / "a.txt").read_text(), shown(book.cells[2])) == ("new\n", "1")


def test_two_runs_of_a_notebook_give_the_same_outputs(kernelspec: str, tmp_path: Path) -> None:
    cells = (
        "%%copilot\ndemo: think Hm.\nsay Hello\nplan One;Two / 1\nunasked echo out",
        "%copilot demo: slow 5 0.01",
        "_copilot",
    )
    first, second = (
        [cell.outputs for cell in executed(notebook(kernelspec, LOAD, *cells), tmp_path).cells] for _ in range(2)
    )
    assert [[o.get("data") for o in outputs] for outputs in first] == [
        [o.get("data") for o in outputs] for outputs in second
    ]


def test_papermill_gives_parameters_to_a_prompt(kernelspec: str, tmp_path: Path) -> None:
    from papermill import execute_notebook

    book = notebook(kernelspec, LOAD, "name = 'nobody'", "%copilot demo: echo {name}")
    book.metadata.kernelspec.language = "python"
    book.cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(book, tmp_path / "in.ipynb")
    options = {"cwd": tmp_path, "progress_bar": False, "parameters": {"name": "Ada"}}
    done = execute_notebook(tmp_path / "in.ipynb", tmp_path / "out.ipynb", **options)
    assert "\\nAda\\n</value>" in shown(done.cells[-1])


def test_a_notebook_that_another_one_runs_is_not_that_other_one(kernelspec: str, tmp_path: Path) -> None:
    task = tmp_path / "task"
    task.mkdir()
    outer = tmp_path / "driver.ipynb"
    nbformat.write(notebook(kernelspec, "secret = 1"), outer)
    book = notebook(
        kernelspec,
        LOAD,
        f"%%copilot\ndemo: create {tmp_path}/outside.txt x",
        "%%copilot\ndemo: create inside.txt x",
        "%%copilot\ndemo: unasked env > agent.txt",
        "%copilot @above demo: say done",
    )
    book.metadata.kernelspec.language = "python"
    nbformat.write(book, tmp_path / "inner.ipynb")
    environ = {
        **os.environ,
        "JPY_SESSION_NAME": str(outer),
        "KERNEL_WORKING_DIR": str(tmp_path),
        "COPILOT_KERNEL_PERMISSION_MODE": "acceptEdits",
    }
    command = [sys.executable, "-m", "papermill", "inner.ipynb", "out.ipynb", "--cwd", "task"]
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=LIMIT)
    assert UNKNOWN in ran.stderr, ran.stderr
    assert ((tmp_path / "outside.txt").exists(), (task / "inside.txt").read_text()) == (False, "x")
    assert not [line for line in (task / "agent.txt").read_text().splitlines() if line.startswith(("JPY_", "KERNEL_"))]
