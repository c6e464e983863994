"""The status of a kernel's first prompt: it is shown before what a prompt needs is imported, which blocks the kernel.

Later ones wait until it is worth it, see `output_area.STATUS_DELAY`. The cell's output area takes the line over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from ..rendering.markup import Bundle
from ..rendering.status import STARTING, render_status
from .cell import Cell
from .vs_code import is_cell

BLANK: Bundle = {"text/plain": "", "text/html": ""}
_IMPORTED_LAST = "copilot_kernel.frontend.output_area"


@contextmanager
def first_status(cell: Cell, code: str) -> Iterator[None]:
    """Inside, the cell says that the agent starts if `code` is the first prompt, and a user watches a notebook."""
    is_prompt = bool(code.strip()) and not code.lstrip().startswith("%")
    is_page = cell.live and cell.cell_id is not None and not is_cell(cell.cell_id)  # VS Code would forget the display
    if is_prompt and is_page and _IMPORTED_LAST not in sys.modules:
        cell.status_id = uuid4().hex
        cell.display(render_status(STARTING), display_id=cell.status_id)
    try:
        yield
    finally:
        if cell.status_id:
            cell.update(BLANK, display_id=cell.status_id)
