"""Differences of VS Code's notebooks from other front ends; `docs/front-ends.md` has all of them.

They are known by their cells, which VS Code names by URIs, and not by the ids in the notebook.
"""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

SCHEME = "vscode-notebook-cell"
HOLD_SECONDS = 0.5
"""VS Code forgets displays that come before it has cleared the cell's outputs: they can never be updated."""
DRAW_SECONDS = 20.0
"""Within which buttons appear, where they can: the page loads their code from elsewhere."""
NO_CHANGES = "Cells cannot be changed in VS Code."
"""Told to the agent."""
AS_SAVED = "In VS Code, the agent sees the cells of this notebook as they were saved last. Save the notebook first."


def is_cell(cell_id: str | None) -> bool:
    """Return True if a cell of this id is one of VS Code's."""
    return cell_id is not None and cell_id.startswith(f"{SCHEME}:")


def notebook_of(cell_id: str) -> str:
    """Return the path of the cell's notebook on this machine; empty if it was never saved, or is not here."""
    path = unquote(urlsplit(cell_id).path)
    return path if os.path.isabs(path) and os.path.isfile(path) else ""
