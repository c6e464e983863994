"""A permission request that names no tool call is about the call that waits, or about none of them."""

from __future__ import annotations

from typing import Any

import pytest
from copilot_kernel.acp.messages import Text, ToolCallUpdate
from copilot_kernel.chat.joining import Joined, join
from copilot_kernel.conversation import reduce
from copilot_kernel.conversation.model import Conversation, ToolCall

from ..acp.scripted import OPTIONS, Script
from .conftest import Open
from .loopback import met
from .people import Person, ask

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

Json = dict[str, Any]
FORM = {"title": "Execute command", "description": "Run: npm test", "options": OPTIONS}


def call(id: str = "tc_1", **more: Any) -> Json:
    told = {"title": "Run tests", "kind": "execute", "status": "pending", "rawInput": {"command": "npm test"}}
    return {"sessionUpdate": "tool_call", "toolCallId": id, **told, **more}


def then(status: str, id: str = "tc_1", **more: Any) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, **more}


def playing(*steps: Json) -> Any:
    """A turn: updates, and questions, which have options; `answers` of the script are their answers."""

    async def prompt(script: Script, params: Any) -> Any:
        for step in steps:
            if "options" in step:
                script.answers.setdefault("given", []).append(await script.ask(**step))
            else:
                await script.update(step)
        return {"stopReason": "end_turn"}

    return prompt


async def played(opened: Open, person: Person, *steps: Json, **settings: Any) -> tuple[Any, list[Any]]:
    async with met(opened, settings, session_prompt=playing(*steps)) as (script, chat):
        turn = await ask(chat, "hello", person)
    return turn, [answer["outcome"] for answer in script.answers["given"]]


def shown(person: Person) -> list[tuple[str, str, str]]:
    found = [each for each in person.of(ToolCall) if isinstance(each, ToolCall)]
    return [(each.title, each.status, each.unasked.words if each.unasked else "") for each in found]


YES, NO = {"outcome": "selected", "optionId": "yes-1"}, {"outcome": "selected", "optionId": "no-1"}


@pytest.mark.parametrize("progress", [[], [then("in_progress")]])
async def test_the_question_is_about_the_call_that_waits(opened: Open, progress: list[Json]) -> None:
    steps = (call(), *progress, FORM, then("in_progress"), then("completed", content=[]))
    turn, answers = await played(opened, person := Person(), *steps, on_unasked="cancel")
    assert (turn.stop_reason, turn.unasked, answers) == ("end_turn", 0, [YES])
    assert shown(person) == [("Run tests", "completed", "")]
    (question,) = person.questions
    assert question.call.raw_input == {"command": "npm test"}


async def test_a_refused_question_refuses_the_call(opened: Open) -> None:
    _, answers = await played(opened, person := Person("reject_once"), call(), FORM)
    assert (answers, shown(person)) == ([NO], [("Run tests", "rejected", "")])


@pytest.mark.parametrize(
    ("rules", "answer"), [({"allow": ("Bash(npm test)",)}, YES), ({"deny": ("Bash(npm test)",)}, NO)]
)
async def test_rules_judge_the_call_that_is_named(opened: Open, rules: Any, answer: Json) -> None:
    _, answers = await played(opened, person := Person(None), call(), FORM, **rules)
    assert (answers, person.questions) == ([answer], [])


@pytest.mark.parametrize(
    "request_",
    [
        {"title": "Execute command"},
        {"title": "Execute command", "description": "Run: npm test && rm -rf /"},
        {"title": "Execute command", "description": "Run: rm -rf build"},
        {"title": "Run tests", "description": "Run: rm -rf build"},
        {"title": "Run tests"},
        {"title": "npm test", "description": "The tests show whether it works"},
        {"title": "Edit file", "description": "npm test"},
        {},
    ],
)
async def test_no_rule_allows_what_the_request_does_not_name(opened: Open, request_: Json) -> None:
    steps = (call(), {**request_, "options": OPTIONS}, then("completed"))
    _, answers = await played(opened, person := Person("reject_once"), *steps, allow=("Bash(npm *)",))
    assert (answers, len(person.questions)) == ([NO], 1)


async def test_what_the_agent_asked_is_shown_with_a_call_that_it_does_not_name(opened: Open) -> None:
    await played(opened, person := Person(), call(), {"title": "Execute command", "options": OPTIONS})
    (question,) = person.questions
    assert (question.call.title, question.call.content) == ("Run tests", (Text("Execute command"),))


# -- a question that no call waits for --------------------------------------------------------------------------------


