"""Scenes for a Python notebook: the demo agent looks at variables, inserts, repairs and runs cells."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .notebook import ToolFailed, call, has_notebook
from .stage import Stage

_PLOT = re.compile(r"\bmean of `?(?P<column>\w+)`? in `?(?P<table>\w+)", re.IGNORECASE)
_CELL = re.compile(r'^<(notebook-cell\S*) number="\d+" id="([^"]+)"[^\n]*>\n(.*?)\n</\1>$', re.MULTILINE | re.DOTALL)
_PART = re.compile(r'^<(cell-\S+)(?: kind="(\w+)")?>\n(.*?)\n</\1>$', re.MULTILINE | re.DOTALL)
_NO_PAGE = re.compile("No (open )?page ")
_QUOTED = re.compile(r"'([^'\W\d]\w*)'")


def choose(stage: Stage, prompt: str) -> Callable[[], Awaitable[None]] | None:
    """The scene for `prompt`, if it is about the notebook."""
    words = re.findall(r"[a-z]+", prompt.lower())
    if not has_notebook(stage):
        return None
    if found := _PLOT.search(prompt):
        return lambda: _with_errors(stage, _plot(stage, found["table"], found["column"]))
    if "fix" in words and "bug" not in words:
        return lambda: _with_errors(stage, _fix(stage, prompt))
    return None


async def _with_errors(stage: Stage, scene: Awaitable[None]) -> None:
    try:
        await scene
    except ToolFailed as error:
        await stage.say(f"That did not work: {error}")


# -- a chart ----------------------------------------------------------------------------------------------------------


async def _plot(stage: Stage, table: str, column: str) -> None:
    """Inspect the table, insert a cell that draws, run it, and say what came out."""
    _, _, inspected = (await call(stage, "inspect_variable", name=table)).partition("\n")
    dates = re.search(r"^  (\w+): datetime", inspected, re.MULTILINE)
    if "DataFrame" in inspected.partition("\n")[0] and dates is None:
        raise ToolFailed(f"`{table}` has no column with dates.")
    source = FIGURE.format(table, dates[1], column) if dates else CHART.format(table, column)
    await stage.stream(f"I add a cell that draws the mean of `{column}` for each month.\n\n")
    output = "\n".join(text for *_, text in _PART.findall(await _run_in_new_cell(stage, source)))
    await stage.stream(f"This came out:\n\n```text\n{output}\n```\n")


async def _run_in_new_cell(stage: Stage, source: str) -> str:
    """Without a page there are no cells to insert: then the code runs below the prompt."""
    try:
        return await call(stage, "insert_cell", source=source, run=True)
    except ToolFailed as error:
        if not _NO_PAGE.match(str(error)):
            raise
    await stage.stream("No page shows the notebook, so I run the code without a cell.\n\n")
    return await call(stage, "run_python", code=source)


FIGURE = """import matplotlib.pyplot as plt

monthly = {0}.groupby({0}["{1}"].dt.to_period("M"))["{2}"].mean()
monthly.plot.bar(figsize=(6, 3), ylabel="{2}", rot=0)
plt.show()"""

CHART = """from statistics import mean

monthly = {{}}
for row in {0}:
    monthly.setdefault(row["month"], []).append(row["{1}"])
for month, values in monthly.items():
    print(f"{{month}}  {{'█' * round(mean(values))}} {{mean(values):.1f}}")"""


# -- a repair ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cell:
    id: str
    source: str
    error: str


async def _fix(stage: Stage, prompt: str) -> None:
    """Correct a misspelt name in the cell that failed, run it again, and say what was wrong."""
    cells = _cells(await call(stage, "read_notebook", outputs=True))
    named = [cell for cell in cells if f"@cell:{cell.id}" in prompt]
    failed = named or [cell for cell in cells if cell.error]
    if not failed:
        raise ToolFailed("no cell shows an error.")
    cell = failed[-1]
    wrong, right = await _spelling(stage, cell)
    source = re.sub(rf"\b{wrong}\b", right, cell.source)
    await stage.stream(f"There is no `{wrong}`; `{right}` is meant.\n\n")
    await call(stage, "edit_cell", id=cell.id, expected=cell.source, source=source)
    await call(stage, "run_cell", id=cell.id)
    await stage.stream(f"The cell said `{wrong}` where it meant `{right}`. I corrected that, and it ran.")


async def _spelling(stage: Stage, cell: _Cell) -> tuple[str, str]:
    """The name that is not found, and the one most like it. Raises ToolFailed."""
    names = _QUOTED.findall(cell.error.rstrip().rpartition("\n")[2])
    if not names:
        raise ToolFailed("the demo agent only corrects misspelt names.")
    known = {*re.findall(r"\w+", await call(stage, "list_variables")), *re.findall(r"\w+", cell.source)} - {names[-1]}
    found = difflib.get_close_matches(names[-1], sorted(known), 1)
    if not found:
        raise ToolFailed(f"the demo agent knows no name like `{names[-1]}`.")
    return names[-1], found[0]


def _cells(text: str) -> list[_Cell]:
    """What `read_notebook` tells of the cells."""
    found = []
    for _, id, inside in _CELL.findall(text):
        parts = {kind or "source": text for _, kind, text in _PART.findall(inside)}
        found.append(_Cell(id, parts["source"], parts.get("error", "")))
    return found
