"""Results of tools, in pages: long texts are cut, and say how to read on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .content import (
    BRIEF_CHARS,
    MAX_CHARS,
    Json,
    Reading,
    cell_text,
    cut,
    images_within,
    outputs_text,
    read_outputs,
)
from .live import NotebookCell, NotebookState, RunResult

MAX_CELL_CHARS = 6_000
"""Of each cell, where all cells are read."""
MIN_SHARE = 1_000
"""Characters for each cell, where several are run."""

_ROOM_FOR_REST = 300
_SAVED = "This is the notebook as it was saved last; no open page shows it."


class Result(NamedTuple):
    """What the agent gets. `ok`: no code that ran has failed."""

    text: str
    images: tuple[Json, ...] = ()
    ok: bool = True


def count(cells: Sequence[object]) -> str:
    """How many there are, in words."""
    return "1 cell" if len(cells) == 1 else f"{len(cells)} cells"


def notebook_page(state: NotebookState, first: int) -> Result:
    """As many cells as there is room for, from the index `first` on."""
    heading = ", ".join(filter(None, (state.path, count(state.cells))))
    parts = [f"{heading}. {_SAVED if state.saved else ''}".rstrip()]
    room = MAX_CHARS - _ROOM_FOR_REST - len(parts[0])
    for number, cell in enumerate(state.cells[first:], first + 1):
        text = _in_page(cell, number, is_asking=cell.id == state.asking)
        room -= len(text) + 1
        if room < 0:
            before = state.cells[number - 2].id
            parts.append(f"… {len(state.cells) - number + 1} more: read_notebook(after={before!r})")
            break
        parts.append(text)
    return Result("\n".join(parts))


def page(found: Reading, tool: str, id: str, offset: int) -> Result:
    """One text from an offset on, which `tool` reads; images come with its beginning."""
    text = cut(found.text, lambda next: f"{tool}(id={id!r}, offset={next})", offset)
    return Result(text, () if offset else found.images)


def of_run(result: RunResult, found: Reading, id: str) -> Result:
    """What came of running `id`, whose outputs are `found`."""
    number = "" if result.execution_count is None else f" as [{result.execution_count}]"
    head = f"It ran{number}{'' if result.ok else ' and failed'}{'' if found.text else ', without output'}."
    shown = page(found, "read_output", id, 0)
    return shown._replace(text=f"{head}\n{shown.text}".rstrip(), ok=result.ok)


def of_runs(results: Sequence[tuple[str, Result]], total: int) -> Result:
    """What came of running some of `total` cells, by their ids: each gets its share of the room."""
    share = max(MIN_SHARE, MAX_CHARS // total)
    texts = [_brief(f"=== id {id}\n{result.text}", id, share) for id, result in results]
    ok = all(result.ok for _, result in results)
    if not ok:
        texts.append(f"Stopped at {len(results)} of {total} cells.")
    images = [image for _, result in results for image in result.images]
    sent = images_within(images)
    if len(sent) < len(images):
        texts.append(f"({len(images) - len(sent)} images are not sent here; read_output sends those of each id.)")
    return Result(cut("\n".join(texts), lambda offset: "read_output, by each id"), sent, ok)


def _in_page(cell: NotebookCell, number: int, *, is_asking: bool) -> str:
    text = _brief(cell_text(cell, number, is_asking=is_asking), cell.id, MAX_CELL_CHARS, tool="read_cell")
    return text + outputs_text(_brief(read_outputs(cell.outputs).text, cell.id, BRIEF_CHARS))


def _brief(text: str, id: str, limit: int, tool: str = "read_output") -> str:
    return cut(text, lambda offset: f"{tool}(id={id!r})", limit=limit)
