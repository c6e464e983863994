"""Where a notebook is saved, and one that cannot be read; how one is read, the kernels' tests show."""

import json
from pathlib import Path

import pytest
from copilot_kernel.notebook.live import NotebookError
from copilot_kernel.pages.saved_notebook import BAD_CELL, UNREADABLE, folders_of_page, read_saved

CONFLICT = '{\n "cells": [\n<<<<<<< HEAD\n  {"cell_type": "code", "source": "1"}\n=======\n>>>>>>> theirs\n ]\n}'
BAD = {
    "": "not JSON; a text notebook of jupytext can be read as a file",
    "# %%\nprint(1)\n": "not JSON; a text notebook of jupytext can be read as a file",
    "[]": "not JSON; a text notebook of jupytext can be read as a file",
    "{": "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    "{}": "no list of cells",
    '{"cells": 1}': "no list of cells",
    CONFLICT: "Git's conflict markers in line 3",
    '{"nbformat": 3, "worksheets": [{"cells": []}]}': "format 3; JupyterLab saves it in format 4",
    '{"cells": ' + "[" * 100_000: "no list of cells",
}


@pytest.mark.parametrize("text", BAD)
def test_a_notebook_that_cannot_be_read_says_why(tmp_path: Path, text: str) -> None:
    book = tmp_path / "book.ipynb"
    book.write_text(text)
    with pytest.raises(NotebookError) as caught:
        read_saved(str(book))
    assert str(caught.value) == UNREADABLE.format(book, BAD[text])


def test_one_bad_cell_hides_no_others(tmp_path: Path) -> None:
    book, good = tmp_path / "book.ipynb", {"id": "a", "cell_type": "code", "source": "1"}
    bad = [
        {"id": "b", "cell_type": "code"},
        1,
        {**good, "outputs": [1]},
        {**good, "outputs": 1},
        {**good, "source": [1]},
    ]
    book.write_text(json.dumps({"cells": [good, *bad, good]}))
    unread = [(f"cell-{number}", "raw", BAD_CELL) for number in range(1, 6)]
    found = [(cell.id, cell.type, cell.source) for cell in read_saved(str(book)).cells]
    assert found == [("a", "code", "1"), *unread, ("a", "code", "1")]


def test_a_notebook_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotebookError, match="cannot be read"):
        read_saved(str(tmp_path / "gone.ipynb"))
    with pytest.raises(NotebookError, match="does not know where"):
        read_saved("")


@pytest.mark.parametrize("path", ["a/book.ipynb", "a/renamed.ipynb", "b/c/moved.ipynb", "top.ipynb"])
def test_the_paths_of_a_page_begin_where_the_notebook_is_now(tmp_path: Path, path: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).touch()
    assert folders_of_page(str(tmp_path / "a" / "book.ipynb"), path) == (str(tmp_path),)


def test_they_are_unknown_where_nothing_is_there_or_the_start_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "book.ipynb").touch()
    assert folders_of_page(str(tmp_path / "book.ipynb"), "gone.ipynb") == ()
    assert folders_of_page("", "book.ipynb") == ()


def test_all_folders_count_in_which_it_may_be(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "a"):
        folder.mkdir(exist_ok=True)
        (folder / "book.ipynb").touch()
    assert folders_of_page(str(tmp_path / "a" / "old.ipynb"), "book.ipynb") == (str(tmp_path / "a"), str(tmp_path))
