"""A saved notebook that cannot be read is an error in words; how one is read, the kernels' tests show."""

from __future__ import annotations

from pathlib import Path

import pytest
from copilot_kernel.frontend.saved_notebook import read_saved
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
