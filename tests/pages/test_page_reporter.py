"""What the page is told of a turn and its questions, and what it asks where code blocks the kernel."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from copilot_kernel.acp.elicitation import Elicitation, ElicitationAnswer, FormField
from copilot_kernel.output.display import Display
from copilot_kernel.output.questions import NO_FORM
from copilot_kernel.pages.page_reporter import PageReporter
from copilot_kernel.permissions.question import Keep, PermissionAnswer, Question, RuleOffer
from copilot_kernel.rendering.answers import answers_to
from copilot_kernel.rendering.question import QuestionView
from copilot_kernel.views.other_questions import ActionQuestion, Confirmation, ElicitationQuestion, SignIn
from copilot_kernel.views.permission_question import PermissionQuestion
from copilot_widgets.answers import Reply
from msgspec import to_builtins

from ..limits import LIMIT, until
from ..output.recording import ALLOW, OPTIONS, RecordingCell, call, question

RUN_IT, STEP_2 = "Use this tool? Run⟨U+202E⟩ it", "Use this tool? Step 2"
QUESTION = question(call(1, "waiting", "Run\u202e it"))


class Page:
    """What is posted to a page, and an answer when the test gives it."""

    has_widgets = True

    def __init__(self, is_there: bool = True) -> None:
        self.there, self.posted, self.asked, self.withdrawn = (
            asyncio.Event(),
            list[dict[str, Any]](),
            asyncio.Event(),
            0,
        )
        self.question: PermissionQuestion | None = None
        if is_there:
            self.there.set()

    async def arrives(self) -> None:
        await self.there.wait()

    def post(self, event: str, **more: Any) -> None:
        self.posted.append({"event": event, **more})

    async def ask(self, question: PermissionQuestion) -> None:
        self.question = question
        self.asked.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.withdrawn += 1

    def reply(self, *reply: Any) -> str:
        return self.question.reply(Reply(*reply))


class Scene:
    """A cell in a page, whose kernel is blocked when the test says so."""

    def __init__(self, page: Page | None = None, cell: RecordingCell | None = None, asks_all: bool = False) -> None:
        self.page, self.blocked = page or Page(), asyncio.Event()
        self.reporter = PageReporter(self.page, "c1", self._wait, asks_all=asks_all)
        self.cell = cell or RecordingCell()
        self.cell.widgets = False
        self.display = Display(self.cell, self.reporter, cwd="/project")

    async def _wait(self) -> None:
        await self.blocked.wait()

    def ask(self, question: Question = QUESTION) -> asyncio.Task[PermissionAnswer]:
        return asyncio.create_task(self.display.ask(question))

    def lists(self) -> list[list[str]]:
        """The keys of the questions that wait, each time that the page was told."""
        return [[each["key"] for each in data["waiting"]] for data in self.page.posted if data["event"] == "questions"]


async def test_the_page_learns_who_works_and_what_is_asked() -> None:
    scene, names = Scene(), [""]
    scene.reporter.begin(lambda: names[0])
    names[0] = "GitHub Copilot"
    first = scene.ask()
    await scene.cell.typed.put("1")
    await asyncio.wait_for(first, LIMIT)
    second = scene.ask(question(call(2)))
    await until(lambda: len(scene.lists()) == 3)
    scene.reporter.end(["a", "b"])
    second.cancel()
    seconds = scene.page.posted[-1].pop("seconds")
    assert 0 <= seconds < 5
    (one,), _, (two,), _ = scene.lists()
    assert one != two
    started, *later = scene.page.posted
    assert started == {"event": "turn", "state": "working", "agent": "", "cell": "c1"}
    assert later == [{**event, "agent": "GitHub Copilot"} for event in (
        {"event": "questions", "waiting": [{"key": one, "cell": "c1", "title": RUN_IT}], "answered": {}},
        {"event": "questions", "waiting": [], "answered": {one: "Run⟨U+202E⟩ it: allowed by you"}},
        {"event": "questions", "waiting": [{"key": two, "cell": "c1", "title": STEP_2}], "answered": {}},
        {"event": "questions", "waiting": [], "answered": {}},
        {"event": "turn", "state": "idle", "cells": ["a", "b"]},
    )]  # fmt: skip


async def test_what_the_agents_own_commands_have_changed_is_told_once_in_each_turn() -> None:
    scene = Scene()
    for standing in ((), (), ("does not ask: mode yolo", "x"), ("does not ask: mode yolo", "x"), ()):
        scene.reporter.report(standing)
    assert [each["words"] for each in scene.page.posted] == ["", "does not ask: mode yolo · x", ""]


async def test_where_code_blocks_the_kernel_the_page_asks_and_lists_it_until_it_is_answered() -> None:
    scene = Scene()
    asking = scene.ask()
    await until(scene.lists)
    scene.blocked.set()
    await asyncio.wait_for(scene.page.asked.wait(), LIMIT)
    assert scene.page.question.for_page == {
        "title": "Use this tool? Run⟨U+202E⟩ it",
        "html": QuestionView(QUESTION, "/project").bundle["text/html"],
        "answers": to_builtins(answers_to(QuestionView(QUESTION, "/project"))),
    }
    listed = [scene.page.question.key]
    assert scene.lists() == [listed]
    scene.page.reply(1, "Not so.", "Edit")
    assert await asyncio.wait_for(asking, LIMIT) == PermissionAnswer(OPTIONS[2], "you", feedback="Not so.")
    assert scene.lists() == [listed, []]


OFFERS = (RuleOffer("Here", "Bash(ls -l)"), RuleOffer("Everywhere", "Bash(ls -l)", "settings"))


@pytest.mark.parametrize(
    ("reply", "keep"), [(("Bash(ls *)", "settings"), "session"), (("Bash(ls -l)", "settings"), "settings")]
)
async def test_a_rule_of_the_page_is_reviewed_as_in_cells(reply: tuple[str, Keep], keep: Keep) -> None:
    scene = Scene()
    command = call(1, "waiting", "List", kind="execute", raw_input={"command": "ls -l"})
    asking = scene.ask(replace(question(command), offers=OFFERS, folder="/project"))
    scene.blocked.set()
    await asyncio.wait_for(scene.page.asked.wait(), LIMIT)
    assert scene.page.question.for_page["answers"]["rule"]["value"] == "Bash(ls -l)"
    assert "is not a rule" in scene.page.reply(0, "", "Bash(")
    assert "does not allow this call" in scene.page.reply(0, "", "Bash(cat *)")
    assert not asking.done()
    assert scene.page.reply(0, "ignored with a yes", *reply) == ""
    answer = PermissionAnswer(ALLOW, "you", rule=reply[0], keep=keep)
    assert await asyncio.wait_for(asking, LIMIT) == answer


async def test_where_the_page_shows_no_widgets_it_asks_at_once() -> None:
    scene = Scene()
    scene.page.has_widgets = False
    asking = scene.ask()
    await asyncio.wait_for(scene.page.asked.wait(), LIMIT)
    scene.page.reply(0, "ignored with a yes")
    assert (await asyncio.wait_for(asking, LIMIT)).allows
    assert scene.lists() == [[scene.page.question.key], []]


async def test_an_answer_in_the_cell_withdraws_the_question_of_the_page() -> None:
    scene = Scene()
    asking = scene.ask()
    scene.blocked.set()
    await asyncio.wait_for(scene.page.asked.wait(), LIMIT)
    await scene.cell.typed.put("1")
    assert (await asyncio.wait_for(asking, LIMIT)).allows
    assert scene.page.withdrawn == 1


async def test_without_a_page_only_the_cell_asks() -> None:
    scene = Scene(Page(is_there=False))
    scene.blocked.set()
    asking = scene.ask()
    await scene.cell.typed.put("1")
    assert (await asyncio.wait_for(asking, LIMIT)).allows
    assert not scene.page.asked.is_set()


async def test_a_page_that_comes_while_the_question_is_open_lists_it() -> None:
    scene = Scene(Page(is_there=False))
    asking = scene.ask()
    async with asyncio.timeout(LIMIT):
        while not scene.cell.prompts:
            await asyncio.sleep(0)
        assert scene.lists() == []
        scene.page.there.set()
        while not scene.lists():
            await asyncio.sleep(0)
        assert [len(keys) for keys in scene.lists()] == [1]
        await scene.cell.typed.put("1")
        assert (await asking).allows


# -- a cell that a server runs --------------------------------------------------------------------------------------


def server_run() -> Scene:
    cell = RecordingCell()
    cell.server_run = True
    return Scene(cell=cell, asks_all=True)


FORM = Elicitation("Who are you?", fields=(FormField("name", "text", "Name", required=True),))
VISIT = Elicitation("Sign in", "url", id="e", url="https://x.example/login")
BUTTONS = ["Agree", "Decline"]


async def test_what_a_server_runs_is_asked_in_the_page_alone() -> None:
    scene = server_run()
    asking = scene.ask()
    await asyncio.wait_for(scene.page.asked.wait(), LIMIT)
    assert scene.lists() == [[scene.page.question.key]]
    scene.page.reply(0)
    assert (await asyncio.wait_for(asking, LIMIT)).allows
    assert (scene.cell.prompts, scene.cell.sent) == ([], [])


@pytest.mark.parametrize(
    ("question", "buttons"),
    [
        (ElicitationQuestion(VISIT), BUTTONS),
        (Confirmation("Really?", ("Yes", "No")), ["Yes", "No"]),
        (SignIn(), ["Sign in and run again", "Not now"]),
    ],
)
@pytest.mark.parametrize(("option", "action"), [(0, "accept"), (1, "decline")])
async def test_every_question_with_buttons_can_be_the_pages(
    question: ActionQuestion, buttons: list[str], option: int, action: str
) -> None:
    question.answer = Future()
    scene = server_run()
    asking = asyncio.create_task(scene.display.questions.ask(question))
    await asyncio.wait_for(scene.page.asked.wait(), LIMIT)
    asked = scene.page.question.for_page
    assert (asked["title"], asked["html"]) == (question.title, question.static["text/html"])
    assert [each["label"] for each in asked["answers"]["choices"]] == buttons
    scene.page.reply(option)
    assert (await asyncio.wait_for(asking, LIMIT)).action == action


async def test_a_form_is_declined_with_a_line_that_says_where_it_can_be_filled_in() -> None:
    scene = server_run()
    answer = await asyncio.wait_for(scene.display.elicit(FORM), LIMIT)
    scene.display.close()
    assert answer == ElicitationAnswer("decline", reason=NO_FORM)
    assert scene.cell.plain == [f"ℹ Declined ({NO_FORM})\nWho are you?"]
    assert not scene.page.asked.is_set()
