"""The cells of a notebook as they were saved, where no page can be asked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path, PurePath
from typing import Any

from ..notebook.live import NotebookCell, NotebookError, NotebookState, Output

MAX_NOTEBOOK_BYTES = 100_000_000
UNKNOWN = "No page shows this notebook to the agent, and the kernel does not know where it is saved."

UNREADABLE = "The saved notebook cannot be read: {} ({})"
BAD_CELL = "(This cell cannot be read.)"


def folders_of_page(started: str, path: str) -> tuple[str, ...]:
    """Return folders where the page's paths may begin, if it calls the notebook `path` that was at `started` when
    opened.

    The server does not tell its kernels. It is a folder above `started`, and the notebook is there under its new name.
    """
    folders = map(str, PurePath(started).parents) if started else ()
    return tuple(folder for folder in folders if os.path.isfile(os.path.join(folder, path)))


def read_saved(path: str) -> NotebookState:
    """All cells with their outputs. Raises NotebookError, which says why, if the notebook cannot be read."""
    if not path:
        raise NotebookError(UNKNOWN)
    try:
        if Path(path).stat().st_size > MAX_NOTEBOOK_BYTES:
            raise NotebookError("The saved notebook is too large to be read.")
        content = Path(path).read_bytes()
    except OSError as error:
        raise NotebookError(UNREADABLE.format(path, error.strerror)) from error
    try:
        book = json.loads(content)
        cells = book["cells"]
        if not isinstance(cells, list):
            raise TypeError
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise NotebookError(UNREADABLE.format(path, _why_not(content, error))) from error
    return NotebookState(tuple(map(_readable, count(), cells)), path=path, saved=True)


def _why_not(content: bytes, error: Exception) -> str:
    """Say why this is not a notebook of format 4."""
    if conflict := re.search(rb"^<{7} ", content, re.MULTILINE):
        line = content[: conflict.start()].count(b"\n") + 1
        return f"Git's conflict markers in line {line}"
    if old := re.search(rb'"nbformat": *([1-3])\b', content):
        return f"format {old[1].decode()}; JupyterLab saves it in format 4"
    if not content.lstrip().startswith(b"{"):
        return "not JSON; a text notebook of jupytext can be read as a file"
    return f"not JSON: {error}" if isinstance(error, ValueError) else "no list of cells"


def _readable(number: int, cell: Any) -> NotebookCell:
    """The cell; one that cannot be read does not hide the others."""
    try:
        return _cell(number, cell)
    except (ValueError, LookupError, TypeError, AttributeError):
        return NotebookCell(f"cell-{number}", "raw", BAD_CELL)


def saved_id(path: str, source: str) -> str:
    """The id of the one cell that was saved with this source; empty if there is none, or more than one."""
    try:
        found = [cell.id for cell in read_saved(path).cells if cell.source == source]
    except NotebookError:
        return ""
    return found[0] if len(found) == 1 else ""


def _cell(number: int, cell: Mapping[str, Any]) -> NotebookCell:
    """Notebooks of format 4.4 and older have no ids."""
    kind, outputs = cell["cell_type"], tuple(_output(each) for each in cell.get("outputs", []))
    return NotebookCell(
        id=str(cell.get("id", f"cell-{number}")),
        type=kind if kind in ("code", "markdown") else "raw",
        source=_joined(cell["source"]),
        execution_count=cell.get("execution_count"),
        outputs=outputs,
        error=next((str(each.get("ename")) for each in outputs if each.get("output_type") == "error"), ""),
    )


def _output(output: Mapping[str, Any]) -> Output:
    """Return an output; on disk, texts may be lists of lines."""
    joined = dict(output)
    if "text" in joined:
        joined["text"] = _joined(joined["text"])
    if "data" in joined:
        joined["data"] = {
            mime: _joined(value) if not mime.endswith("json") else value for mime, value in joined["data"].items()
        }
    return joined


def _joined(text: Any) -> str:
    return text if isinstance(text, str) else "".join(text)
