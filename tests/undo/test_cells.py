"""Cells that the agent changed are restored through the page, and nothing else is touched."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from copilot_kernel.notebook.live import ChangedMeanwhile, NotebookCell, NotebookState
from copilot_kernel.pages.page_notebook import PageNotebook
from copilot_kernel.undo.cells import (
    CHANGED_SINCE,
    NO_PAGE,
    NOT_FOUND,
    CellLog,
    CellPlan,
    plan_cells,
    restore_cells,
)
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio


class Book:
    """A page's notebook: ids stay those of the cells, also of one that comes back."""

    def __init__(self, *sources: str, saved: bool = False) -> None:
        self.cells = [NotebookCell(f"c{at}", "code", source) for at, source in enumerate(sources)]
        self.saved, self._made, self.loads = saved, 0, 0
        self.back, self.missing = [], ()

    @property
    def sources(self) -> list[str]:
        return [cell.source for cell in self.cells]

    async def read(self, ids, *, outputs):
        return NotebookState(tuple(self.cells), saved=self.saved)

    async def insert(self, source, type, after):
        self._made += 1
        at = len(self.cells) if after is None else self._at(after) + 1
        self.cells.insert(at, NotebookCell(f"n{self._made}", type, source))
        return f"n{self._made}"

    async def bring_back(self, cell, after):
        if any(each.id == cell["id"] for each in self.cells):
            raise ChangedMeanwhile("there again")
        at = 0 if after is None else len(self.cells) if not after else self._at(after) + 1
        self.cells.insert(at, NotebookCell(cell["id"], cell["cell_type"], cell["source"]))
        self.back.append(cell)
        return self.missing

    def load(self):
        """A notebook of a format without ids gives its cells new ones."""
        self.loads += 1
        self.cells = [replace(cell, id=f"l{self.loads}-{at}") for at, cell in enumerate(self.cells)]

    async def edit(self, id, expected, source, type=None):
        at = self._checked(id, expected)
        self.cells[at] = NotebookCell(id, type or self.cells[at].type, source)

    async def delete(self, id, expected):
        del self.cells[self._checked(id, expected)]

    def _at(self, id):
        return next(at for at, cell in enumerate(self.cells) if cell.id == id)

    def _checked(self, id, expected):
        at = self._at(id)
        if self.cells[at].source != expected:
            raise ChangedMeanwhile("changed")
        return at


async def act(book: Book, log: CellLog, what: str, at: int, source: str) -> None:
    """What the agent's tools do."""
    if what == "insert" or not book.cells:
        id = await book.insert(source, "code", book.cells[at % len(book.cells)].id if book.cells else None)
        log.inserted(id, "code", source)
        return
    at %= len(book.cells)
    cell = book.cells[at]
    if what == "edit":
        await book.edit(cell.id, cell.source, source)
        log.edited(cell.id, cell.source, source)
    else:
        before = list(book.cells)
        await book.delete(cell.id, cell.source)
        log.deleted(cell.id, before, {"metadata": {"was": cell.source}})


acts = st.tuples(st.sampled_from(["insert", "edit", "delete"]), st.integers(0, 5), st.sampled_from(["x", "y", "a"]))


@given(done=st.lists(acts, max_size=8))
async def test_what_the_agent_did_is_undone_whatever_it_did(done):
    book, log = Book("a", "b", "c"), CellLog()
    for what, at, source in done:
        await act(book, log, what, at, source)
    plan = await plan_cells(book, log)
    assert plan.skipped == ()
    assert (await restore_cells(book, plan))[1] == []
    assert sorted(book.sources) == ["a", "b", "c"]
    assert (await plan_cells(book, log)).possible == ()


async def test_deleted_cells_come_back_in_their_places():
    for seed in range(20):
        book, log = Book("a", "b", "c", "d"), CellLog()
        numbers = random.Random(seed)
        for _ in range(3):
            await act(book, log, "delete", numbers.randrange(4), "")
        await restore_cells(book, await plan_cells(book, log))
        assert book.sources == ["a", "b", "c", "d"]


async def test_a_deleted_cell_comes_back_whole_and_once():
    book, log = Book("a", "b"), CellLog()
    await act(book, log, "edit", 1, "c")
    await act(book, log, "delete", 1, "")
    plan, name = await plan_cells(book, log), "deleted cell “b”"
    book.missing = ("outputs", "attachments")
    assert await restore_cells(book, plan) == (
        [f"{name} without its outputs and attachments, too large to be kept"],
        [],
    )
    assert book.back == [{"cell_type": "code", "metadata": {"was": "c"}, "id": "c1", "source": "b"}]
    assert await restore_cells(book, plan) == ([], [(name, CHANGED_SINCE)])  # the button of another %undo
    assert (await plan_cells(book, log), book.sources) == (CellPlan(), ["a", "b"])


