"""What the page is told of a turn and its questions, and what it asks where code blocks the kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from copilot_kernel.frontend.asking import Asking
from copilot_kernel.frontend.display import Display
from copilot_kernel.frontend.page_turn import PageTurn
from copilot_kernel.permissions.question import PermissionAnswer
from copilot_kernel.rendering.question import question_html

from .recording import ALLOW, OPTIONS, RecordingCell, call, question

pytestmark = pytest.mark.anyio

QUESTION = question(call(1, "waiting", "Run\u202e it"), key=7)


class Page:
    """What is posted to a page, and an answer when the test gives it."""

    has_widgets = True

    def __init__(self, is_there: bool = True) -> None:
        self.is_there, self.posted, self.asked, self.withdrawn = is_there, list[dict[str, Any]](), asyncio.Event(), 0
        self.answer: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        self.shown: tuple[str, str, Sequence[Mapping[str, Any]]] = ("", "", ())
        self.more: dict[str, Any] = {}

    async def known(self) -> bool:
        return self.is_there

    def post(self, event: str, **more: Any) -> None:
        self.posted.append({"event": event, **more})

    async def ask(self, *shown: Any, **more: Any) -> tuple[str, str]:
        self.shown, self.more = shown, more
        self.asked.set()
        try:
            return await self.answer
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise


class Scene:
    """A cell in a page, whose kernel is blocked when the test says so."""

    def __init__(self, page: Page | None = None, cell: RecordingCell | None = None) -> None:
        self.page, self.blocked = page or Page(), asyncio.Event()
        self.turn = PageTurn(self.page, "c1", self._wait)  # type: ignore[arg-type]
        self.cell = cell or RecordingCell()
        self.cell.widgets = False
        asking = Asking(self.cell, "/project", page=self.turn)  # type: ignore[arg-type]
        self.display = Display(self.cell, asking, cwd="/project", page=self.turn)  # type: ignore[arg-type]

    async def _wait(self) -> None:
        await self.blocked.wait()

    def ask(self) -> asyncio.Task[PermissionAnswer]:
        return asyncio.create_task(self.display.ask(QUESTION))

    def lists(self) -> list[list[str]]:
        return [[each["key"] for each in data["waiting"]] for data in self.page.posted if data["event"] == "questions"]


async def test_the_turn_is_told_with_the_agent_as_soon_as_it_is_known() -> None:
    scene, names = Scene(), [""]
    scene.turn.begin(lambda: names[0])
    names[0] = "GitHub Copilot"
    scene.turn.opened("1", "One")
    scene.turn.closed("1")
    scene.turn.opened("2", "Two")
    scene.turn.end(["a", "b"])
    seconds = scene.page.posted[-1].pop("seconds")
    assert 0 <= seconds < 5
    assert scene.page.posted == [
        {"event": "turn", "state": "working", "agent": ""},
        {"event": "turn", "state": "working", "agent": "GitHub Copilot"},
        {"event": "questions", "waiting": [{"key": "1", "cell": "c1", "title": "One"}]},
        {"event": "questions", "waiting": []},
        {"event": "questions", "waiting": [{"key": "2", "cell": "c1", "title": "Two"}]},
        {"event": "questions", "waiting": []},
        {"event": "turn", "state": "idle", "agent": "GitHub Copilot", "cells": ["a", "b"]},
    ]


async def test_a_question_in_the_cell_is_listed_until_it_is_answered() -> None:
    scene = Scene()
    asking = scene.ask()
    await scene.cell.typed.put("1")
    assert await asyncio.wait_for(asking, 5) == PermissionAnswer(ALLOW, "you")
    opened, closed = scene.page.posted
    assert opened["waiting"] == [{"key": "7", "cell": "c1", "title": "Use this tool? Run⟨U+202E⟩ it"}]
    assert closed["waiting"] == []
    assert scene.page.withdrawn == 0


async def test_where_code_blocks_the_kernel_the_page_asks_and_lists_it_no_longer() -> None:
    scene = Scene()
    asking = scene.ask()
    while not scene.lists():
        await asyncio.sleep(0)
    scene.blocked.set()
    await asyncio.wait_for(scene.page.asked.wait(), 5)
    key, title, options = scene.page.shown
    assert (key, title, scene.lists()) == ("7", "Use this tool? Run⟨U+202E⟩ it", [["7"], []])
    assert scene.page.more["html"] == question_html(QUESTION, "/project")
    assert [(each["name"], each["kind"], each["suggested"], each["guarded"], each["quiet"]) for each in options] == [
        ("Allow once", "allow_once", False, True, False),
        ("Reject", "reject_once", False, False, False),
        ("Always allow (the agent remembers it)", "allow_always", False, True, True),
    ]
    assert options[1]["label"] == "Reject: Run⟨U+202E⟩ it"
    assert (scene.page.more["reason"]["id"], scene.page.more["reason"]["name"]) == ("2", "Deny and say why…")
    scene.page.answer.set_result(("2", " Not so. "))
    assert await asyncio.wait_for(asking, 5) == PermissionAnswer(OPTIONS[2], "you", feedback="Not so.")
    assert scene.lists() == [["7"], []]


async def test_where_the_page_shows_no_widgets_it_asks_at_once() -> None:
    scene = Scene()
    scene.page.has_widgets = False
    asking = scene.ask()
    await asyncio.wait_for(scene.page.asked.wait(), 5)
    scene.page.answer.set_result(("0", "ignored with a yes"))
    assert (await asyncio.wait_for(asking, 5)).allows
    assert scene.lists() == []


async def test_an_answer_in_the_cell_withdraws_the_question_of_the_page() -> None:
    scene = Scene()
    asking = scene.ask()
    scene.blocked.set()
    await asyncio.wait_for(scene.page.asked.wait(), 5)
    await scene.cell.typed.put("1")
    assert (await asyncio.wait_for(asking, 5)).allows
    assert scene.page.withdrawn == 1


async def test_without_a_page_only_the_cell_asks() -> None:
    scene = Scene(Page(is_there=False))
    scene.blocked.set()
    asking = scene.ask()
    await scene.cell.typed.put("1")
    assert (await asyncio.wait_for(asking, 5)).allows
    assert not scene.page.asked.is_set()
