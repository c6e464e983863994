"""Differences of VS Code's notebooks from other front ends; `docs/front-ends.md` has all of them.

They are known by their cells, which VS Code names by URIs, and not by the ids in the notebook.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

SCHEME = "vscode-notebook-cell"
HOLD_SECONDS = 0.5
"""VS Code forgets displays that come before it has cleared the cell's outputs: they can never be updated."""
DRAW_SECONDS = 20.0
"""Within which buttons appear, where they can: the page loads their code from elsewhere."""
NO_CHANGES = "Cells cannot be changed in VS Code."
"""Told to the agent."""
AS_SAVED = "In VS Code, the agent sees the cells of this notebook as they were saved last. Save the notebook first."


@dataclass(frozen=True, slots=True)
class Traits:
    """What a front end can do with a cell: known when it begins. The defaults are those of all others.

    `hold`: seconds for which it forgets what a cell shows: it has not cleared the outputs of the last run.
    `updates_freely`: a display can be emptied, and get other metadata; else that leaves a gap, or loses other outputs.
    `boxed`: a question and its buttons share one display. `draw_seconds`: only buttons that appear, within this time,
    show that it draws any: it refuses no comm, and handles none while it asks for a line; 0 if it says whether it has
    widgets. `asks_apart`: a line of input is asked apart from the cell, where Escape sends an empty one. `why_fixed`:
    why its cells cannot be changed, nor read as they are, for the agent; empty if they can. `interrupts_children`: it
    interrupts all processes below the kernel, too.
    """

    hold: float = 0.0
    updates_freely: bool = True
    boxed: bool = False
    draw_seconds: float = 0.0
    asks_apart: bool = False
    why_fixed: str = ""
    interrupts_children: bool = False


def traits_of(cell_id: str | None) -> Traits:
    """Return what the front end of a cell can do."""
    if not (cell_id or "").startswith(f"{SCHEME}:"):
        return Traits()
    return Traits(
        hold=HOLD_SECONDS,
        updates_freely=False,
        boxed=True,
        draw_seconds=DRAW_SECONDS,
        asks_apart=True,
        why_fixed=NO_CHANGES,
        interrupts_children=True,
    )


def notebook_of(cell_id: str) -> str:
    """Return the path of a cell's notebook on this machine; empty if VS Code has not saved it, or it is not here."""
    address = urlsplit(cell_id)
    path = unquote(address.path)
    return path if address.scheme == SCHEME and os.path.isabs(path) and os.path.isfile(path) else ""
