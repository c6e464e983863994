"""A call that changes while it is asked about: no answer is for what was not shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import from_thread
from copilot_kernel.acp.messages import Diff, Location, Option, PermissionRequest, Text, ToolCallUpdate
from copilot_kernel.chat import saving, shown
from copilot_kernel.chat.ids import PREFIX, of_agent
from copilot_kernel.chat.permission import CHANGED, CHANGED_TOO_OFTEN, Permissions
from copilot_kernel.chat.record import ConversationState
from copilot_kernel.chat.stop import Stop
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.question import Answer, Question

from .people import Person

pytestmark = pytest.mark.anyio

OPTIONS = tuple(Option(kind, kind, kind) for kind in ("allow_once", "reject_once"))
ONE = ToolCallUpdate("1", title="Run ls", kind="execute", raw_input={"command": "ls"})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "REST", 0.02)
    monkeypatch.setattr(shown, "LONGEST_REST", 0.1)


class Reader(Person):
    """Answers each question after `reads` was called with it; without an answer it goes on reading."""

    def __init__(self, reads: Callable[[Question], bool]) -> None:
        super().__init__()
        self._reads = reads

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if not self._reads(question):
            await anyio.sleep_forever()
        return Answer(question.options[0], "you")


class ChatSession:
    """One turn that runs, and its permission requests."""

    def __init__(self, reads: Callable[[Question], bool], **settings: Any) -> None:
        self.record, self.view = ConversationState(), Reader(reads)
        self.record.begin([Text("do it")], self.view)
        self.permissions = Permissions(Settings(cwd="/project", **settings), self.record)
        self.permissions.stop = Stop()

    def change(self, **members: Any) -> None:
        self.record.update(ToolCallUpdate("1", **members))

    async def ask(self, call: ToolCallUpdate = ONE) -> Option | None:
        with anyio.fail_after(5):
            return await self.permissions.ask(PermissionRequest("s", call, OPTIONS))

    @property
    def asked(self) -> list[Any]:
        return [question.call.raw_input["command"] for question in self.view.questions]

    @property
    def call(self) -> ToolCall:
        return next(entry for entry in self.record.conversation.entries if isinstance(entry, ToolCall))


CHANGES = [
    {"raw_input": {"command": "rm -rf ."}},
    {"title": "Run ls, or perhaps not"},
    {"kind": "read"},
    {"locations": (Location("/etc/passwd"),)},
    {"content": (Diff("/etc/passwd", None, "x"),)},
    {"content": (Text("It says something else."),)},
]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_call_that_changes_is_shown_again_and_says_so(change: dict[str, Any]) -> None:
    def reads(question: Question) -> bool:
        first = len(talk.view.questions) == 1
        if first:
            talk.change(**change)
        return not first

    talk = ChatSession(reads)
    option = await talk.ask()
    first, second = talk.view.questions
    assert option == OPTIONS[0]
    assert [getattr(second.call, name) for name in change] == list(change.values())
    assert (first.why.startswith(CHANGED), second.why.startswith(CHANGED)) == (False, True)
    assert first.key != second.key
    assert talk.permissions.allowed[talk.call.id] == second.call


async def test_an_answer_in_the_moment_of_the_change_does_not_count() -> None:
    def reads(question: Question) -> bool:
        if len(talk.view.questions) == 1:
            talk.change(raw_input={"command": "rm -rf ."})
        return True

    talk = ChatSession(reads)
    assert (await talk.ask(), talk.asked) == (OPTIONS[0], ["ls", "rm -rf ."])


@pytest.mark.parametrize("kind", ["allow_once", "reject_once"])
async def test_what_was_said_with_an_answer_that_does_not_count_is_forgotten(kind: str) -> None:
    """The rule is not in force, and the agent is not told why it was refused."""

    class Hasty(Person):
        async def ask(self, question: Question) -> Answer:
            answer = await super().ask(question)
            if len(self.questions) > 1:
                return replace(answer, feedback="no, since it is late")
            talk.change(raw_input={"command": "rm -rf ."})
            return replace(answer, feedback="no, since it is early", rule="Bash(ls)")

    talk = ChatSession(lambda question: True)
    talk.record.begin([Text("do it")], person := Hasty(kind))
    assert (await talk.ask(), len(person.questions)) == (Option(kind, kind, kind), 2)
    assert talk.permissions.saving.feedback == ["no, since it is late"] * (kind == "reject_once")
    assert talk.permissions.judge.book.texts("allow") == ()


async def test_a_change_before_the_question_is_shown_is_in_the_question() -> None:
    talk = ChatSession(lambda question: True)
    asking = talk.permissions.ask(PermissionRequest("s", ONE, OPTIONS))
    talk.change(raw_input={"command": "rm -rf ."})
    assert (await asking, talk.asked) == (OPTIONS[0], ["rm -rf ."])


async def test_what_a_rule_allowed_is_asked_about_if_it_changed() -> None:
    talk = ChatSession(lambda question: True, allow=("Bash(ls *)",))
    assert (await talk.ask(), talk.asked) == (OPTIONS[0], [])
    asking = talk.permissions.ask(PermissionRequest("s", ToolCallUpdate("1", raw_input={"command": "ls"}), OPTIONS))
    talk.change(raw_input={"command": "ls /"})
    assert (await asking, talk.asked) == (OPTIONS[0], ["ls /"])


async def test_what_a_rule_denies_after_the_change_is_denied() -> None:
    talk = ChatSession(lambda question: talk.change(raw_input={"command": "rm x"}) or False, deny=("Bash(rm *)",))
    assert await talk.ask() == OPTIONS[1]
    assert talk.call.decision.startswith("Rejected: reject_once (denied by the rule Bash(rm *)")


@pytest.mark.parametrize(
    "update",
    [
        {"status": "in_progress"},
        {"raw_output": {"x": 1}},
        {"raw_input": {"command": "ls", "description": "x"}},
        {"meta": {"a": 1}},
    ],
)
async def test_what_a_person_is_not_asked_about_may_change(update: dict[str, Any]) -> None:
    talk = ChatSession(lambda question: talk.change(**update) or True)
    assert (await talk.ask(), talk.asked) == (OPTIONS[0], ["ls"])


async def test_an_update_of_another_call_changes_nothing() -> None:
    talk = ChatSession(lambda question: talk.record.update(ToolCallUpdate("2", title="Another")) or True)
    assert (await talk.ask(), talk.asked) == (OPTIONS[0], ["ls"])


async def test_a_call_that_changes_again_and_again_is_rejected() -> None:
    def reads(question: Question) -> bool:
        talk.change(raw_input={"command": f"echo {len(talk.view.questions)}"})
        return True

    talk = ChatSession(reads)
    assert await talk.ask() == OPTIONS[1]
    assert (len(talk.asked), CHANGED_TOO_OFTEN in talk.call.decision) == (shown.MOST, True)


async def test_a_stream_of_changes_is_one_change() -> None:
    async def stream() -> None:
        for number in range(10):
            talk.change(raw_input={"command": f"echo {number}"})
            await anyio.sleep(0)

    def reads(question: Question) -> bool:
        if len(talk.view.questions) == 1:
            tasks.start_soon(stream)
            return False
        return True

    talk = ChatSession(reads)
    async with anyio.create_task_group() as tasks:
        option = await talk.ask()
    assert (option, talk.asked) == (OPTIONS[0], ["ls", "echo 9"])


async def test_a_cancel_while_a_call_changes_is_a_cancel() -> None:
    def reads(question: Question) -> bool:
        talk.change(raw_input={"command": "rm -rf ."})
        assert talk.permissions.stop is not None
        talk.permissions.stop.press()
        return False

    talk = ChatSession(reads)
    assert await talk.ask() is None
    assert talk.call.decision == "Cancelled: the turn was cancelled"


async def test_two_requests_about_one_id_keep_what_each_asked_about() -> None:
    """The second one's words are not a change of the first one."""
    talk = ChatSession(lambda question: True)
    first = talk.permissions.ask(PermissionRequest("s", ONE, OPTIONS))
    second = talk.permissions.ask(PermissionRequest("s", ToolCallUpdate("1", raw_input={"command": "pwd"}), OPTIONS))
    assert [await first, await second] == [OPTIONS[0], OPTIONS[0]]
    assert talk.asked == ["ls", "pwd"]


