"""Asking: what each answer does, several questions at once, and a question that is taken back."""

import anyio
import pytest

pytestmark = pytest.mark.anyio

END = {"stopReason": "end_turn"}


def message(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def begun(id, title):
    call = {"toolCallId": id, "title": title, "kind": "other", "status": "pending", "rawInput": {"what": title}}
    return {"sessionUpdate": "tool_call", **call}


def question(id, title, options):
    return {"toolCall": {"toolCallId": id, "status": "pending", "title": title, "kind": "other"}, "options": options}


def answered(id, option):
    text = {"type": "text", "text": f"You answered: {option}"}
    members = {"status": "completed", "content": [{"type": "content", "content": text}]}
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, **members}


def failed(id, option):
    output = {"message": f"This was rejected ({option}).", "code": "rejected"}
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed", "rawOutput": output}


def questions(heard):
    return [update["toolCall"]["toolCallId"] for update in heard if "options" in update]


USUAL = [
    {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "allow_always", "kind": "allow_always", "name": "Always allow"},
    {"optionId": "reject_once", "kind": "reject_once", "name": "Deny"},
]
REJECTED = message("That was rejected, so the demo agent stops here.")


async def test_ask_tells_the_answer(talking):
    async with talking() as client:
        assert await client.play("demo: ask Shall I\nsay on") == [
            begun("call_1", "Shall I"),
            question("call_1", "Shall I", USUAL),
            answered("call_1", "allow_once"),
            message("on"),
            END,
        ]


@pytest.mark.parametrize("answer", ["reject_once", "an option of another question"])
async def test_a_rejection_and_an_unknown_option_end_the_turn(talking, answer):
    async with talking() as client:
        client.answers = [answer]
        heard = await client.play("demo: ask\nsay never")
        assert heard[2:] == [failed("call_1", answer), REJECTED, END]


async def test_the_answer_cancelled_ends_the_turn_as_cancelled(talking):
    async with talking() as client:
        client.answers = [None]
        assert (await client.play("demo: ask\nsay never"))[2:] == [{"stopReason": "cancelled"}]


async def test_an_error_answer_is_a_rejection(talking):
    async def refuse():
        raise RuntimeError

    async with talking() as client:
        client.answers = [refuse]
        assert (await client.play("demo: ask"))[2:] == [failed("call_1", "error -32603"), REJECTED, END]


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("shell true\nshell true\nshell false", ["call_1", "call_3"]),
        ("create a.txt 1\nedit a.txt 1 => 2", ["call_1"]),
        ("ask One\nask One\nask Two", ["call_1", "call_3"]),
    ],
    ids=["commands", "edits", "questions"],
)
async def test_allow_always_is_for_the_identical_command_and_for_all_edits(talking, script, asked):
    async with talking("") as client:
        client.answers = ["allow_always"] * 3
        heard = await client.play(f"demo: {script}")
        assert questions(heard) == asked
        repeated = await client.play(f"demo: {script}")
        assert questions(repeated) == []


async def test_a_rejection_of_one_lets_the_other_finish_and_then_ends_the_turn(talking):
    released = anyio.Event()

    async def later():
        await released.wait()
        return "allow_once"

    async with talking() as client, anyio.create_task_group() as tasks:
        client.answers = ["reject_once", later]
        tasks.start_soon(client.prompt, "demo: together ask One ;; ask Two\nsay never")
        await client.until(lambda heard: heard == failed("call_1", "reject_once"))
        released.set()
        await client.until(lambda heard: heard == answered("call_2", "allow_once"))
        await client.until(lambda heard: heard == REJECTED)
        assert message("never") not in client.heard