async def test_a_question_before_its_call_covers_the_next_one_that_fits(opened: Open) -> None:
    late = [call(status="in_progress"), then("completed", content=[{"type": "content", "content": {"type": "text"}}])]
    turn, _ = await played(opened, person := Person(), FORM, *late, on_unasked="cancel")
    assert (turn.stop_reason, turn.unasked) == ("end_turn", 0)
    assert shown(person) == [("Execute command", "completed", ""), ("Run tests", "completed", "")]
    assert person.calls[0][1].startswith("Allowed")


async def test_what_need_not_be_asked_about_does_not_use_it_up(opened: Open) -> None:
    read = call("tc_0", title="Look", kind="read", rawInput={})
    steps = (
        {"title": "Permission required", "options": OPTIONS},
        read,
        then("completed", "tc_0"),
        call(),
        then("completed"),
    )
    turn, _ = await played(opened, Person(), *steps)
    assert turn.unasked == 0


@pytest.mark.parametrize(
    "other",
    [
        [call(rawInput={"command": "rm -rf build"}), then("completed")],
        [call(kind="delete", rawInput={"path": "/tmp/a"}), then("completed")],
    ],
)
async def test_it_covers_no_other_call(opened: Open, other: list[Json]) -> None:
    turn, _ = await played(opened, Person(), FORM, *other)
    assert turn.unasked == 1


async def test_a_vague_yes_covers_nothing_that_a_rule_denies(opened: Open) -> None:
    waiting = [call(rawInput={"command": "ls"}), call("tc_2", title="Clean", rawInput={"command": "rm x"})]
    steps = (*waiting, {"title": "Execute command", "options": OPTIONS}, then("completed", "tc_2"), then("completed"))
    turn, answers = await played(opened, person := Person(), *steps, deny=("Bash(rm *)",))
    assert (answers, turn.unasked) == ([YES], 1)
    assert shown(person)[1] == ("Clean", "completed", "ran a command without asking")


async def test_it_covers_one_call(opened: Open) -> None:
    steps = (FORM, call(), then("completed"), call("tc_2"), then("completed", "tc_2"))
    turn, _ = await played(opened, Person(), *steps)
    assert turn.unasked == 1


async def test_a_refused_question_covers_nothing(opened: Open) -> None:
    turn, _ = await played(opened, person := Person("reject_once"), FORM, call(), then("completed"))
    assert (turn.unasked, shown(person)[0][1]) == (1, "rejected")


async def test_an_allowed_question_in_prose_covers_a_call_of_its_kind(opened: Open) -> None:
    form = {"title": "Execute command", "description": "To see whether all is well", "options": OPTIONS}
    turn, _ = await played(opened, person := Person(), call(), form, then("completed"))
    assert (turn.unasked, person.questions[0].call.raw_input) == (0, None)


async def test_a_covered_call_that_turns_into_another_one_is_marked(opened: Open) -> None:
    turn, _ = await played(
        opened, Person(), FORM, call(), then("completed"), then("completed", rawInput={"command": "rm -rf build"})
    )
    assert turn.unasked == 1


async def test_a_question_about_one_of_several_calls_stands_alone(opened: Open) -> None:
    edits = [
        call(f"tc_{n}", title="Edit a.ts", kind="edit", rawInput={"path": "/p/a.ts", "new": str(n)}) for n in (1, 2)
    ]
    form = {"title": "Edit a.ts", "options": OPTIONS}
    turn, _ = await played(opened, person := Person(), *edits, form, form, then("completed"), then("completed", "tc_2"))
    assert turn.unasked == 0
    assert [question.call.raw_input for question in person.questions] == [None, None]


# -- a question with a kind, and without an id ------------------------------------------------------------------------

EDITING = call(title="Edit a.ts", kind="edit", rawInput={"path": "/p/a.ts"})
LATE = call(status="in_progress")


def of_kind(kind: str, title: str, **more: Any) -> Json:
    return {"toolCall": {"title": title, "kind": kind, **more}, "options": OPTIONS}


@pytest.mark.parametrize(
    "steps",
    [
        (call(), of_kind("execute", "Execute command")),
        (call(), of_kind("execute", "npm test")),
        (call(), of_kind("other", "Execute command")),
        (of_kind("execute", "Execute command"), LATE),
        (EDITING, of_kind("edit", "Edit a.ts")),
        (of_kind("edit", "Edit a.ts"), EDITING),
    ],
)
async def test_its_kind_tells_which_call_it_is_about(opened: Open, steps: tuple[Json, ...]) -> None:
    turn, answers = await played(opened, Person(), *steps, then("completed"), on_unasked="cancel")
    assert (turn.stop_reason, turn.unasked, answers) == ("end_turn", 0, [YES])


