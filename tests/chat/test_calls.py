"""A permission request that names no tool call has an entry of its own; which call it is about is not guessed."""

from typing import Any

import pytest
from copilot_kernel.chat.unasked import UNNAMED
from copilot_kernel.conversation.model import ToolCall

from ..acp.scripted import OPTIONS
from .conftest import Open
from .loopback import met, playing
from .people import Person, ask

Json = dict[str, Any]
FORM = {"title": "Execute command", "description": "Run: npm test", "options": OPTIONS}
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


async def test_the_question_stands_beside_the_call_that_waits(opened: Open) -> None:
    turn, answers = await played(opened, person := Person(), call(), FORM, DONE, on_unasked="cancel")
    assert (turn.stop_reason, len(turn.unasked_calls), answers) == ("end_turn", 0, [YES])
    assert shown(person) == [("Run tests", "completed", PERHAPS), ("Execute command", "completed", "")]
    (question,) = person.questions
    assert (question.call.title, question.call.raw_input) == ("Execute command", None)


@pytest.mark.parametrize(
    ("form", "rules", "answers", "asked"),
    [
        (FORM, {"allow": ("Bash(npm *)",)}, [NO], 1),
        (FORM, {"permission_mode": "acceptEdits"}, [NO], 1),
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
        ([FORM, call(command="rm x"), DONE], {"deny": ("Bash(rm *)",)}, 1),
    ],
)
async def test_a_yes_covers_one_call_of_its_turn_that_no_rule_denies(
    opened: Open, steps: list[Json], rules: Any, unasked: int
) -> None:
    turn, _ = await played(opened, Person(), *steps, **rules)
    assert len(turn.unasked_calls) == unasked


async def test_a_no_covers_nothing(opened: Open) -> None:
    turn, _ = await played(opened, person := Person("reject_once"), FORM, call(), DONE)
    assert (len(turn.unasked_calls), shown(person)[0]) == (1, ("Execute command", "rejected", ""))
