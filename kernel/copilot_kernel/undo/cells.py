"""The cells of the notebook that a turn changed, and how to restore them through the page that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Any, NamedTuple

from ..notebook.live import CellType, ChangedMeanwhile, LiveNotebook, NotebookCell, NotebookError

CHANGED_SINCE = "it has changed since"
NO_PAGE = "no open page shows the notebook"
NOT_FOUND = "it no longer exists"
EXCERPT_CHARS = 30
"""Limit of the source of a deleted cell, beneath the answer."""
_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class CellChange:
    """The net change of one cell. `before` is None for a new one, `after` for one that was deleted.

    `type` and `above`, the id of the cell above it, are known of a new or deleted one, `types`, the type before and
    after, of one whose type was changed; `whole` is a deleted one, as a notebook holds it.
    """

    id: str
    before: str | None
    after: str | None
    type: CellType = "code"
    above: str | None = None
    types: tuple[CellType, CellType] | None = None
    whole: Mapping[str, Any] = field(default_factory=dict)


class CellLog:
    """Record of what the agent's tools do to cells in one turn.

    A cell that is moved or run is touched, but not changed.
    """

    def __init__(self) -> None:
        self._changes: dict[str, CellChange] = {}
        # What was done to each cell, and a line for each deleted one that was not new.
        self._touched: dict[str, list[str]] = {}
        self._deleted: list[tuple[str, str, str]] = []
        self.cells: Sequence[NotebookCell] = ()
        """The notebook at the end of the turn, if it has changed."""

    @property
    def changes(self) -> tuple[CellChange, ...]:
        """Return cells that are not as they were, in the order of the last change."""
        return tuple(
            each
            for each in self._changes.values()
            if each.before != each.after or (each.types and each.types[0] != each.types[1])
        )

    @property
    def touched(self) -> tuple[str, ...]:
        """The cells that were changed, moved, cleared or run, in the order of the first time."""
        return tuple(self._touched)

    def summary(self, cells: Sequence[NotebookCell]) -> list[tuple[str, str, str]]:
        """Return what was done to `cells`, in their order, and what was deleted; see `footer_bundles`."""
        numbered = ((self._touched.get(cell.id), f"cell {at}", cell.id) for at, cell in enumerate(cells, 1))
        return [*((" and ".join(did), name, id) for did, name, id in numbered if did), *self._deleted]

    def note(self, did: str, *ids: str) -> None:
        """Note what was done to cells. A new cell counts as inserted, even if it is edited later."""
        for id in ids:
            known = self._touched.setdefault(id, [])
            if did not in known and not (did == "edited" and "inserted" in known):
                known.append(did)

    def inserted(self, id: str, type: CellType, source: str) -> None:
        """Note a new cell."""
        self._changes[id] = CellChange(id, None, source, type)
        self.note("inserted", id)

    def edited(self, id: str, before: str, after: str, types: tuple[CellType, CellType] | None = None) -> None:
        """Note another source, or another type: that before and that after."""
        earlier = self._changes.pop(id, None) or CellChange(id, before, after)
        types = (earlier.types[0], types[1]) if earlier.types and types else types or earlier.types
        self._changes[id] = replace(earlier, after=after, types=types)
        self.note("edited", id)

    def deleted(self, id: str, cells: Sequence[NotebookCell], whole: Mapping[str, Any]) -> None:
        """Note that a cell is gone; `cells` are those before it was deleted."""
        at = next((at for at, cell in enumerate(cells) if cell.id == id), 0)
        cell, above = cells[at], cells[at - 1].id if at else None
        earlier = self._changes.pop(id, None)
        before = earlier.before if earlier else cell.source
        self._changes[id] = CellChange(id, before, None, cell.type, above, whole=whole)
        if "inserted" not in self._touched.pop(id, ()):
            excerpt = f" ({shorten(cell.source, EXCERPT_CHARS, placeholder='…')})" if cell.source else ""
            self._deleted.append(("deleted", f"cell {at + 1}{excerpt}", ""))


class CellPlan(NamedTuple):
    """The cells that can be restored, each with its name for the user, and the others with the reason."""

    possible: tuple[tuple[str, CellChange], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()


async def plan_cells(notebook: LiveNotebook | None, log: CellLog) -> CellPlan:
    """Return what can be restored now. Cells are named by their place."""
    changes = log.changes
    if not changes:
        return CellPlan()
    try:
        state = await notebook.read(None, outputs=False) if notebook is not None else None
    except NotebookError:
        state = None
    if state is None or state.saved:
        return CellPlan(skipped=((f"{len(changes)} cell{'s' * (len(changes) > 1)}", NO_PAGE),))
    found = {cell.id: (f"cell {at}", cell.source) for at, cell in enumerate(state.cells, 1)}
    ids = _ids_now(log.cells, state.cells)
    possible, skipped = list[tuple[str, CellChange]](), list[tuple[str, str]]()
    for change in changes:
        change = replace(change, id=ids.get(change.id, change.id), above=ids.get(change.above or "", change.above))
        name, now = found.get(change.id, (_name(change), None))
        if now == change.after:
            possible.append((name, change))
        elif now != change.before or now is None:
            skipped.append((name, NOT_FOUND if now is None else CHANGED_SINCE))
    return CellPlan(tuple(possible), tuple(skipped))


def _ids_now(before: Sequence[NotebookCell], now: Sequence[NotebookCell]) -> dict[str, str]:
    """Map the ids of `before` to new ones, by place and source, else by source alone.

    A notebook of format 4.4 or older keeps no ids: after a reload, every cell has another one.
    """
    if {cell.id for cell in before} & {cell.id for cell in now}:
        return {}
    pairs = zip(before, now, strict=False)
    found = {old.id: new.id for old, new in pairs if old.source == new.source}
    left = [cell for cell in now if cell.id not in found.values()]
    for old in (cell for cell in before if cell.id not in found):
        same = [cell.id for cell in left if cell.source == old.source]
        if len(same) == 1:
            found[old.id] = same[0]
    return found


def _name(change: CellChange) -> str:
    """Name a cell that is not in the notebook."""
    what = "deleted" if change.after is None else "inserted" if change.before is None else "edited"
    return f"{what} cell “{(change.after or change.before or '').strip()[:_NAME_CHARS]}”"


async def restore_cells(notebook: LiveNotebook, plan: CellPlan) -> tuple[list[str], list[tuple[str, str]]]:
    """Restore the cells of `plan`; the names of those that were, and the others with the reason."""
    done, skipped = list[str](), list[tuple[str, str]]()
    for name, change in reversed(plan.possible):  # what was deleted first was above or below what was there then
        try:
            left_out = " and ".join(await _restore(notebook, change))
            done.insert(0, f"{name} without its {left_out}, too large to be kept" if left_out else name)
        except ChangedMeanwhile:
            skipped.append((name, CHANGED_SINCE))
        except NotebookError as error:
            skipped.append((name, str(error)))
    return done, skipped


async def _restore(notebook: LiveNotebook, change: CellChange) -> Sequence[str]:
    """Restore a cell; return what could not be restored of it."""
    if change.before is None:
        assert change.after is not None
        await notebook.delete(change.id, change.after)
    elif change.after is not None:
        await notebook.edit(change.id, change.after, change.before, change.types[0] if change.types else None)
    else:
        state = await notebook.read(None, outputs=False)
        is_there = change.above is None or any(cell.id == change.above for cell in state.cells)
        cell = {"cell_type": change.type, **change.whole, "id": change.id, "source": change.before}
        below = state.asking or next((each.id for each in reversed(state.cells)), None)
        return await notebook.bring_back(cell, change.above if is_there else below)
    return ()
