"""A permission request that names no tool call is about the call that waits, or about none of them."""

from typing import Any

import pytest
from copilot_kernel.acp.messages import TextBlock, ToolCallUpdate
from copilot_kernel.chat.calls import Joined, join
from copilot_kernel.conversation import reduce
from copilot_kernel.conversation.model import Conversation, ToolCall

from ..acp.scripted import OPTIONS
from .conftest import Open
from .loopback import met, playing
from .people import Person, ask

Json = dict[str, Any]
FORM = {"title": "Execute command", "description": "Run: npm test", "options": OPTIONS}


def call(id: str = "tc_1", **more: Any) -> Json:
    told = {"title": "Run tests", "kind": "execute", "status": "pending", "rawInput": {"command": "npm test"}}
    return {"sessionUpdate": "tool_call", "toolCallId": id, **told, **more}


def then(status: str, id: str = "tc_1", **more: Any) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, **more}


async def played(opened: Open, person: Person, *steps: Json, **settings: Any) -> tuple[Any, list[Any]]:
    async with met(opened, settings, session_prompt=playing(*steps)) as (script, chat):
        turn = await ask(chat, "hello", person)
    return turn, [answer["outcome"] for answer in script.answers["given"]]


def shown(person: Person) -> list[tuple[str, str, str]]:
    found = [each for each in person.of(ToolCall) if isinstance(each, ToolCall)]
    return [(each.title, each.status, each.unasked.words if each.unasked else "") for each in found]


def of_kind(kind: str, title: str, **more: Any) -> Json:
    """A request with a kind, and without an id."""
    return {"toolCall": {"title": title, "kind": kind, **more}, "options": OPTIONS}


YES, NO = {"outcome": "selected", "optionId": "yes-1"}, {"outcome": "selected", "optionId": "no-1"}


@pytest.mark.parametrize("progress", [[], [then("in_progress")]])
async def test_the_question_is_about_the_call_that_waits(opened: Open, progress: list[Json]) -> None:
    steps = (call(), *progress, FORM, then("in_progress"), then("completed", content=[]))
    turn, answers = await played(opened, person := Person(), *steps, on_unasked="cancel")
    assert (turn.stop_reason, turn.unasked, answers) == ("end_turn", 0, [YES])
    assert shown(person) == [("Run tests", "completed", "")]
    (question,) = person.questions
    assert question.call.raw_input == {"command": "npm test"}


@pytest.mark.parametrize("form", [FORM, of_kind("execute", "npm test")])
@pytest.mark.parametrize(
    ("rules", "answer"), [({"allow": ("Bash(npm test)",)}, YES), ({"deny": ("Bash(npm test)",)}, NO)]
)
async def test_rules_judge_the_call_that_is_named(opened: Open, form: Json, rules: Any, answer: Json) -> None:
    _, answers = await played(opened, person := Person(None), call(), form, **rules)
    assert (answers, person.questions) == ([answer], [])


@pytest.mark.parametrize(
    "form",
    [
        {"title": "Execute command", "options": OPTIONS},
        {"title": "Execute command", "description": "Run: npm test && rm -rf /", "options": OPTIONS},
        {"options": OPTIONS},
        of_kind("execute", "rm -rf build"),
        of_kind("execute", "Run: rm x; npm test"),
    ],
)
async def test_no_rule_allows_what_the_request_does_not_name(opened: Open, form: Json) -> None:
    steps = (call(), form, then("completed"))
    _, answers = await played(opened, person := Person("reject_once"), *steps, allow=("Bash(npm *)",))
    assert (answers, len(person.questions)) == ([NO], 1)


async def test_a_vague_question_shows_the_call_that_waits_and_what_the_agent_asked(opened: Open) -> None:
    _, answers = await played(opened, person := Person("reject_once"), call(), {**FORM, "description": ""})
    (question,) = person.questions
    assert (question.call.title, question.call.content) == ("Run tests", (TextBlock("Execute command"),))
    assert (answers, shown(person)) == ([NO], [("Run tests", "rejected", "")])


# -- a question that no call waits for --------------------------------------------------------------------------------


DONE, LATE = then("completed"), call(status="in_progress")
EDITING = call(title="Edit a.ts", kind="edit", rawInput={"path": "/p/a.ts"})
OTHER = {"command": "rm -rf build"}
PROSE = {"title": "Execute command", "description": "To see whether all is well", "options": OPTIONS}
READING = [call("tc_0", title="Look", kind="read", rawInput={}), then("completed", "tc_0")]