async def test_what_is_not_found_is_named():
    book, log = Book("a", "b", "c"), CellLog()
    for what, at, source in (("insert", 0, "new\nline"), ("edit", 2, "edited"), ("edit", 3, "twice")):
        await act(book, log, what, at, source)
    del book.cells[1:3]
    book.load()
    book.cells.append(replace(book.cells[1], id="copy"))
    names = ("inserted cell “new\nline”", "edited cell “edited”", "edited cell “twice”")
    assert await plan_cells(book, log) == CellPlan(skipped=tuple((name, NOT_FOUND) for name in names))
    assert (await plan_cells(book, CellLog())) == CellPlan()


async def test_in_a_notebook_that_keeps_no_ids_cells_are_found_by_their_places_and_sources():
    book, log = Book("load", "x = 1", "mid = 0", "y = 1"), CellLog()
    for what, at, source in (("edit", 1, "x = 2"), ("insert", 1, "new = 1"), ("delete", 4, "")):
        await act(book, log, what, at, source)
    log.cells = list(book.cells)
    book.load()
    book.cells.insert(0, NotebookCell("above", "code", "the user's"))
    plan = await plan_cells(book, log)
    assert plan.skipped == ()
    assert [name for name, _ in plan.possible] == ["cell 3", "cell 4", "deleted cell “y = 1”"]
    assert (await restore_cells(book, plan))[1] == []
    assert book.sources == ["the user's", "load", "x = 1", "mid = 0", "y = 1"]


async def test_the_notebook_at_the_end_of_a_turn_is_kept_for_that(monkeypatch):
    book, notebook = Book("a"), PageNotebook()
    monkeypatch.setattr(notebook, "read", book.read)
    assert (await notebook.touched_cells(), notebook.log.cells) == ([], ())
    notebook.log.edited("c0", "b", "a")
    assert (await notebook.touched_cells(), notebook.log.cells) == ([("edited", "cell 1", "c0")], tuple(book.cells))


async def test_of_two_equal_cells_without_ids_only_the_one_in_its_place_is_restored():
    for moved in (False, True):
        book, log = Book("a", "b", "b"), CellLog()
        await act(book, log, "edit", 2, "b")
        await act(book, log, "edit", 2, "a")
        log.cells = list(book.cells)
        book.load()
        if moved:
            book.cells.insert(0, NotebookCell("above", "code", "a"))
        plan = await plan_cells(book, log)
        assert ([name for name, _ in plan.possible], len(plan.skipped)) == (([], 1) if moved else (["cell 3"], 0))


async def test_a_deleted_cell_that_the_user_has_brought_back_is_not_touched():
    book, log = Book("a", "b"), CellLog()
    cell = book.cells[1]
    await act(book, log, "delete", 1, "")
    book.cells.insert(0, cell)
    assert await plan_cells(book, log) == CellPlan()
    book.cells[0] = NotebookCell(cell.id, "code", "the user's")
    assert await plan_cells(book, log) == CellPlan(skipped=(("cell 1", CHANGED_SINCE),))


async def test_a_cell_of_another_type_gets_its_type_back():
    book, log = Book("# Title", "x = 1"), CellLog()
    before = list(book.cells)
    for id, source, after, types in [
        ("c0", "# Title", "# Title", ("code", "markdown")),
        ("c1", "x = 1", "x = 2", None),
        ("c1", "x = 2", "# x", ("code", "markdown")),
    ]:
        await book.edit(id, source, after, types and types[1])
        log.edited(id, source, after, types)
    assert await restore_cells(book, await plan_cells(book, log)) == (["cell 1", "cell 2"], [])
    assert book.cells == before


def test_a_cell_that_is_of_its_first_type_again_is_not_changed():
    log = CellLog()
    log.edited("c0", "x", "x", ("code", "markdown"))
    log.edited("c0", "x", "x", ("markdown", "code"))
    assert log.changes == ()


async def test_a_cell_that_the_user_has_changed_since_is_skipped_and_named():
    book, log = Book("a", "b", "c"), CellLog()
    for at in (0, 1):
        await act(book, log, "edit", at, "agent's")
    await book.edit("c1", "agent's", "user's")
    plan = await plan_cells(book, log)
    assert ([name for name, _ in plan.possible], plan.skipped) == (["cell 1"], (("cell 2", CHANGED_SINCE),))
    await book.edit("c0", "agent's", "user's, too")
    assert await restore_cells(book, plan) == ([], [("cell 1", CHANGED_SINCE)])
    assert book.sources == ["user's, too", "user's", "c"]


@pytest.mark.parametrize("book", [None, Book("a", saved=True)])
async def test_without_a_page_nothing_is_restored(book):
    log = CellLog()
    log.edited("c0", "b", "a")
    assert (await plan_cells(book, log)).skipped == (("1 cell", NO_PAGE),)
