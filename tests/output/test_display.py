"""One cell's view of its turn: what is shown where, and a question from its first picture to the line it leaves."""

import asyncio
from typing import Any

import pytest
from copilot_kernel.acp.messages import TextBlock, UsageUpdate
from copilot_kernel.chat import TurnEnd, TurnOutcome
from copilot_kernel.conversation.model import Attachment, Message, Notice
from copilot_kernel.output.display import Display
from copilot_kernel.output.questions import ACTIVITY_SECONDS, MAX_QUESTIONS
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.rendering.entry import render
from copilot_kernel.views.open_question import AskLine, OpenQuestion

from ..limits import LIMIT, settled
from .asked import Clock
from .recording import Loop, RecordingCell, call, notice, said, spoken


class Asked(OpenQuestion[str]):
    """Answered when the test says so."""

    def __init__(self, entry_id: int) -> None:
        super().__init__("", entry_id)

    @property
    def static(self) -> dict[str, Any]:
        return {"text/plain": f"May it do {self.entry_id}?"}

    async def read_lines(self, ask: AskLine) -> str:
        return await asyncio.get_running_loop().create_future()

    def make_widgets(self, on_move: object) -> Any:
        raise AssertionError("there are no widgets here")

    def unattended(self) -> str:
        return "nobody"

    def unanswered(self, reason: str) -> str:
        return reason

    def closing_line(self, answer: str) -> Notice:
        return notice(-self.entry_id, answer)


class Scene:
    """A display, its cell and its clock."""

    def __init__(self, activity_timeout: float = 0.0, **cell: Any) -> None:
        self.cell, self.loop = RecordingCell(**cell), Loop()
        self.cell.widgets = False
        options: dict[str, Any] = {"cwd": "/project", "loop": self.loop, "activity_timeout": activity_timeout}
        self.display = Display(self.cell, PageReporter(), **options)

    def finish(self, **more: Any) -> None:
        """The turn ends, with these members of its outcome."""
        fields = {"number": 1, "stop_reason": "end_turn", "text": "", "tool_calls": (), "session_id": "s", "agent": "A"}
        self.display.finish(TurnEnd.reported(TurnOutcome(**{**fields, **more}), "/project"))

    async def ask(self, asked: Asked) -> asyncio.Task[str]:
        """Ask, until the question stands there or waits for a seat."""
        asking = asyncio.create_task(self.display.questions.ask(asked))
        await settled()
        self.loop.pass_time(1.0)
        return asking

    def plain(self) -> list[str]:
        self.loop.pass_time(1.0)
        return self.cell.plain


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
    scene.display.show(Message(2, 1, "agent", "a secret"))
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
    scene.finish(stop_reason="cancelled", model="m", mode="edit", seconds=2.0, **more)
    assert scene.cell.plain == shown


async def test_the_footer_comes_last_marked_as_such() -> None:
    scene = Scene()
    scene.display.show(said(1, "Yes."))
    scene.finish(model="m", context=UsageUpdate(1000, 4000), seconds=2.0)
    assert scene.cell.plain == ["Yes.", "A, m · 2.0 s"]
    assert [list(each or ()) for each in scene.cell.metadata] == [[], ["copilot_kernel"]]


# -- questions ------------------------------------------------------------------------------------------------------


async def test_a_question_that_is_taken_back_is_gone() -> None:
    scene, about = Scene(), call(1, "waiting")
    scene.display.show(about)
    asking = await scene.ask(Asked(1))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert scene.plain() == [render(about)["text/plain"]]


async def test_so_many_questions_stand_at_once_and_the_next_one_when_one_is_answered() -> None:
    scene = Scene()
    questions = [Asked(number) for number in range(1, MAX_QUESTIONS + 2)]
    for asked in questions:
        scene.display.show(call(asked.entry_id, "waiting"))
    tasks = [await scene.ask(asked) for asked in questions]
    assert [text for text in scene.plain() if text.startswith("May")] == [
        f"May it do {number}?" for number in range(1, MAX_QUESTIONS + 1)
    ]
    questions[1].settle("yes")
    assert await asyncio.wait_for(tasks[1], LIMIT) == "yes"
    await settled()
    assert f"May it do {MAX_QUESTIONS + 1}?" in scene.plain()
    for task in tasks:
        task.cancel()


@pytest.mark.parametrize(("seconds", "busied"), [(0, 0), (59, 0), (600, 9), (3600, 10)])
async def test_a_question_counts_as_activity_until_it_is_answered_but_no_longer_than_the_setting_says(
    seconds: float, busied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, scene, asked = Clock(monkeypatch), Scene(activity_timeout=seconds), Asked(1)
    asking = await scene.ask(asked)
    assert scene.cell.busied == 0
    for _ in range(10):
        clock.now += ACTIVITY_SECONDS
        await settled()
    assert scene.cell.busied == busied
    asked.settle("yes")
    assert await asyncio.wait_for(asking, LIMIT) == "yes"
    clock.now += ACTIVITY_SECONDS
    await settled()
    assert scene.cell.busied == busied
