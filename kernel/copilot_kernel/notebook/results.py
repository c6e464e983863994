"""Results of tools, in pages: long texts are cut, and say how to read on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
    head, more = f"{heading}. {_SAVED if state.saved else ''}".rstrip(), []
    room = MAX_TEXT_CHARS - _ROOM_FOR_REST - len(head)
    shown = list[tuple[str, Json]]()
    for number, cell in enumerate(state.cells[first:], first + 1):
        text, attributes = _brief_cell(cell), cell_attributes(cell, number, is_asking=cell.id == state.asking)
        room -= len(tagged(CELL, text, **attributes)) + 1
        if room < 0:
            before = state.cells[number - 2].id
            more = [f"… {len(state.cells) - number + 1} more: read_notebook(after={before!r})"]
            break
        shown.append((text, attributes))
    texts = [text for text, _ in shown]
    return Result("\n".join([head, *(tagged(CELL, text, *texts, **given) for text, given in shown), *more]))


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
