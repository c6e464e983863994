"""Scripts: how one is read, and the messages that each directive makes."""

import pytest
from copilot_kernel.demo import stage
from copilot_kernel.demo.directives import DIRECTIVES, find_script
from copilot_kernel.errors import AgentRefused

from ..agent.directives import numbers

pytestmark = pytest.mark.anyio

END = {"stopReason": "end_turn"}


def message(text, speaker="message"):
    return {"sessionUpdate": f"agent_{speaker}_chunk", "content": {"type": "text", "text": text}}


def entry(content, status):
    return {"content": content, "priority": "medium", "status": status}


def text(words):
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("blocks", "script"),
    [
        ([text("demo: say hello")], " say hello"),
        ([text("\n demo:\nsay a\nstop x")], "\nsay a\nstop x"),
        ([text("Fix the bug")], None),
        ([text("what does demo: mean?")], None),
        ([text("context"), {"type": "image"}, text("demo: stop")], " stop"),
        ([text("demo: say a"), text("and now")], " say a"),
        (["demo: say a", None, 3], None),
        ([], None),
    ],
)
def test_a_prompt_is_a_script_when_one_of_its_texts_begins_with_the_mark(blocks, script):
    assert find_script(blocks) == script


@pytest.mark.parametrize(
    ("argument", "values"), [("", [1, 2]), ("7", [7, 2]), ("7 0.5", [7, 0.5]), ("7 8 and more", [7, 8])]
)
def test_numbers_that_are_left_out_have_defaults(argument, values):
    assert numbers(argument, (1, 2)) == values


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "allow_once"}}, ("allow_once", "allow_once")),
        ({"outcome": {"outcome": "selected", "optionId": "reject_once"}}, ("reject_once", "reject_once")),
        ({"outcome": {"outcome": "selected", "optionId": "of another"}}, ("of another", "invalid")),
        ({"outcome": {"outcome": "cancelled"}}, ("", "cancelled")),
        ({"outcome": "selected", "optionId": "allow_once"}, ("no option", "invalid")),
        ({"outcome": {"outcome": "selected", "optionId": 1}}, ("no option", "invalid")),
        (None, ("no option", "invalid")),
    ],
)
def test_only_the_exact_id_of_an_offered_option_counts(answer, chosen):
    assert stage.chosen(answer, stage.OPTIONS) == chosen


SPOKEN = {
    "say one": [message("one"), END],
    r"say # One\n\n- two": [message("# One\n\n- two"), END],
    "think hm": [message("hm", "thought"), END],
    "slow 3 0": [message("1 "), message("2 "), message("3 "), END],
    "plan a; b;c": [
        {"sessionUpdate": "plan", "entries": [entry("a", "in_progress"), entry("b", "pending"), entry("c", "pending")]},
        END,
    ],
    "plan a;b / 1": [{"sessionUpdate": "plan", "entries": [entry("a", "completed"), entry("b", "in_progress")]}, END],
    'raw {"sessionUpdate": "session_info_update", "title": "T"}': [
        {"sessionUpdate": "session_info_update", "title": "T"},
        END,
    ],
}


@pytest.mark.parametrize("script", SPOKEN)
async def test_what_a_directive_sends(talking, script):
    async with talking("") as client:
        assert await client.play(f"demo: {script}") == SPOKEN[script]


async def test_each_turn_says_how_much_of_the_context_is_used(talking):
    async with talking() as client:
        await client.prompt("demo: say a")
        await client.prompt("demo: say b")
        updates = [heard for heard in client.heard if heard["sessionUpdate"] == "usage_update"]
        assert [(update["used"], update["size"]) for update in updates] == [(1000, 32000), (2000, 32000)]


async def test_the_title_comes_after_the_first_answer_only(talking):
    async with talking() as client:
        await client.prompt("demo: say a\nsay b")
        assert "session_info_update" not in [heard["sessionUpdate"] for heard in client.heard]
        title = await client.until(lambda heard: heard["sessionUpdate"] == "session_info_update")
        assert title == {"sessionUpdate": "session_info_update", "title": "Demo: demo: say a"}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("say one\nsing", "no directive is called 'sing'"),
        ("slow many", r"write slow N \[SECONDS\]"),
        ("raw {", "write raw JSON"),
        ("edit only-a-name", "write edit PATH OLD => NEW"),
        ("plan a / b", "write plan A;B;C"),
    ],
)
async def test_a_script_that_cannot_be_read_is_an_error_and_nothing_is_done(talking, script, words):
    async with talking("") as client:
        with pytest.raises(AgentRefused, match=words) as caught:
            await client.prompt(f"demo: {script}")
        assert (caught.value.code, message("one") in client.heard) == (-32602, False)


async def test_help_lists_every_directive_with_its_form(talking):
    async with talking() as client:
        (update, _) = await client.play("demo: help")
    lines = update["content"]["text"].splitlines()
    assert [line.split("`")[1].split()[0] for line in lines] == sorted(DIRECTIVES)
    assert all(": " in line for line in lines)
