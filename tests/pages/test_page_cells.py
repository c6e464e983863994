"""Cells, questions and runs through a page, with and without a cell that waits for the agent."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from copilot_kernel.notebook.live import NotebookCell, NotebookError, NotebookState
from copilot_kernel.pages.page import Page
from copilot_kernel.pages.page_cells import PageCells
from copilot_kernel.permissions.question import PermissionAnswer
from copilot_kernel.views.permission_question import PermissionQuestion

from ..limits import LIMIT, until
from ..output.recording import ALLOW, call, question
from .channels import Channel

CELL = {"id": "a", "type": "code", "source": "x = 1", "execution_count": 2, "running": True}


class Shown(PageCells):
    """The cells of a page in memory, of which nobody else hears."""

    def __init__(self, asking: str = "", **results: Any) -> None:
        super().__init__()
        self.asking, self.channel = asking, Channel("page", {"page"}, **results)
        nothing: Callable[..., None] = lambda *_: None  # noqa: E731
        self.page = Page(self.channel, nothing, nothing, nothing, {"hello": 1, "path": "a/book.ipynb"})

    @property
    def done(self) -> list[tuple[str, Any]]:
        """The operations, and after which cell."""
        calls = [each for data in self.channel.sent for each in data.get("calls", ())]
        return [(each["op"], each["args"].get("after")) for each in calls]


async def test_without_a_cell_that_asks_cells_are_read_and_inserted_where_it_is_said() -> None:
    cells = Shown(read={"cells": [CELL]}, insert={"id": "new"})
    read = NotebookState((NotebookCell("a", "code", "x = 1", 2, (), True),), path="a/book.ipynb")
    assert await cells.snapshot() == read
    with pytest.raises(NotebookError, match="Say after which cell"):
        await cells.insert("y = 2", "code", None)
    assert await cells.insert("y = 2", "code", "a") == "new"
    await cells.insert("z = 3", "code", None)
    assert cells.done == [("read", None), ("insert", "a"), ("insert", "new")]


async def test_the_first_cell_is_inserted_below_the_one_that_asks_also_when_the_last_was_deleted() -> None:
    cells = Shown("asks", read={"cells": [CELL]}, insert={"id": "new"})
    await cells.insert("y = 2", "code", None)
    await cells.delete("new", "y = 2")
    await cells.insert("z = 3", "code", None)
    assert cells.done == [("insert", "asks"), ("read", None), ("delete", None), ("insert", "asks")]
    assert (await cells.snapshot()).asking == "asks"


async def test_the_page_is_told_which_cell_asks_when_one_is_edited() -> None:
    cells = Shown("asks")
    await cells.edit("a", "x = 1", "x = 2")
    ((edit,),) = [data["calls"] for data in cells.channel.sent]
    assert edit["args"] == {"id": "a", "expected": "x = 1", "source": "x = 2", "asking": "asks"}


async def test_a_page_asks_and_runs_without_a_cell_that_waits() -> None:
    shown = Shown()
    asked = PermissionQuestion(question(call(1)))
    asking = asyncio.create_task(shown.page.ask(asked))
    await until(lambda: shown.channel.sent)
    shown.channel.says(answer=asked.key, option=0)
    assert await asyncio.wait_for(asyncio.wrap_future(asked.answer), LIMIT) == PermissionAnswer(ALLOW, "you")
    asking.cancel()
    running = asyncio.create_task(shown.page.run("a", "x = 1", "token"))
    await until(lambda: "calls" in shown.channel.sent[-1])
    shown.channel.says(run="token", id="a", code="x = 1")
    assert await asyncio.wait_for(running, LIMIT) == (None, "x = 1")
