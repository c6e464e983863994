"""A call that changes while it is asked about: no answer is for what was not shown."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import from_thread
from copilot_kernel.acp.messages import Diff, Location, PermissionOption, PermissionRequest, TextBlock, ToolCallUpdate
from copilot_kernel.chat import permission, rules
from copilot_kernel.chat.agent import RunningAgent
from copilot_kernel.chat.our_calls import OUR_PREFIX, OurCalls
from copilot_kernel.chat.permission import CALL_CHANGED, CHANGED_TOO_OFTEN, Approvals, Permissions
from copilot_kernel.chat.rules import PolicyEvaluator
from copilot_kernel.chat.state import ConversationState
from copilot_kernel.chat.turn import NO_TURN
from copilot_kernel.config import Settings
from copilot_kernel.conversation.model import Conversation, ToolCall
from copilot_kernel.permissions.question import PermissionAnswer, Question
from msgspec import structs

from ..limits import LIMIT
from .people import Person

OPTIONS = tuple(PermissionOption(kind, kind, kind) for kind in ("allow_once", "reject_once"))
ONE = ToolCallUpdate("1", title="Run ls", kind="execute", raw_input={"command": "ls"})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission, "SETTLE_SECONDS", 0.02)
    monkeypatch.setattr(permission, "MAX_SETTLE_SECONDS", 0.1)


class Reader(Person):
    """Answers each question after `reads` was called with it; without an answer it goes on reading."""

    def __init__(self, reads: Callable[[Question], bool], rule: str) -> None:
        super().__init__()
        self._reads, self._rule = reads, rule

    async def ask(self, question: Question) -> PermissionAnswer:
        self.questions.append(question)
        if not self._reads(question):
            await anyio.sleep_forever()
        return PermissionAnswer(question.options[0], "you", rule=self._rule, keep="settings")


class Asking:
    """One turn that runs, and its permission requests."""

    def __init__(self, reads: Callable[[Question], bool], rule: str = "", **settings: Any) -> None:
        self.state, self.view = ConversationState(), Reader(reads, rule)
        self.turn = self.state.begin("prompt", self.view, [TextBlock("do it")])
        policy = PolicyEvaluator(Settings(cwd="/project", **settings))
        self.permissions = Permissions(self.state, policy, Approvals(), RunningAgent())

    def change(self, **members: Any) -> None:
        self.state.update(ToolCallUpdate("1", **members))

    async def ask(self, call: ToolCallUpdate = ONE) -> PermissionOption | None:
        with anyio.fail_after(LIMIT):
            return await self.permissions.ask(PermissionRequest(call, OPTIONS))

    @property
    def asked(self) -> list[Any]:
        return [question.call.raw_input["command"] for question in self.view.questions]

    @property
    def call(self) -> ToolCall:
        return next(entry for entry in self.state.conversation.entries if isinstance(entry, ToolCall))


@pytest.mark.parametrize(
    "change",
    [
        {"raw_input": {"command": "rm -rf ."}},
        {"title": "Run ls, or perhaps not"},
        {"kind": "read"},
        {"locations": (Location("/etc/passwd"),)},
        {"content": (Diff("/etc/passwd", None, "x"),)},
    ],
)
async def test_a_call_that_changes_is_shown_again_and_says_so(change: dict[str, Any]) -> None:
    def reads(question: Question) -> bool:
        first = len(turn.view.questions) == 1
        if first:
            turn.change(**change)
        return not first

    turn = Asking(reads)
    option = await turn.ask()
    first, second = turn.view.questions
    assert option == OPTIONS[0]
    assert [getattr(second.call, name) for name in change] == list(change.values())
    assert (first.why.startswith(CALL_CHANGED), second.why.startswith(CALL_CHANGED)) == (False, True)
    assert turn.permissions.approvals.allowed[turn.call.id] == structs.replace(second.call, excerpts={})
    assert turn.state.observers == []


@pytest.mark.parametrize("kind", ["allow_once", "reject_once"])
async def test_what_was_said_with_an_answer_that_does_not_count_is_forgotten(kind: str) -> None:
    """The rule is not in force, and the agent is not told why it was refused."""

    class Hasty(Person):
        async def ask(self, question: Question) -> PermissionAnswer:
            answer = await super().ask(question)
            if len(self.questions) > 1:
                return replace(answer, feedback="no, since it is late")
            turn.change(raw_input={"command": "rm -rf ."})
            return replace(answer, feedback="no, since it is early", rule="Bash(ls)")

    turn = Asking(lambda question: True)
    begun = turn.state.begin("prompt", person := Hasty(kind), [TextBlock("do it")])
    assert (await turn.ask(), len(person.questions)) == (PermissionOption(kind, kind, kind), 2)
    assert begun.follow_ups == ["no, since it is late"] * (kind == "reject_once")
    assert turn.permissions.policy.book.texts("allow") == ()


@pytest.mark.parametrize("settings", [{}, {"allow": ("Bash(ls *)",)}], ids=["no rule", "allowed before"])
async def test_a_change_before_the_question_is_shown_is_in_the_question(settings: dict[str, Any]) -> None:
    turn = Asking(lambda question: True, **settings)
    asking = turn.permissions.ask(PermissionRequest(ONE, OPTIONS))
    turn.change(raw_input={"command": "rm -rf ."})
    assert (await asking, turn.asked) == (OPTIONS[0], ["rm -rf ."])


async def test_what_a_rule_denies_after_the_change_is_denied() -> None:
    turn = Asking(lambda question: turn.change(raw_input={"command": "rm x"}) or False, deny=("Bash(rm *)",))
    assert await turn.ask() == OPTIONS[1]
    assert turn.call.decision.startswith("denied by rule `Bash(rm *)`")


@pytest.mark.parametrize(
    "update",
    [
        ToolCallUpdate("1", status="in_progress", raw_output={"x": 1}, meta={"a": 1}),
        ToolCallUpdate("1", raw_input={"command": "ls", "description": "x"}),
        ToolCallUpdate("2", title="Another"),
    ],
)
async def test_what_a_person_is_not_asked_about_may_change(update: ToolCallUpdate) -> None:
    turn = Asking(lambda question: turn.state.update(update) or True)
    assert (await turn.ask(), turn.asked) == (OPTIONS[0], ["ls"])


async def test_a_call_that_changes_again_and_again_is_rejected() -> None:
    def reads(question: Question) -> bool:
        turn.change(raw_input={"command": f"echo {len(turn.view.questions)}"})
        return True

    turn = Asking(reads)
    assert await turn.ask() == OPTIONS[1]
    assert (len(turn.asked), CHANGED_TOO_OFTEN in turn.call.decision) == (permission.MAX_REVISIONS, True)


async def test_a_stream_of_changes_is_one_change() -> None:
    async def stream() -> None:
        for number in range(10):
            turn.change(raw_input={"command": f"echo {number}"})
            await anyio.sleep(0)

    def reads(question: Question) -> bool:
        if len(turn.view.questions) == 1:
            tasks.start_soon(stream)
            return False
        return True

    turn = Asking(reads)
    async with anyio.create_task_group() as tasks:
        option = await turn.ask()
    assert (option, turn.asked) == (OPTIONS[0], ["ls", "echo 9"])


async def test_a_cancel_while_a_call_changes_is_a_cancel() -> None:
    def reads(question: Question) -> bool:
        turn.change(raw_input={"command": "rm -rf ."})
        turn.turn.stop.press()
        return False

    turn = Asking(reads)
    assert await turn.ask() is None
    assert turn.call.decision == "not run (you stopped)"


async def test_a_stop_in_the_moment_of_the_answer_allows_nothing() -> None:
    turn = Asking(lambda question: turn.turn.stop.press() or True)
    assert await turn.ask() is None
    assert turn.call.decision == "not run (you stopped)"


async def test_two_requests_about_one_id_keep_what_each_asked_about() -> None:
    """The second one's words are not a change of the first one."""
    turn = Asking(lambda question: True)
    first = turn.permissions.ask(PermissionRequest(ONE, OPTIONS))
    second = turn.permissions.ask(PermissionRequest(ToolCallUpdate("1", raw_input={"command": "pwd"}), OPTIONS))
    assert [await first, await second] == [OPTIONS[0], OPTIONS[0]]
    assert turn.asked == ["ls", "pwd"]