@pytest.mark.parametrize(
    ("steps", "unasked"),
    [
        ([{"title": "Permission required", "options": OPTIONS}, *READING, call(), DONE], 0),
        ([call(), PROSE, DONE], 0),
        ([call(), of_kind("execute", "Execute command"), DONE], 0),
        ([call(), of_kind("other", "Execute command"), DONE], 0),
        ([of_kind("execute", "Execute command"), LATE, DONE], 0),
        ([of_kind("edit", "Edit a.ts"), EDITING, DONE], 0),
        ([FORM, call(rawInput=OTHER), DONE], 1),
        ([FORM, call(), DONE, call("tc_2"), then("completed", "tc_2")], 1),
        ([FORM, call(kind="delete", rawInput={"path": "/tmp/a"}), DONE], 1),
        ([FORM, call(), DONE, then("completed", rawInput=OTHER)], 1),
        ([of_kind("edit", "npm test"), LATE, DONE], 1),
        ([of_kind("read", "Execute command"), LATE, DONE], 1),
        ([of_kind("execute", "Edit", locations=[{"path": "/p/b.ts"}]), LATE, DONE], 1),
    ],
)
async def test_a_yes_covers_one_call_that_fits_and_no_other(opened: Open, steps: list[Json], unasked: int) -> None:
    turn, answers = await played(opened, Person(), *steps)
    assert (turn.unasked, answers) == (unasked, [YES])


@pytest.mark.parametrize(
    ("kind", "status", "unasked"), [("allow_once", "completed", 0), ("reject_once", "rejected", 1)]
)
async def test_a_question_before_its_call_ends_as_it_was_answered(
    opened: Open, kind: str, status: str, unasked: int
) -> None:
    turn, _ = await played(opened, person := Person(kind), FORM, call(), DONE)
    assert (turn.unasked, shown(person)[0]) == (unasked, ("Execute command", status, ""))


async def test_a_vague_yes_covers_nothing_that_a_rule_denies(opened: Open) -> None:
    waiting = [call(rawInput={"command": "ls"}), call("tc_2", title="Clean", rawInput={"command": "rm x"})]
    steps = (*waiting, {**FORM, "description": ""}, then("completed", "tc_2"), DONE)
    turn, answers = await played(opened, person := Person(), *steps, deny=("Bash(rm *)",))
    assert (answers, turn.unasked) == ([YES], 1)
    assert shown(person)[1] == ("Clean", "completed", "not asked")


async def test_a_question_about_one_of_several_calls_stands_alone(opened: Open) -> None:
    edits = [
        call(f"tc_{n}", title="Edit a.ts", kind="edit", rawInput={"path": "/p/a.ts", "new": str(n)}) for n in (1, 2)
    ]
    form = {"title": "Edit a.ts", "options": OPTIONS}
    turn, _ = await played(opened, person := Person(), *edits, form, form, then("completed"), then("completed", "tc_2"))
    assert turn.unasked == 0
    assert [question.call.raw_input for question in person.questions] == [None, None]


# -- which call -------------------------------------------------------------------------------------------------------


def conversation(*calls: Json) -> Conversation:
    now = reduce.begin_turn(Conversation(), [TextBlock("hello")])
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
        ("npm test", "", "npm", True),
        ("Edit login.ts", "", "edit", True),
        ("Edit /q/login.ts", "", "edit", False),
        ("Access", "/p/login.ts", "", False),
        ("Read file", "/p/login.ts", "read", True),
        ("Access", "Edit: /p/login.ts", "edit", True),
        ("Allow this command?", "", "npm", False),
        ("Execute command", "rm a; npm test", "", False),
        ("Execute command", "I want to run `npm test` now", "npm", False),
        ("npm test", "Checks that all is well", "npm", False),
        ("Edit file", "The bug is in login.ts.", "edit", False),
        ("Edit file", "The bug is in old/login.ts", "", False),
    ],
)
def test_title_and_kind_tell_which(title: str, description: str, id: str, named: bool) -> None:
    content = (TextBlock(description),) if description else None
    joined = join(ToolCallUpdate("", title=title or None, content=content), conversation(NPM, EDIT, READ), "/p")
    assert (joined.update.id, joined.named) == (id, named)


def test_a_request_with_its_own_input_is_about_the_first_call_with_the_same_input() -> None:
    now = conversation(NPM, {**NPM, "id": "again"}, EDIT)
    asked = ToolCallUpdate("", title="Run tests", raw_input={"command": "npm test"})
    for each in (asked, ToolCallUpdate("", title="npm test")):
        assert (join(each, now).update.id, join(each, now).named) == ("npm", True)
    for other in (ToolCallUpdate("", raw_input={"command": "npm start"}), ToolCallUpdate("unheard", title="npm test")):
        assert join(other, now) == Joined(other, named=True)
