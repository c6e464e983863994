"""A permission request that names no tool call: about the one call that its words name, else an entry of its own."""

from typing import Any

import pytest
from copilot_kernel.chat.unasked import REFUSED, UNNAMED
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.request import ONLY_WORDS

from ..acp.scripted import OPTIONS
from .conftest import Open
from .loopback import met, playing
from .people import Person, ask

Json = dict[str, Any]
FORM = {"title": "Execute command", "description": "Run: npm test", "options": OPTIONS}
VAGUE = {"title": "Execute command", "description": "Run the tests", "options": OPTIONS}
WHOLE = {"toolCall": {"title": "Test", "kind": "execute", "rawInput": {"command": "npm test"}}, "options": OPTIONS}
YES, NO = {"outcome": "selected", "optionId": "yes-1"}, {"outcome": "selected", "optionId": "no-1"}
DONE = {"sessionUpdate": "tool_call_update", "toolCallId": "tc_1", "status": "completed"}
PERHAPS = UNNAMED.format(FORM["title"])


def call(id: str = "tc_1", command: str = "npm test", status: str = "pending") -> Json:
    fields = {"title": "Run tests", "kind": "execute", "status": status, "rawInput": {"command": command}}
    return {"sessionUpdate": "tool_call", "toolCallId": id, **fields}


async def played(opened: Open, person: Person, *steps: Json, **settings: Any) -> tuple[Any, list[Any]]:
    async with met(opened, settings, session_prompt=playing(*steps)) as (script, chat):
        turn = await ask(chat, "hello", person)
    return turn, [answer["outcome"] for answer in script.answers["given"]]


def shown(person: Person) -> list[tuple[str, str, str]]:
    calls = person.of(ToolCall)
    return [(each.title, each.status, each.unasked.words if each.unasked else "") for each in calls]


async def test_the_question_stands_beside_the_call_that_it_does_not_name(opened: Open) -> None:
    turn, answers = await played(opened, person := Person(), call(), VAGUE, DONE, on_unasked="cancel")
    assert (turn.stop_reason, len(turn.unasked_calls), answers) == ("end_turn", 0, [YES])
    assert shown(person) == [("Run tests", "completed", PERHAPS), ("Execute command", "completed", "")]
    (question,) = person.questions
    assert (question.call.title, question.call.raw_input) == ("Execute command", None)
    assert question.why == ONLY_WORDS


@pytest.mark.parametrize(
    "words",
    [
        {"title": "Execute command", "description": "Run: npm test"},
        {"title": "Run a command", "description": "npm test"},
        {"title": "Run a command", "description": "Command: `npm test`"},
        {"title": "npm test"},
        {"title": "Run tests"},
        {"description": "Run tests"},
    ],
)
@pytest.mark.parametrize("status", ["pending", "in_progress"])
async def test_a_request_is_about_the_one_call_that_it_names(opened: Open, words: Json, status: str) -> None:
    other = call("tc_2", "rm x") | {"title": "Clean up"}
    asking = (call(status=status), other, {**words, "options": OPTIONS}, DONE)
    turn, answers = await played(opened, person := Person(), *asking)
    assert (answers, [each.call.call_id for each in person.questions]) == ([YES], ["tc_1"])
    assert shown(person) == [("Run tests", "completed", ""), ("Clean up", "cancelled", "")]
    assert (turn.unasked_calls, person.of(ToolCall)[0].decision) == ((), "allowed by you")


async def test_the_words_of_the_request_are_shown_beside_what_the_call_says(opened: Open) -> None:
    await played(opened, person := Person(), call(), FORM)
    (question,) = person.questions
    assert question.call.raw_input == {"command": "npm test"}
    assert question.call.meta["question"] == "Execute command\nRun: npm test"


@pytest.mark.parametrize(
    ("form", "calls"),
    [
        ({"title": "npm test", "description": "npm test && rm x"}, [call()]),
        ({"title": "Run", "description": "npm"}, [call()]),
        ({"title": "Run", "description": "./Run: npm test"}, [call(command="./npm test")]),
        ({"title": "Run", "description": "Run: npm test"}, [call(), call("tc_2")]),
        ({"title": "Run", "description": "npm test"}, [call() | {"rawInput": {"commands": ["npm test", "rm x"]}}]),
        ({"title": "Run", "description": "npm test"}, [call(status="completed")]),
        ({"toolCall": {"title": "npm test", "rawInput": {"script": "rm x"}}}, [call()]),
    ],
)
async def test_what_may_be_about_something_else_is_asked_about_by_itself(
    opened: Open, form: Json, calls: list[Json]
) -> None:
    _, given = await played(
        opened, person := Person("reject_once"), *calls, {**form, "options": OPTIONS}, allow=("Bash(npm *)",)
    )
    assert (given, [each.call.call_id for each in person.questions]) == ([NO], [""])


