"""Questions that wait for an answer, and the widget models that a front end holds of them."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from html import unescape
from typing import Any

import pytest
from copilot_kernel.acp.messages import Location
from copilot_kernel.conversation.model import Notice
from copilot_kernel.output.questions import Card, Questions, ShownQuestion
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.permissions.question import PermissionAnswer, Question
from copilot_kernel.views.permission_question import PermissionQuestion

from ..limits import LIMIT, until
from ..widgets.front_end import FrontEnd
from .recording import RecordingCell, call, question

EDIT = call(1, "waiting", "Edit notes.txt", kind="edit", locations=(Location("/project/notes.txt"),))
QUESTION = question(EDIT)
NOT_ANSWERED = PermissionAnswer(None, "cancel", "no answer was given")


class Models(FrontEnd):
    """What a person does with a card, and a page with its widgets."""

    def buttons(self, name: str) -> list[str]:
        return [key for key, state in self.models.items() if state.get("description") == name]

    def enter(self, label: str, text: str) -> None:
        self.set(self.described(label), value=text)

    def disabled(self) -> list[str]:
        return [str(state["description"]) for state in self.models.values() if state.get("disabled") is True]

    async def released(self) -> None:
        """Until every button can be pressed."""
        await until(lambda: not self.disabled())

    @property
    def complaint(self) -> str:
        found = (str(state.get("value", "")) for state in self.models.values())
        return next((unescape(re.sub("<.*?>", "", value)) for value in found if "alert" in value), "")


def guard(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(RecordingCell, "guard_seconds", seconds)


class Clock:
    """The running loop's, which goes on when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = asyncio.get_running_loop().time()
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now)


class Place:
    """Where questions stand."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.buttons: list[dict[str, Any] | None] = []
        self.cards: list[Card | None] = []

    def put(self, line: Notice) -> None:
        """Nobody reads it."""

    def open_question(self, question: ShownQuestion) -> Callable[[Notice], None]:
        self.shown.append(question.bundle)
        self.buttons.append(question.buttons)
        self.cards.append(question.card)
        question.shown.set()
        return lambda line: None

    def close(self, number: int = 0) -> None:
        """The question no longer stands there."""
        card = self.cards[number]
        card.close()


class Asked:
    """A question that waits for its answer."""

    def __init__(self, asked: Coroutine[Any, Any, PermissionAnswer]) -> None:
        self.task = asyncio.create_task(asked)

    async def wait(self) -> PermissionAnswer:
        return await asyncio.wait_for(self.task, LIMIT)


def questions(cell: RecordingCell, place: Place) -> Questions:
    return Questions(cell, place, PageReporter())


async def ask(cell: RecordingCell, place: Place, asked: Question = QUESTION) -> Asked:
    """Ask, and come back when the question stands there."""
    waiting = Asked(questions(cell, place).ask(PermissionQuestion(asked, "/project")))
    before = len(place.shown)
    await until(lambda: len(place.shown) > before or waiting.task.done())
    return waiting


async def ask_ready(models: Models, cell: RecordingCell, place: Place, asked: Question = QUESTION) -> Asked:
    """Ask, and come back when every button can be pressed."""
    waiting = await ask(cell, place, asked)
    await models.released()
    return waiting
