"""Scripts and questions: how a script is read, what a directive sends, and what each answer to a question does."""

import anyio
import pytest
from copilot_kernel.demo.agent import REJECTED
from copilot_kernel.demo.directives import DIRECTIVES, find_script
from copilot_kernel.errors import AgentRefused

from .messages import CANCELLED, END, answered, asks, begun, message, question, rejected

pytestmark = pytest.mark.anyio


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


async def test_each_line_of_a_script_is_sent_and_how_much_of_the_context_is_used(connected):
    update = '{"sessionUpdate": "session_info_update", "title": "T"}'
    async with connected() as client:
        answer = await client.prompt(f"demo: say # One\\n\\n- two\nraw {update}\nsay on")
        used = {"sessionUpdate": "usage_update", "used": 1000, "size": 32000}
        sent = [message("# One\n\n- two"), {"sessionUpdate": "session_info_update", "title": "T"}, message("on"), used]
        assert (client.received[1:], answer) == (sent, END)
        title = {"sessionUpdate": "session_info_update", "title": r"Demo: demo: say # One\n\n- two"}
        await client.until(lambda received: received == title)
        await client.prompt("demo: say b")
        assert client.received[-1] == {**used, "used": 2000}


@pytest.mark.parametrize(("script", "words"), [("say one\nsing", "called 'sing'"), ("raw {", "write raw JSON")])
async def test_a_script_that_cannot_be_read_is_an_error_and_nothing_is_done(connected, script, words):
    async with connected() as client:
        with pytest.raises(AgentRefused, match=words) as caught:
            await client.prompt(f"demo: {script}")
        assert (caught.value.code, message("one") in client.received) == (-32602, False)


async def test_help_lists_every_directive_with_its_form(connected):
    async with connected() as client:
        (update, _) = await client.play("demo: help")
    lines = update["content"]["text"].splitlines()
    assert [line.split("`")[1].split()[0] for line in lines] == sorted(DIRECTIVES)
    assert all(": " in line for line in lines)


# -- questions ------------------------------------------------------------------------------------------------------


async def refuse():
    raise RuntimeError


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        ("allow_once", [answered("allow_once"), message("on"), END]),
        ("reject_once", [rejected("reject_once"), message(REJECTED), END]),
        ("of another question", [rejected("of another question"), message(REJECTED), END]),
        (refuse, [rejected("error -32603"), message(REJECTED), END]),
        (None, [CANCELLED]),
    ],
    ids=["allowed", "rejected", "unknown option", "error", "cancelled"],
)
async def test_what_an_answer_does(connected, answer, end):
    async with connected() as client:
        client.answers = [answer]
        asked = [
            begun("Shall I", "other", rawInput={"what": "Shall I"}),
            question(title="Shall I", kind="other"),
        ]
        assert await client.play("demo: ask Shall I\nsay on") == [*asked, *end]


@pytest.mark.parametrize("script", ["shell true\nshell true\nshell false", "ask One\nask One\nask Two"])
async def test_allow_always_is_for_the_identical_command_or_question(connected, script):
    async with connected() as client:
        client.answers = ["allow_always"] * 2
        first, again = [await client.play(f"demo: {script}") for _ in range(2)]
    assert [each["toolCall"]["toolCallId"] for each in first if asks(each)] == ["call_1", "call_3"]
    assert not any(map(asks, again))


async def test_a_rejection_of_one_lets_the_other_finish_and_then_ends_the_turn(connected):
    released = anyio.Event()

    async def later():
        await released.wait()
        return "allow_once"

    async with connected() as client, anyio.create_task_group() as tasks:
        client.answers = ["reject_once", later]
        tasks.start_soon(client.prompt, "demo: together ask One ;; ask Two\nsay never")
        await client.until(lambda received: received == rejected("reject_once"))
        released.set()
        await client.until(lambda received: received == answered("allow_once", "call_2"))
        await client.until(lambda received: received == message(REJECTED))
        assert message("never") not in client.received