@pytest.mark.parametrize(("said", "answer"), [({}, NO), ({"kind": "delete"}, NO), ({"kind": "read"}, YES)])
async def test_only_a_request_to_read_is_about_a_call_that_reads(opened: Open, said: Json, answer: Json) -> None:
    reading = call() | {"kind": "read", "rawInput": {"path": "a.py"}}
    form = {"toolCall": {"title": "Delete: a.py", **said}, "options": OPTIONS}
    _, given = await played(opened, Person("reject_once"), reading, form, allow=("Read",))
    assert given == [answer]


@pytest.mark.parametrize(
    ("words", "rules", "asked"),
    [
        ("Run: rm -rf x", {"deny": ("Bash(rm *)",)}, 0),
        ("rm -rf x", {"ask": ("Bash(rm *)",)}, 1),
        ("Edit: /secret/key", {"deny": ("Read(//secret/**)",)}, 0),
        ("https://bad.example/x", {"deny": ("WebFetch(domain:bad.example)",)}, 0),
        ("Something", {"deny": ("Bash(rm *)",)}, 1),
    ],
)
async def test_words_that_match_no_call_count_for_denying_and_asking(
    opened: Open, words: str, rules: Any, asked: int
) -> None:
    form = {"title": "Go on", "description": words, "options": OPTIONS}
    settings = {"permission_mode": "bypassPermissions", **rules}
    _, given = await played(opened, person := Person("reject_once"), form, **settings)
    assert (given, len(person.questions)) == ([NO], asked)


async def test_without_rules_the_mode_that_allows_everything_allows_words(opened: Open) -> None:
    _, given = await played(opened, person := Person(), FORM, permission_mode="bypassPermissions")
    assert (given, person.questions) == ([YES], [])


@pytest.mark.parametrize("steps", [[call(), FORM, DONE], [FORM, call(), DONE], [FORM, call(status="completed")]])
async def test_what_was_denied_and_done_all_the_same_says_so(opened: Open, steps: list[Json]) -> None:
    turn, given = await played(opened, person := Person("reject_once"), *steps)
    assert (given, len(turn.unasked_calls)) == ([NO], 1)
    assert ("Run tests", REFUSED) in [(title, words) for title, _, words in shown(person)]


@pytest.mark.parametrize(
    ("form", "rules", "answers", "asked"),
    [
        (FORM, {"allow": ("Bash(npm *)",)}, [YES], 0),
        (FORM, {"deny": ("Bash(npm test)",)}, [NO], 0),
        (VAGUE, {"allow": ("Bash(npm *)",)}, [NO], 1),
        (VAGUE, {"permission_mode": "acceptEdits"}, [NO], 1),
        ({"options": OPTIONS}, {"allow": ("Bash(npm *)",)}, [NO], 1),
        (WHOLE, {"allow": ("Bash(npm *)",)}, [YES], 0),
        (WHOLE, {"deny": ("Bash(npm test)",)}, [NO], 0),
    ],
)
async def test_rules_judge_only_a_request_that_says_what_is_done(
    opened: Open, form: Json, rules: Any, answers: list[Json], asked: int
) -> None:
    _, given = await played(opened, person := Person("reject_once"), call(), form, **rules)
    assert (given, len(person.questions)) == (answers, asked)


@pytest.mark.parametrize(
    ("steps", "rules", "unasked"),
    [
        ([FORM, call(status="in_progress"), DONE], {}, 0),
        ([FORM, call(), DONE, call("tc_2", status="completed")], {}, 1),
        ([FORM, FORM, call(), DONE, call("tc_2", status="completed")], {}, 0),
        ([VAGUE, call(command="rm x"), DONE], {"deny": ("Bash(rm *)",)}, 1),
    ],
)
async def test_a_yes_covers_one_call_of_its_turn_that_no_rule_denies(
    opened: Open, steps: list[Json], rules: Any, unasked: int
) -> None:
    turn, _ = await played(opened, Person(), *steps, **rules)
    assert len(turn.unasked_calls) == unasked


async def test_a_no_covers_nothing(opened: Open) -> None:
    turn, _ = await played(opened, person := Person("reject_once"), VAGUE, call(), DONE)
    assert (len(turn.unasked_calls), shown(person)[0]) == (1, ("Execute command", "rejected", ""))
