"""Where a notebook is saved, and one that cannot be read; how one is read, the kernels' tests show."""

from pathlib import Path

import pytest
from copilot_kernel.frontend.saved_notebook import folders_of_page, read_saved
from copilot_kernel.notebook.live import NotebookError

BAD = ["", "{", "[]", "{}", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{}]}', '{"worksheets": []}', "[" * 100_000]


@pytest.mark.parametrize("text", BAD)
def test_a_notebook_that_is_none_is_reported(tmp_path: Path, text: str) -> None:
    book = tmp_path / "book.ipynb"
    book.write_text(text)
    with pytest.raises(NotebookError, match=r"cannot be read: .*book\.ipynb"):
        read_saved(str(book))


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
