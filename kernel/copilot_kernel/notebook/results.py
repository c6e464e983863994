"""Results of tools, in pages: long texts are cut, and say how to read on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from ..rendering.plain import one_line
from ..tags import tagged
from .content import (
    BRIEF_CHARS,
    CELL,
    MAX_TEXT_CHARS,
    Json,
    Reading,
    cell_attributes,
    cell_parts,
    cut,
    images_within,
    read_outputs,
)
from .live import NotebookCell, NotebookState, RunResult

MAX_CELL_CHARS = 6_000
"""Limit of each cell where all cells are read."""
MIN_SHARE = 1_000
"""Characters for each cell, where several are run."""
OUTPUTS = "cell-outputs"
"""The tag of what a cell, or code, has put out."""

MAX_OUTLINE_CHARS = 4_000
OUTLINE = "notebook-outline"
ROW_CHARS = 60
"""Limit of what a row of the outline shows of a cell."""

_HEADING = re.compile(r"^(#{1,6})[ \t]+\S.*", re.MULTILINE)
_ROOM_FOR_REST = 300
_ROOM_FOR_WORDS = 150
_SAVED = (
    "This is the notebook as it was saved last; no open page shows it. If newer text matters, ask the user to save it."
)


class Result(NamedTuple):
    """Result of a tool call, for the agent."""

    text: str
    images: tuple[Json, ...] = ()
    ok: bool = True
    """No code that ran has failed."""


class Run(NamedTuple):
    """Run of a cell or of code, `id`: its outcome in words, and its outputs."""

    id: str
    words: str
    found: Reading = Reading("")
    ok: bool = False


def count(cells: Sequence[object]) -> str:
    """Return a number with its noun, in words."""
    return "1 cell" if len(cells) == 1 else f"{len(cells)} cells"


def notebook_page(state: NotebookState, first: int) -> Result:
    """Return as many cells as there is room for, from the index `first` on."""
    heading = ", ".join(filter(None, (state.path, count(state.cells))))
    head = f"{heading}. {_SAVED if state.saved else ''}".rstrip()
    texts, more = _cells(state, first, MAX_TEXT_CHARS - _ROOM_FOR_REST - len(head))
    if more and not first:
        head = f"{head}\n{outline(state.cells)}"
        texts, more = _cells(state, first, MAX_TEXT_CHARS - _ROOM_FOR_REST - len(head))
    return Result("\n".join(filter(None, (head, *texts, more))))


def _cells(state: NotebookState, first: int, room: int) -> tuple[list[str], str]:
    """The cells from an index on for which there is room, and how to read on."""
    shown, more = list[tuple[str, Json]](), ""
    for number, cell in enumerate(state.cells[first:], first + 1):
        text, attributes = _brief_cell(cell), cell_attributes(cell, number, is_asking=cell.id == state.asking)
        room -= len(tagged(CELL, text, **attributes)) + 1
        if room < 0:
            before = state.cells[number - 2].id
            more = f"… {len(state.cells) - number + 1} more: read_notebook(after={before!r})"
            break
        shown.append((text, attributes))
    texts = [text for text, _ in shown]
    return [tagged(CELL, text, *texts, **given) for text, given in shown], more


def outline(cells: Sequence[NotebookCell]) -> str:
    """Cells in a line each, as many as there is room for: first those with errors, then headings by their level.

    Where there are too many of one kind, some are chosen at even distances.
    """
    ranks, rows = zip(*(_row(number, cell) for number, cell in enumerate(cells, 1)), strict=True)
    chosen, room = list[int](), MAX_OUTLINE_CHARS - _ROOM_FOR_REST
    for rank in sorted(set(ranks)):
        alike = [at for at, each in enumerate(ranks) if each == rank]
        longest = max(len(rows[at]) + 1 for at in alike)
        if room < longest:
            break
        chosen += alike[:: ceil(len(alike) / (room // longest))]
        room = MAX_OUTLINE_CHARS - _ROOM_FOR_REST - sum(len(rows[at]) + 1 for at in chosen)
    words = "number, id, beginning, characters, error"
    text = tagged(OUTLINE, "\n".join(rows[at] for at in sorted(chosen)))
    return f"Outline, {len(chosen)} of {count(cells)} ({words}):\n{text}"


def _row(number: int, cell: NotebookCell) -> tuple[int, str]:
    """Rank and row: errors come first, then headings by their level, then all else."""
    heading = _HEADING.search(cell.source) if cell.type == "markdown" else None
    rank = 0 if cell.error else len(heading[1]) if heading else 7
    line = heading[0] if heading else cell.source.strip().partition("\n")[0]
    words = ", ".join(filter(None, (str(len(cell.source)), cell.error)))
    return rank, f"{number} {cell.id} {one_line(line[:ROW_CHARS])[:ROW_CHARS]} ({words})"


def page(found: Reading, tool: str, offset: int, tag: str, attributes: Json) -> Result:
    """One text from an offset on, which `tool` reads, in a tag; images come with its beginning."""
    text = cut(found.text, lambda next: f"{tool}(id={attributes['id']!r}, offset={next})", offset)
    return Result(tagged(tag, text, **attributes, offset=offset), () if offset else found.images)


def run_of(result: RunResult, id: str) -> Run:
    """Return outcome and outputs of running `id`."""
    found = read_outputs(result.outputs)
    number = "" if result.execution_count is None else f" as [{result.execution_count}]"
    words = f"It ran{number}{'' if result.ok else ' and failed'}{'' if found.text else ', without output'}."
    return Run(id, words, found, result.ok)


def of_run(run: Run) -> Result:
    """One of them."""
    shown = page(run.found, "read_output", 0, OUTPUTS, {"id": run.id})
    return Result(f"{run.words}\n{shown.text}" if run.found.text else run.words, shown.images, run.ok)


def of_runs(runs: Sequence[Run], total: int) -> Result:
    """Return some of `total` runs: each gets its share of the room, the last ones first."""
    share, room, shown = max(MIN_SHARE, MAX_TEXT_CHARS // total), MAX_TEXT_CHARS, list[str]()
    for run in reversed(runs):
        text = _brief(run.found.text, run.id, share)
        room -= len(text) + _ROOM_FOR_WORDS
        shown.insert(0, text if room >= 0 else "")
    texts = [_in_runs(run, text, shown) for run, text in zip(runs, shown, strict=True)]
    ok = all(run.ok for run in runs)
    if not ok:
        texts.append(f"Stopped at {len(runs)} of {total} cells.")
    images = [image for run in runs for image in run.found.images]
    sent = images_within(images)
    if len(sent) < len(images):
        texts.append(f"({len(images) - len(sent)} images are not sent here; read_output sends those of each id.)")
    return Result("\n".join(texts), sent, ok)


def _in_runs(run: Run, text: str, shown: Sequence[str]) -> str:
    words = f"{run.id}: {run.words}"
    if text:
        return f"{words}\n{tagged(OUTPUTS, text, *shown, id=run.id)}"
    return f"{words} Its output: read_output(id={run.id!r})" if run.found.text else words


def _brief_cell(cell: NotebookCell) -> str:
    source = _brief(cell.source, cell.id, MAX_CELL_CHARS, tool="read_cell")
    return cell_parts(source, _brief(read_outputs(cell.outputs).text, cell.id, BRIEF_CHARS))


def _brief(text: str, id: str, limit: int, tool: str = "read_output") -> str:
    return cut(text, lambda offset: f"{tool}(id={id!r})", limit=limit)
