"""Search in the sources and outputs of a notebook, bounded in time and length."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from anyio import to_thread

from ..system.processes import DETACHED
from ..tags import tagged
from . import search_process
from .content import output_texts
from .live import NotebookCell, NotebookError

MAX_LINES = 50
LINE_CHARS = 200
_BEFORE_CHARS = 60
SECONDS = 5.0
MATCHES = "notebook-matches"
TOO_SLOW = f"The search took more than {SECONDS:g} seconds and was stopped. Use a simpler pattern."
FAILED = "The search could not be run."
UNUSABLE = "The pattern cannot be used: {}."


class _Text(NamedTuple):
    """A source or an output; `where` says of which cell."""

    where: str
    text: str


async def search(cells: Sequence[NotebookCell], pattern: str, *, is_regex: bool) -> str:
    """The lines that match, each with its cell. Raises NotebookError."""
    texts = [
        _Text(f"{number} {cell.id} {kind}", text)
        for number, cell in enumerate(cells, 1)
        for kind, text in (("source", cell.source), *output_texts(cell.outputs))
    ]
    found = await _places([each.text for each in texts], pattern, is_regex=is_regex)
    if not found:
        return "No matches."
    lines = [_line(texts[index], at) for index, at in found[:MAX_LINES]]
    more = f"\n(Only the first {MAX_LINES} lines are shown.)" if len(found) > MAX_LINES else ""
    return "Number and id of each cell, where, line: text\n" + tagged(MATCHES, "\n".join(lines)) + more


async def _places(texts: Sequence[str], pattern: str, *, is_regex: bool) -> list[list[int]]:
    job = {"pattern": pattern, "is_regex": is_regex, "texts": texts, "limit": MAX_LINES + 1}
    command = [sys.executable, "-I", "-S", search_process.__file__]
    run = partial(
        subprocess.run, command, input=json.dumps(job).encode(), capture_output=True, timeout=SECONDS, **DETACHED
    )
    try:
        done = await to_thread.run_sync(run, abandon_on_cancel=True)
        found: str | list[list[int]] = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise NotebookError(TOO_SLOW) from error
    except (OSError, ValueError) as error:
        raise NotebookError(FAILED) from error
    if isinstance(found, str):
        raise NotebookError(UNUSABLE.format(found))
    return found


def _line(text: _Text, at: int) -> str:
    """The line at a match, cut around it."""
    start, end = text.text.rfind("\n", 0, at) + 1, text.text.find("\n", at)
    first = max(start, at - _BEFORE_CHARS)
    line = text.text[first : end if end >= 0 else None][:LINE_CHARS]
    number = text.text.count("\n", 0, at) + 1
    return f"{text.where}, {number}: {line}"
