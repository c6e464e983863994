"""Search in the sources and outputs of a notebook, bounded in time and length."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

from anyio import to_thread

from ..system.processes import DETACHED
from ..tags import tagged
from . import search_process
from .content import output_texts
from .live import NotebookCell, NotebookError

MAX_LINES = 50
SECONDS = 5.0
MATCHES = "notebook-matches"
TOO_SLOW = f"The search took more than {SECONDS:g} seconds and was stopped. Use a simpler pattern."
FAILED = "The search could not be run."
UNUSABLE = "The pattern cannot be used: {}."


async def search(cells: Sequence[NotebookCell], pattern: str, *, is_regex: bool) -> str:
    """The lines that match, each with its cell. Raises NotebookError."""
    texts = [
        (f"{number} {cell.id} {kind}", text)
        for number, cell in enumerate(cells, 1)
        for kind, text in (("source", cell.source), *output_texts(cell.outputs))
    ]
    job = {"pattern": pattern, "is_regex": is_regex, "texts": [text for _, text in texts], "limit": MAX_LINES + 1}
    found = await _run(job)
    if not found:
        return "No matches."
    lines = "\n".join(f"{texts[index][0]}, {number}: {line}" for index, number, line in found[:MAX_LINES])
    more = f"\n(Only the first {MAX_LINES} lines are shown.)" if len(found) > MAX_LINES else ""
    return f"Number and id of each cell, where, line: text\n{tagged(MATCHES, lines)}{more}"


async def _run(job: dict[str, object]) -> list[tuple[int, int, str]]:
    command, given = [sys.executable, "-I", "-S", search_process.__file__], json.dumps(job).encode()
    run = partial(subprocess.run, command, input=given, capture_output=True, timeout=SECONDS, **DETACHED)
    try:
        found: str | list[tuple[int, int, str]] = json.loads(
            (await to_thread.run_sync(run, abandon_on_cancel=True)).stdout
        )
    except subprocess.TimeoutExpired as error:
        raise NotebookError(TOO_SLOW) from error
    except (OSError, ValueError) as error:
        raise NotebookError(FAILED) from error
    if isinstance(found, str):
        raise NotebookError(UNUSABLE.format(found))
    return found
