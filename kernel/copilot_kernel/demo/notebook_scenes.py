"""Scenes for a Python notebook: the demo agent looks at a variable, draws in a new cell, repairs and runs a cell."""

from __future__ import annotations

import difflib
import re

from .notebook import ToolFailed, call, has_notebook
from .stage import Stage

_PLOT = re.compile(r"\bmean of `?(?P<column>\w+)`? in `?(?P<table>\w+)", re.IGNORECASE)
_CELL = re.compile(r'^<(notebook-cell\S*) number="\d+" id="([^"]+)"[^\n]*>\n(.*?)\n</\1>$', re.MULTILINE | re.DOTALL)
_PART = re.compile(r'^<(cell-\S+)(?: kind="(\w+)")?>\n(.*?)\n</\1>$', re.MULTILINE | re.DOTALL)
_NO_PAGE = re.compile("No (open )?page |Cells cannot |The notebook has no tool ")
_MISSPELT = re.compile(r"name '(\w+)' is not defined")

FIGURE = """import matplotlib.pyplot as plt

monthly = {table}.groupby({table}["{dates}"].dt.to_period("M"))["{column}"].mean()
monthly.plot.bar(figsize=(6, 3), ylabel="{column}", rot=0)
plt.show()"""
CHART = """from statistics import mean

monthly = {{}}
for row in {table}:
    monthly.setdefault(row["month"], []).append(row["{column}"])
for month, values in monthly.items():
    print(f"{{month}}  {{'█' * round(mean(values))}} {{mean(values):.1f}}")"""


async def play(stage: Stage, prompt: str) -> bool:
    """Play the scene for `prompt`, if it is about the notebook; return True if it is."""
    if not has_notebook(stage):
        return False
    words = re.findall(r"[a-z]+", prompt.lower())
    try:
        if found := _PLOT.search(prompt):
            await _plot(stage, **found.groupdict())
        elif "fix" in words and "bug" not in words:
            await _fix(stage, prompt)
        else:
            return False
    except ToolFailed as error:
        await stage.say(f"That did not work: {error}")
    return True


async def _plot(stage: Stage, table: str, column: str) -> None:
    """Inspect the table, insert a cell that draws, run it, and say what came out."""
    dates = re.search(r"^  (\w+): datetime", await call(stage, "inspect_variable", name=table), re.MULTILINE)
    source = (FIGURE if dates else CHART).format(table=table, column=column, dates=dates[1] if dates else "")
    await stage.stream(f"I add a cell that draws the mean of `{column}` for each month.\n\n")
    ran = await _change_and_run(stage, "insert_cell", source)
    output = "\n".join(text for *_, text in _PART.findall(ran))
    await stage.stream(f"This came out:\n\n```text\n{output}\n```\n")


async def _fix(stage: Stage, prompt: str) -> None:
    """Correct a misspelt name in the cell that failed, run it again, and say what was wrong."""
    found = _CELL.findall(await call(stage, "read_notebook", outputs=True))
    cells = {id: {kind or "source": text for _, kind, text in _PART.findall(inside)} for _, id, inside in found}
    named = [id for id in cells if f"@cell:{id}" in prompt]
    failed = [id for id in named or cells if _MISSPELT.search(cells[id].get("error", ""))]
    if not failed:
        raise ToolFailed("the demo agent only corrects misspelt names, and no cell shows such an error.")
    id, source = failed[-1], cells[failed[-1]]["source"]
    (wrong,) = _MISSPELT.findall(cells[id]["error"])[-1:]
    known = {*re.findall(r"\w+", await call(stage, "list_variables")), *re.findall(r"\w+", source)} - {wrong}
    if not (close := difflib.get_close_matches(wrong, sorted(known), 1)):
        raise ToolFailed(f"the demo agent knows no name like `{wrong}`.")
    await stage.stream(f"There is no `{wrong}`; `{close[0]}` is meant.\n\n")
    await _change_and_run(stage, "edit_cell", re.sub(rf"\b{wrong}\b", close[0], source), id=id, expected=source)
    await stage.stream(f"The cell said `{wrong}` where it meant `{close[0]}`. Corrected, it ran.")


async def _change_and_run(stage: Stage, tool: str, source: str, **more: str) -> str:
    """Change a cell with `tool` and run it; where no cell can be changed, run the code below the prompt."""
    try:
        return await call(stage, tool, source=source, run=True, **more)
    except ToolFailed as error:
        if not _NO_PAGE.match(str(error)):
            raise
    await stage.stream(f"Cells cannot be changed here, so I run this without one:\n\n```python\n{source}\n```\n\n")
    return await call(stage, "run_python", code=source)
