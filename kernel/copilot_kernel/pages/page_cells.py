"""The cells of the notebook that a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..notebook.live import CellType, LiveNotebook, NoPage, NotebookCell, NotebookError, NotebookState
from ..undo.cells import CellLog
from .page import Page

BRIEF_CHARS = 4000
"""Limit of each text in an output, when the whole notebook is read."""
FULL_CHARS = 1_000_000
MAX_ERROR_CHARS = 80
TYPES = ("code", "markdown", "raw")


class PageCells(LiveNotebook):
    """The part of a `LiveNotebook` that concerns cells: those that `page` shows.

    `asking` is the cell that waits for the agent, empty without one; the first cell that names no place is inserted
    below it. `log` has the changes that the agent has made.
    """

    page: Page | None = None
    asking = ""

    def __init__(self) -> None:
        # The cell that was inserted last.
        self.log, self._inserted = CellLog(), ""

    async def snapshot(self) -> NotebookState:
        """Return the cells, as `LiveNotebook` says."""
        with suppress(NotebookError):
            return await self.read(None, outputs=False)
        return NotebookState((), asking=self.asking)

    async def touched_cells(self) -> list[tuple[str, str, str]]:
        """Return what the agent has done to cells, in the order of the notebook; see `footer_bundles`."""
        if self.log.touched or self.log.changes:
            with suppress(NotebookError):
                self.log.cells = (await self.read(None, outputs=False)).cells
                return self.log.summary(self.log.cells)
        return []

    async def read(self, ids: Sequence[str] | None, *, outputs: bool) -> NotebookState:
        """Read cells, as `LiveNotebook` says."""
        wanted = {} if ids is None else {"ids": list(ids)}
        limit = BRIEF_CHARS if ids is None else FULL_CHARS
        state = await self._call("read", **wanted, outputs=outputs, limit=limit)
        try:
            cells = tuple(_cell(each) for each in state["cells"])
        except (LookupError, TypeError, ValueError):
            raise NotebookError("The page's answer cannot be read.") from None
        return NotebookState(cells, path=self.page.path if self.page else "", asking=self.asking)

    async def insert(self, source: str, type: CellType, after: str | None) -> str:
        """Insert a cell, as `LiveNotebook` says."""
        below = after or self._inserted or self.asking
        if not below:
            raise NotebookError("Say after which cell to insert: the cell that asks is not known.")
        result = await self._call("insert", source=source, type=type, after=below)
        self._inserted = id = str(result.get("id"))
        self.log.inserted(id, type, source)
        return id

    async def bring_back(self, cell: Mapping[str, Any], after: str | None) -> Sequence[str]:
        """Bring a cell back, as `LiveNotebook` says."""
        reply = await self._call("insert", deleted=cell, after=after)
        return tuple(map(str, reply.get("left_out") or ()))

    async def edit(self, id: str, expected: str, source: str, type: CellType | None = None) -> None:
        """Edit a cell, as `LiveNotebook` says."""
        wanted = {"type": type} if type else {}
        reply = await self._call("edit", id=id, expected=expected, source=source, asking=self.asking, **wanted)
        was = reply.get("was")
        self.log.edited(id, expected, source, (was, type) if type and was in TYPES else None)

    async def delete(self, id: str, expected: str) -> None:
        """Delete a cell, as `LiveNotebook` says."""
        cells = (await self.read(None, outputs=False)).cells
        reply = await self._call("delete", id=id, expected=expected)
        self.log.deleted(id, cells, reply.get("cell") or {})
        if self._inserted == id:
            self._inserted = ""

    async def move(self, id: str, expected: str, after: str | None) -> None:
        """Move a cell, as `LiveNotebook` says."""
        await self._call("move", id=id, expected=expected, after=after)
        self.log.note("moved", id)

    async def clear_outputs(self, ids: Sequence[str]) -> None:
        """Clear outputs, as `LiveNotebook` says."""
        await self._call("clear", ids=list(ids))
        self.log.note("cleared the output of", *ids)

    async def _call(self, op: str, **args: Any) -> dict[str, Any]:
        if self.page is None:
            raise NoPage("This front end does not let the agent change the notebook.")
        return await self.page.call(op, **args)


def _cell(cell: Any) -> NotebookCell:
    kind = cell["type"]
    if kind not in TYPES:
        raise ValueError(kind)
    return NotebookCell(
        id=str(cell["id"]),
        type=kind,
        source=str(cell["source"]),
        execution_count=cell.get("execution_count"),
        outputs=tuple(cell.get("outputs") or ()),
        running=bool(cell.get("running")),
        error=str(cell.get("error") or "")[:MAX_ERROR_CHARS],
    )