# -- whose call it is -------------------------------------------------------------------------------------------------


async def test_a_question_of_ours_is_not_the_agents_to_change() -> None:
    theirs = OurCalls().filter(ToolCallUpdate(f"{OUR_PREFIX}1", title="ls"), Conversation())
    turn = Asking(lambda question: turn.state.update(theirs) or True)
    ours = ToolCallUpdate(f"{OUR_PREFIX}1", title="Run rm", kind="execute", raw_input={"command": "rm"})
    with anyio.fail_after(LIMIT):
        assert await turn.permissions.ask_for_us(ours, by_rule=True)
    (question,) = turn.view.questions
    assert (question.call.title, question.call.raw_input) == ("Run rm", {"command": "rm"})


class Saves:
    """A disk that takes its time: `keep` is begun and does not end before the test does."""

    def __init__(self) -> None:
        self.begun, self.over = anyio.Event(), threading.Event()

    def __call__(self, kind: str, rule: str, file: Path) -> Path:
        from_thread.run_sync(self.begun.set)
        self.over.wait(10)
        return Path("/nowhere")


@pytest.fixture
def saves(monkeypatch: pytest.MonkeyPatch) -> Iterator[Saves]:
    slow = Saves()
    monkeypatch.setattr(rules, "add_to_list", slow)
    yield slow
    slow.over.set()


async def test_who_stops_while_a_rule_is_saved_allows_nothing(saves: Saves) -> None:
    turn = Asking(lambda question: True, rule="Bash(other)")

    async def stop() -> None:
        await saves.begun.wait()
        turn.turn.stop.press()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop)
        assert await turn.ask() is None
    interrupted = f"Allowed in this conversation: Bash(other). {permission.SAVING_INTERRUPTED}"
    assert turn.view.notices == [interrupted]


async def test_without_a_running_turn_only_a_rule_allows_and_nothing_is_done_for_the_agent() -> None:
    turn = Asking(lambda question: True, allow=("Bash(ls)",))
    turn.state.end("end_turn")
    assert (await turn.ask(), await turn.permissions.ask_for_us(ONE, by_rule=True)) == (OPTIONS[0], False)
    assert await turn.ask(structs.replace(ONE, id="2", raw_input={"command": "rm x"})) == OPTIONS[1]
    assert (turn.asked, turn.state.conversation.call("2").decision) == ([], f"denied: {NO_TURN}")