async def test_nobody_listens_to_a_call_that_is_decided() -> None:
    talk = ChatSession(lambda question: True)
    await talk.ask()
    assert talk.record.listeners == []


# -- whose call it is -------------------------------------------------------------------------------------------------


def test_an_agent_cannot_speak_of_our_calls() -> None:
    assert of_agent(ToolCallUpdate(f"{PREFIX}1", title="x")) == ToolCallUpdate(f"agent {PREFIX}1", title="x")
    assert of_agent(ToolCallUpdate("call_1")) == ToolCallUpdate("call_1")


async def test_a_question_of_ours_is_not_the_agents_to_change() -> None:
    talk = ChatSession(lambda question: talk.record.update(of_agent(ToolCallUpdate(f"{PREFIX}1", title="ls"))) or True)
    ours = ToolCallUpdate(f"{PREFIX}1", title="Run rm", kind="execute", raw_input={"command": "rm"})
    with anyio.fail_after(5):
        assert await talk.permissions.ask_for_us(ours, by_rule=True)
    assert [(question.call.title, question.call.raw_input) for question in talk.view.questions] == [
        ("Run rm", {"command": "rm"})
    ]


class Saver(Reader):
    """Allows what was asked with a rule that is to be saved."""

    async def ask(self, question: Question) -> Answer:
        answer = await super().ask(question)
        return replace(answer, rule="Bash(other)", keep="settings")


async def test_a_call_that_changes_while_its_rule_is_saved_is_shown_again(saves: Saves) -> None:
    talk = ChatSession(lambda question: len(talk.view.questions) == 1)
    talk.view = Saver(lambda question: question.call.raw_input["command"] == "ls")
    talk.record.begin([Text("do it")], talk.view)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(talk.ask)
        await saves.begun.wait()
        talk.change(raw_input={"command": "rm -rf ."})
        with anyio.fail_after(5):
            while len(talk.view.questions) < 2:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert talk.asked == ["ls", "rm -rf ."]


async def test_who_stops_while_a_rule_is_saved_allows_nothing(saves: Saves) -> None:
    talk = ChatSession(lambda question: True)
    talk.view = Saver(lambda question: True)
    talk.record.begin([Text("do it")], talk.view)
    options: list[Option | None] = []

    async def ask() -> None:
        options.append(await talk.ask())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await saves.begun.wait()
        assert talk.permissions.stop is not None
        talk.permissions.stop.press()
    assert (options, talk.view.notices) == ([None], [f"Allowed in this conversation: Bash(other). {saving.UNKNOWN}"])


class Saves:
    """A disk that takes its time: `keep` is begun and does not end before the test does."""

    def __init__(self) -> None:
        self.begun, self.over = anyio.Event(), threading.Event()

    def __call__(self, kind: str, rule: str) -> Path:
        from_thread.run_sync(self.begun.set)
        self.over.wait(10)
        return Path("/nowhere")


@pytest.fixture
def saves(monkeypatch: pytest.MonkeyPatch) -> Iterator[Saves]:
    slow = Saves()
    monkeypatch.setattr(saving, "keep", slow)
    yield slow
    slow.over.set()
