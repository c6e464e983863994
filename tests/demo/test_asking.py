"""Elicitations and questions inside a permission request."""

import json

import pytest
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.demo.asking import FORM
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

BOTH = {"elicitation": {"form": {}, "url": {}}}
END = {"stopReason": "end_turn"}


def message(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


async def test_a_form_is_shown_and_its_answer_told(talking):
    async with talking(**BOTH) as client:
        answer = {"action": "accept", "content": {"name": "Ada", "count": 3}}
        client.services["elicitation/create"] = lambda params: answer
        assert await client.play("demo: elicit form") == [message(f"You answered: {json.dumps(answer)}"), END]
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        await client.prompt(f"demo: elicit form {json.dumps(schema)}")
        whole = {"message": "Well?", "toolCallId": "call_1", "requestedSchema": schema}
        await client.prompt(f"demo: elicit form {json.dumps(whole)}")
        usual = "The demo agent wants to know something."
        assert client.served == [
            ("elicitation/create", {"mode": "form", "message": usual, "requestedSchema": FORM}),
            ("elicitation/create", {"mode": "form", "message": usual, "requestedSchema": schema}),
            ("elicitation/create", {"mode": "form", **whole}),
        ]


async def test_a_page_is_asked_for_and_completed(talking):
    async with talking(**BOTH) as client:
        client.services["elicitation/create"] = lambda params: {"action": "decline"}
        assert await client.play("demo: elicit url https://example.org/a") == [
            message('You answered: {"action": "decline"}'),
            {"method": "elicitation/complete", "params": {"elicitationId": "elicitation_1"}},
            END,
        ]
        ((_, params),) = client.served
        assert params == {
            "mode": "url",
            "message": "The demo agent asks you to open a page.",
            "elicitationId": "elicitation_1",
            "url": "https://example.org/a",
        }


async def test_only_who_has_elicitations_is_asked(talking):
    async with talking(elicitation={"url": {}, "form": None}) as client:
        words = "You answered: nothing, for this client has no elicitation of mode form"
        assert await client.play("demo: elicit form") == [message(words), END]
    async with talking() as client:
        await client.prompt("demo: elicit url x:y")
        assert client.served == []


async def test_an_error_is_told(talking):
    async def fail(params):
        raise RequestFailed(-32602, "not this")

    async with talking(**BOTH) as client:
        client.services["elicitation/create"] = fail
        (said, _) = await client.play("demo: elicit form")
        assert said["content"]["text"].startswith("You answered: error -32602: ")


async def test_a_form_can_be_taken_back(talking):
    async with talking(**BOTH) as client:
        client.services["elicitation/create"] = lambda params: client.until(lambda heard: heard == "never")
        heard = await client.play("demo: elicit-withdrawn 0.05")
        assert [update for update in heard if "withdrawn" not in update] == [message("I took my question back."), END]
        await client.until(lambda heard: heard == {"withdrawn": "elicitation/create"})


@pytest.mark.parametrize(("option", "status"), [("proceed_once", "completed"), ("cancel", "failed")])
async def test_questions_can_be_inside_a_permission_request(talking, option, status):
    async with talking() as client:
        client.answers = [option]
        begun, asked, done, end = await client.play("demo: question Which?:A|B;And how?")
        answer = {"outcome": {"outcome": "selected", "optionId": option}}
        assert begun["rawInput"] == asked["toolCall"]["rawInput"]
        assert asked["toolCall"]["rawInput"]["questions"] == [
            {
                "question": "Which?",
                "header": "Which?",
                "options": [{"label": "A", "description": ""}, {"label": "B", "description": ""}],
                "multiSelect": False,
            },
            {"question": "And how?", "header": "And how?", "options": [], "multiSelect": False},
        ]
        assert [(each["kind"], each["name"]) for each in asked["options"]] == [
            ("allow_once", "Submit"),
            ("reject_once", "Cancel"),
        ]
        assert (done["status"], done["content"][0]["content"]["text"], end) == (
            status,
            f"You answered: {json.dumps(answer)}",
            END,
        )


async def test_cancelled_questions_cancel_the_turn(talking):
    async with talking() as client:
        client.answers = [None]
        assert await client.prompt("demo: question\nsay never") == {"stopReason": "cancelled"}


async def test_what_is_no_json_is_an_error(talking):
    async with talking(**BOTH) as client:
        with pytest.raises(AgentRefused, match="this is not JSON"):
            await client.prompt("demo: elicit form {")
