"""One cell's view of its turn: what is shown where, and a question from its first picture to the line it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from copilot_kernel.acp.messages import TextBlock, UsageUpdate
from copilot_kernel.chat import Turn
from copilot_kernel.conversation.model import Attachment, Message, ToolCall
from copilot_kernel.frontend.display import Display
from copilot_kernel.frontend.slots import MAX_QUESTIONS, OpenQuestion
from copilot_kernel.permissions.question import PermissionAnswer, Question
from copilot_kernel.rendering.entry import render

from .recording import ALLOW, Loop, RecordingCell, call, question, said, spoken

pytestmark = pytest.mark.anyio

ALLOWED = PermissionAnswer(ALLOW, "you")


class Person:
    """Answers when the test says so; `withdrawn` are the questions that no longer stand in the cell."""

    def __init__(self) -> None:
        self.answers: dict[int, asyncio.Future[PermissionAnswer]] = {}
        self.withdrawn: list[int] = []

    async def ask(self, asked: Question, show: Callable[[OpenQuestion], None]) -> PermissionAnswer:
        show(OpenQuestion({"text/plain": f"May it do {asked.key}?"}, lambda: self.withdrawn.append(asked.key)))
        self.answers[asked.key] = asyncio.get_running_loop().create_future()
        return await self.answers[asked.key]


class Scene:
    """A display, its cell, its clock and the person before it."""

    def __init__(self, activity_timeout: float = 0.0, **cell: Any) -> None:
        self.cell, self.loop, self.person = RecordingCell(**cell), Loop(), Person()
        options: dict[str, Any] = {"cwd": "/project", "loop": self.loop, "activity_timeout": activity_timeout}
        self.display = Display(self.cell, self.person, **options)  # type: ignore[arg-type]

    async def ask(self, about: ToolCall, key: int = 1) -> asyncio.Task[PermissionAnswer]:
        """Ask, until the question stands there or waits for a seat."""
        asking = asyncio.create_task(self.display.ask(question(about, key)))
        for _ in range(5):
            await asyncio.sleep(0)
        self.loop.pass_time(1.0)
        return asking

    def plain(self) -> list[str]:
        self.loop.pass_time(1.0)
        return self.cell.plain


def turn(**more: Any) -> Turn:
    fields = {"number": 1, "stop_reason": "end_turn", "text": "", "tool_calls": (), "session_id": "s", "agent": "A"}
    return Turn(**{**fields, **more})


# -- entries --------------------------------------------------------------------------------------------------------


async def test_what_the_user_said_is_the_cell_itself() -> None:
    scene = Scene()
    for entry in (spoken(1, "user", "Do it."), Attachment(2, 1, "user", TextBlock("too")), said(3, "Yes.")):
        scene.display.show(entry)
    assert scene.plain() == ["Yes."]


async def test_an_entry_that_cannot_be_shown_is_logged_and_the_others_are_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    scene.display.show(Message(2, 1, "agent", "a secret"))  # type: ignore[arg-type]
    scene.display.show(said(3, "Yes."))
    assert scene.plain() == ["Yes."]
    (record,) = caplog.records
    assert record.getMessage().startswith("an entry could not be shown: Message 2: AttributeError\n")
    assert "a secret" not in caplog.text


@pytest.mark.parametrize(
    ("cell", "kinds"),
    [
        ({}, ["display", "update"]),
        ({"live": False}, ["display"]),
        ({"cell_id": None}, ["stream", "stream"]),
    ],
)
async def test_a_notebook_is_drawn_again_a_batch_run_is_drawn_once_a_console_is_printed(
    cell: dict[str, Any], kinds: list[str]
) -> None:
    scene = Scene(**cell)
    for parts in (["a"], ["a", "b"]):
        scene.display.show(said(1, *parts))
        scene.loop.pass_time(1.0)
    scene.display.close()
    assert scene.cell.kinds == kinds


@pytest.mark.parametrize(
    ("live", "more", "shown"),
    [
        (True, {"stopped_by_user": True}, ["■ Stopped by you after 2.0 s"]),
        (True, {}, ["■ Stopped after 2.0 s"]),
        (False, {"stopped_by_user": True}, ["■ Stopped by you"]),
        (True, {"permission_mode": "plan"}, ["■ Stopped after 2.0 s", "permissions: plan"]),
    ],
)
async def test_a_turn_that_was_stopped_ends_with_one_line(live: bool, more: dict[str, Any], shown: list[str]) -> None:
    scene = Scene(live=live)
    scene.display.finish(turn(stop_reason="cancelled", model="m", mode="edit", seconds=2.0, **more))
    assert scene.cell.plain == shown


async def test_the_footer_comes_last_marked_as_such() -> None:
    scene = Scene()
    scene.display.show(said(1, "Yes."))
    scene.display.finish(turn(model="m", context=UsageUpdate(1000, 4000), seconds=2.0))
    assert scene.cell.plain == ["Yes.", "A, m · 2.0 s"]
    assert [list(each or ()) for each in scene.cell.metadata] == [[], ["copilot_kernel"]]


# -- questions ------------------------------------------------------------------------------------------------------


async def test_a_question_that_is_taken_back_is_gone() -> None:
    scene, asked = Scene(), call(1, "waiting")
    scene.display.show(asked)
    asking = await scene.ask(asked)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (scene.plain(), scene.person.withdrawn) == ([render(asked)["text/plain"]], [1])


async def test_so_many_questions_stand_at_once_and_the_next_one_when_one_is_answered() -> None:
    scene = Scene()
    calls = [call(number, "waiting") for number in range(1, MAX_QUESTIONS + 2)]
    for entry in calls:
        scene.display.show(entry)
    tasks = [await scene.ask(entry, entry.id) for entry in calls]
    assert [text for text in scene.plain() if text.startswith("May")] == [
        f"May it do {number}?" for number in range(1, MAX_QUESTIONS + 1)
    ]
    scene.person.answers[2].set_result(ALLOWED)
    await tasks[1]
    for _ in range(5):
        await asyncio.sleep(0)
    assert f"May it do {MAX_QUESTIONS + 1}?" in scene.plain()
    for task in tasks:
        task.cancel()


async def test_a_question_counts_as_activity_until_it_is_answered() -> None:
    scene = Scene(activity_timeout=3600)
    asking = await scene.ask(call(1))
    assert scene.cell.busied == 0
    scene.loop.pass_time(600)
    assert scene.cell.busied == 10
    scene.person.answers[1].set_result(ALLOWED)
    await asking
    scene.loop.pass_time(600)
    assert scene.cell.busied == 10


@pytest.mark.parametrize("seconds", [0, 59, 600])
async def test_but_only_for_the_time_of_the_setting(seconds: float) -> None:
    scene = Scene(activity_timeout=seconds)
    asking = await scene.ask(call(1))
    scene.loop.pass_time(7200)
    assert scene.cell.busied == max(0, seconds // 60 - 1)
    asking.cancel()
    await asyncio.wait({asking})
