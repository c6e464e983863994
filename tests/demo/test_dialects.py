"""The messages of agents that were written from another description of the protocol, member by member."""

import pytest
from copilot_kernel.demo.switches import read_switches
from copilot_kernel.errors import AgentRefused

pytestmark = pytest.mark.anyio

SELECTED, FLAT, NESTED = (
    {"selected": {"optionId": "allow_once"}},
    {"outcome": "selected", "optionId": "allow_once"},
    {"outcome": {"outcome": "selected", "optionId": "allow_once"}},
)
USUAL = [
    {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "allow_always", "kind": "allow_always", "name": "Always allow"},
    {"optionId": "reject_once", "kind": "reject_once", "name": "Deny"},
]


def answering(client, answer):
    """All questions are answered in this way, and kept in `client.served`."""
    client.lawful = False
    client.services["session/request_permission"] = lambda params: answer


def texts(heard):
    chunks = [update for update in heard if update.get("sessionUpdate") == "agent_message_chunk"]
    return "".join(update["content"]["text"] for update in chunks)


async def test_000_shakes_hands_in_its_own_way(talking):
    async with talking("dialect=000", begins=False) as client:
        client.lawful = False
        assert (await client.initialize())["agentCapabilities"] == {
            "loadSession": True,
            "promptCapabilities": {"text": True, "images": True, "audio": False, "embeddedContext": True},
            "sessionCapabilities": {},
        }
        assert list(await client.new()) == ["sessionId"]
        assert client.heard == []


async def test_001_shakes_hands_in_its_own_way(talking):
    async with talking("dialect=001", "mcp-http", begins=False) as client:
        client.lawful = False
        assert (await client.initialize())["agentCapabilities"] == {
            "loadSession": True,
            "promptCapabilities": {"content": ["text", "image", "embeddedContext"]},
            "mcp": {"httpTransport": True, "sseTransport": False},
        }
        assert list(await client.new()) == ["sessionId"]


@pytest.mark.parametrize(("name", "answer"), [("000", None), ("001", {})])
async def test_loading_shows_the_past_and_answers_nothing(talking, name, answer):
    async with talking(f"dialect={name}") as client:
        client.lawful = False
        await client.prompt("demo: say a\nplan a;b")
        told, answered = await client.come_back("session/load", client.session_id)
        assert ([update["sessionUpdate"] for update in told], answered) == (
            ["user_message_chunk", "agent_message_chunk"],
            answer,
        )


async def test_plans_are_steps(talking):
    async with talking("dialect=000") as client:
        client.lawful = False
        assert await client.play("demo: plan a;b / 1") == [
            {
                "sessionUpdate": "plan",
                "steps": [
                    {"description": "a", "status": "completed"},
                    {"description": "b", "status": "in_progress"},
                ],
            },
            {"stopReason": "end_turn"},
        ]
    async with talking("dialect=001") as client:
        client.lawful = False
        plan, _ = await client.play("demo: plan a;b")
        assert plan == {"plan": {"description": "The demo agent's plan", "steps": ["a", "b"]}}


@pytest.mark.parametrize("answer", [SELECTED, {**SELECTED, **NESTED}, FLAT, NESTED])
async def test_000_asks_by_title_and_description_and_wants_selected(talking, tmp_path, answer):
    async with talking("dialect=000") as client:
        answering(client, answer)
        heard = await client.play("demo: shell touch x")
        question = {"title": "Run touch x", "description": "Run: touch x", "options": USUAL}
        assert client.served == [("session/request_permission", question)]
        assert ("I was answered {" in texts(heard), (tmp_path / "x").exists()) == (True, "selected" in answer)


async def test_000_can_be_cancelled(talking):
    async with talking("dialect=000") as client:
        answering(client, {"cancelled": True})
        assert await client.prompt("demo: ask") == {"stopReason": "cancelled"}


@pytest.mark.parametrize(
    ("switches", "understood"),
    [(["dialect=001"], [FLAT, NESTED]), (["dialect=001", "flat-answers"], [FLAT]), (["flat-answers"], [FLAT])],
)
@pytest.mark.parametrize("answer", [FLAT, NESTED, SELECTED])
async def test_the_flat_answer_is_understood(talking, tmp_path, switches, understood, answer):
    async with talking(*switches) as client:
        answering(client, answer)
        heard = await client.play("demo: shell touch x")
        call = client.served[0][1]["toolCall"]
        assert (call["title"], "rawInput" in call) == ("Run touch x", switches == ["flat-answers"])
        assert ("I was answered {" in texts(heard), (tmp_path / "x").exists()) == (True, answer in understood)


async def test_a_flat_cancel_is_understood(talking):
    async with talking("flat-answers") as client:
        answering(client, {"outcome": "cancelled"})
        assert await client.prompt("demo: ask") == {"stopReason": "cancelled"}


async def test_001_has_other_names_in_tool_calls(talking, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    async with talking("dialect=001") as client:
        answering(client, FLAT)
        begun, read, edit, _, edited, _ = await client.play("demo: read a.txt\nedit a.txt one => two")
        assert begun == {
            "kind": "tool_call",
            "toolCallId": "call_1",
            "title": "Read a.txt",
            "toolKind": "read",
            "status": "pending",
            "input": {"path": str(tmp_path / "a.txt")},
        }
        assert read == {
            "kind": "tool_call_update",
            "toolCallId": "call_1",
            "status": "completed",
            "output": [{"type": "content", "content": {"type": "text", "text": "one\n"}}],
        }
        change = {"type": "diff", "path": str(tmp_path / "a.txt"), "oldContent": "one", "newContent": "two"}
        assert (edit["output"], edited["output"]) == ([change], [change])


async def test_001_repeats_its_messages_in_the_answer(talking):
    message = {"role": "assistant", "content": [{"type": "text", "text": "ab"}]}
    for switches, streamed in (["dialect=001"], "ab"), (["dialect=001", "unstreamed"], ""):
        async with talking(*switches) as client:
            client.lawful = False
            *heard, answer = await client.play("demo: say a\nthink hm\nsay b")
            assert texts(heard) == streamed
            assert answer == {"sessionId": client.session_id, "messages": [message], "stopReason": "end_turn"}


async def test_000_wants_option_id_and_has_no_more_than_it_says(talking):
    async with talking("dialect=000") as client:
        client.lawful = False
        for method in ("session/list", "session/resume", "session/close", "session/delete", "logout"):
            with pytest.raises(AgentRefused) as caught:
                await client.request(method, {})
            assert caught.value.code == -32601
        params = {"sessionId": client.session_id, "optionId": "model", "value": "scripted-large"}
        assert (await client.request("session/set_config_option", params))["configOptions"]


def test_there_are_no_other_dialects():
    with pytest.raises(SystemExit, match="the dialects 000 and 001; not 002"):
        read_switches("dialect=002")