@pytest.mark.parametrize(("title", "asked"), [("npm test", 0), ("rm -rf build", 1), ("Run: rm x; npm test", 1)])
async def test_a_rule_allows_it_only_if_it_names_the_call(opened: Open, title: str, asked: int) -> None:
    steps = (call(), of_kind("execute", title), then("completed"))
    await played(opened, person := Person(), *steps, allow=("Bash(npm *)",))
    assert len(person.questions) == asked


@pytest.mark.parametrize(
    "form",
    [
        of_kind("edit", "npm test"),
        of_kind("read", "Execute command"),
        of_kind("execute", "Edit", locations=[{"path": "/p/b.ts"}]),
    ],
)
async def test_it_covers_no_call_of_another_kind_and_none_that_it_locates_elsewhere(opened: Open, form: Json) -> None:
    turn, _ = await played(opened, Person(), form, LATE, then("completed"))
    assert turn.unasked == 1


# -- which call -------------------------------------------------------------------------------------------------------


def conversation(*calls: Json) -> Conversation:
    now = reduce.begin_turn(Conversation(), [Text("hello")])
    for each in calls:
        raw, kind = each.get("rawInput"), each.get("kind", "other")
        update = ToolCallUpdate(each["id"], title=each.get("title"), kind=kind, raw_input=raw, begins=True)
        now = reduce.reduce(now, update)
    return now


NPM = {"id": "npm", "kind": "execute", "title": "Run tests", "rawInput": {"command": "npm test"}}
EDIT = {"id": "edit", "kind": "edit", "title": "Edit login.ts", "rawInput": {"path": "/p/login.ts"}}
READ = {"id": "read", "kind": "read", "title": "Read", "rawInput": {"path": "/p/login.ts"}}


@pytest.mark.parametrize(
    ("title", "description", "id", "named"),
    [
        ("Execute command", "Run: npm test", "npm", True),
        ("Execute command", "`npm test`", "npm", True),
        ("npm test", "", "npm", True),
        ("Edit login.ts", "", "edit", True),
        ("Edit /q/login.ts", "", "edit", False),
        ("Edit file", "Change: /q/login.ts", "", False),
        ("Edit file", "Change: /p/index.ts", "", False),
        ("Access", "/p/login.ts", "", False),
        ("Read file", "/p/login.ts", "read", True),
        ("Access", "Edit: /p/login.ts", "edit", True),
        ("Edit file", "/p/login.ts", "edit", True),
        ("Edit file", "", "edit", False),
        ("Allow this command?", "", "npm", False),
        ("Permission required", "", "", False),
        ("", "", "", False),
        ("Execute command", "Run: npm test; rm a", "", False),
        ("Execute command", "rm a; npm test", "", False),
        ("Execute command", "I want to run `npm test` now", "npm", False),
        ("Run tests", "Checks that all is well", "npm", False),
        ("npm test", "Checks that all is well", "npm", False),
        ("Edit file", "The bug is in login.ts.", "edit", False),
        ("Edit file", "The bug is in old/login.ts", "", False),
    ],
)
def test_title_and_kind_tell_which(title: str, description: str, id: str, named: bool) -> None:
    content = (Text(description),) if description else None
    joined = join(ToolCallUpdate("", title=title or None, content=content), conversation(NPM, EDIT, READ), "/p")
    assert (joined.update.id, joined.named) == (id, named)


def test_a_path_alone_does_not_tell_reading_from_writing() -> None:
    joined = join(ToolCallUpdate("", title="Access", content=(Text("/p/login.ts"),)), conversation(READ), "/p")
    assert (joined.update.id, joined.named) == ("read", False)


def test_of_the_same_call_twice_the_first_is_meant() -> None:
    joined = join(ToolCallUpdate("", title="npm test"), conversation(NPM, {**NPM, "id": "again"}))
    assert (joined.update.id, joined.named) == ("npm", True)


def test_a_request_with_its_own_input_is_about_the_call_with_the_same_input() -> None:
    asked = ToolCallUpdate("", title="Run tests", raw_input={"command": "npm test"})
    assert join(asked, conversation(NPM, EDIT)).update.id == "npm"
    other = ToolCallUpdate("", title="Run tests", raw_input={"command": "npm start"})
    assert join(other, conversation(NPM, EDIT)) == Joined(other, named=True)


def test_a_request_that_names_its_call_is_left_alone() -> None:
    asked = ToolCallUpdate("unheard", title="npm test")
    assert join(asked, conversation(NPM)) == Joined(asked, named=True)
