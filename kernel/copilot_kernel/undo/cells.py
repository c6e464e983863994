"""The cells of the notebook that a turn changed, and how to restore them through the page that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..notebook.live import CellType, ChangedMeanwhile, LiveNotebook, NotebookCell, NotebookError

CHANGED_SINCE = "it has changed since"
NO_PAGE = "no open page shows the notebook"
NOT_THERE = "it is not there any more"


@dataclass(frozen=True, slots=True)
class CellChange:
    """The net change of one cell. `before` is None for a new one, `after` for one that was deleted.

    `type` and `above`, the id of the cell above it, are known of a new or deleted one.
    """

    id: str
    before: str | None
    after: str | None
    type: CellType = "code"
    above: str | None = None


class CellLog:
    """What the agent's tools do to cells in one turn. A cell that is moved or run is not changed."""

    def __init__(self) -> None:
        self._changes: dict[str, CellChange] = {}

    @property
    def changes(self) -> tuple[CellChange, ...]:
        """Those that are not as they were, in the order of the last change."""
        return tuple(each for each in self._changes.values() if each.before != each.after)

    def inserted(self, id: str, type: CellType, source: str) -> None:
        """A new cell."""
        self._changes[id] = CellChange(id, None, source, type)

    def edited(self, id: str, before: str, after: str) -> None:
        """Another source."""
        earlier = self._changes.pop(id, None) or CellChange(id, before, after)
        self._changes[id] = replace(earlier, after=after)

    def deleted(self, cell: NotebookCell, above: str | None) -> None:
        """A cell that was below `above`; None: at the top."""
        earlier = self._changes.pop(cell.id, None)
        before = earlier.before if earlier else cell.source
        self._changes[cell.id] = CellChange(cell.id, before, None, cell.type, above)


class CellPlan(NamedTuple):
    """The cells that can be restored, each with its name for the user, and the others with the reason."""

    possible: tuple[tuple[str, CellChange], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()


async def plan_cells(notebook: LiveNotebook | None, changes: Sequence[CellChange]) -> CellPlan:
    """What can be restored now. Cells are named by their place."""
    if not changes:
        return CellPlan()
    try:
        state = await notebook.read(None, outputs=False) if notebook is not None else None
    except NotebookError:
        state = None
    if state is None or state.saved:
        return CellPlan(skipped=((f"{len(changes)} cell{'s' * (len(changes) > 1)}", NO_PAGE),))
    places = {cell.id: (f"cell {at}", cell.source) for at, cell in enumerate(state.cells, 1)}
    possible, skipped = list[tuple[str, CellChange]](), list[tuple[str, str]]()
    for change in changes:
        name, now = places.get(change.id, ("deleted cell", None))
        if now == change.after:
            possible.append((name, change))
        elif now is not None and now != change.before:
            skipped.append((name, CHANGED_SINCE))
        elif now is None and change.before is not None:
            skipped.append((name, NOT_THERE))
    return CellPlan(tuple(possible), tuple(skipped))


async def restore_cells(notebook: LiveNotebook, plan: CellPlan) -> tuple[list[str], list[tuple[str, str]]]:
    """Restore the cells of `plan`; the names of those that were, and the others with the reason."""
    done, skipped = list[str](), list[tuple[str, str]]()
    for name, change in reversed(plan.possible):  # what was deleted first was above or below what was there then
        try:
            await _restore(notebook, change)
            done.insert(0, name)
        except ChangedMeanwhile:
            skipped.append((name, CHANGED_SINCE))
        except NotebookError as error:
            skipped.append((name, str(error)))
    return done, skipped


async def _restore(notebook: LiveNotebook, change: CellChange) -> None:
    if change.before is None:
        assert change.after is not None
        await notebook.delete(change.id, change.after)
    elif change.after is not None:
        await notebook.edit(change.id, change.after, change.before)
    else:
        state = await notebook.read(None, outputs=False)
        is_there = change.above is None or any(cell.id == change.above for cell in state.cells)
        await notebook.bring_back(change.id, change.before, change.type, change.above if is_there else state.asking)
