"""In which order the actions of one socket are done, while the agent takes its time to open a session."""

import asyncio
import json
from typing import Any

import pytest
from copilot_kernel.errors import UsageError
from copilot_kernel.server.chat import socket
from copilot_kernel.server.chat.chat_session import ChatSession
from copilot_kernel.server.chat.socket import MAX_ACTIONS

from .api import LIMIT, Api, until
from .sockets import Client, text_of

QUESTION = "demo: shell echo hi\nsay after"


class Gate:
    """Sessions that are resumed, or looked for, are held here until it opens."""

    def __init__(self) -> None:
        self._reached, self.opened = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        self._reached.set()
        await self.opened.wait()

    async def reached(self) -> None:
        await asyncio.wait_for(self._reached.wait(), LIMIT)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    found, resume = Gate(), ChatSession.resume

    async def slowly(session: ChatSession, *args: Any) -> None:
        await found.wait()
        await resume(session, *args)

    async def find_slowly(*args: Any) -> str:
        await found.wait()
        raise UsageError("Session not found")

    monkeypatch.setattr(ChatSession, "resume", slowly)
    monkeypatch.setattr(socket, "find_by_id", find_slowly)
    return found


@pytest.mark.parametrize(("slow", "stops"), [
    ({"action": "resume_session", "session_id": "elsewhere"}, False),
    ({"action": "resume_session", "session_id": "elsewhere"}, True),
    ({"action": "send", "text": "/resume elsewhere"}, False),
], ids=["answer, action", "stop, action", "answer, command"])  # fmt: skip
async def test_an_answer_or_a_stop_overtakes_a_session_that_is_being_opened(
    client: Client, gate: Gate, slow: Any, stops: bool
) -> None:
    await client.begin()
    await client.act("send", text=QUESTION)
    call = (await client.event("tool_approval_request"))["call_id"]
    await client.raw(json.dumps(slow))
    await gate.reached()
    await (client.act("stop") if stops else client.act("approve_tool", call_id=call, response="yes"))
    assert (await client.event("approval_resolved"))["approved"] is not stops
    assert (await client.kind("done"))["stop_reason"] == ("cancelled" if stops else "end_turn")
    gate.opened.set()
    assert "Session not found" in (await client.kind("error"))["content"]


async def test_everything_else_waits_for_it_in_order(client: Client, gate: Gate) -> None:
    first = await client.begin()
    await client.say("demo: say one")
    await client.act("resume_session", session_id="elsewhere")
    await client.act("send", text="demo: say two")
    await client.act("new_session")
    await client.act("send", text="demo: say three")
    await gate.reached()
    gate.opened.set()
    assert "Session not found" in (await client.kind("error"))["content"]
    second = await client.kind("session_created")
    await client.kind("done")
    assert second["session_id"] != first
    assert text_of(client.heard[client.heard.index(second) :]) == "three"


async def test_a_stop_that_is_about_the_session_that_is_being_opened_waits_for_it(client: Client) -> None:
    await client.act("new_session")
    await client.act("send", text=QUESTION)
    await client.act("stop")
    assert (await client.kind("done"))["stop_reason"] == "cancelled"
    assert [each for each in client.heard if each["type"] == "error"] == []


async def test_a_prompt_that_is_stopped_on_its_way_does_not_reach_the_agent(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    way, ensure = Gate(), ChatSession._ensure_session

    async def slowly(session: ChatSession) -> None:
        await way.wait()
        await ensure(session)

    monkeypatch.setattr(ChatSession, "_ensure_session", slowly)
    await client.begin()
    await client.act("send", text=QUESTION)
    await way.reached()
    await client.act("stop")
    await client.act("approve_tool", call_id="none", response="yes")  # whose error comes when the stop was heard
    await client.kind("error")
    way.opened.set()
    assert (await client.kind("done"))["stop_reason"] == "cancelled"
    assert text_of(await client.say("demo: say next")) == "next"
    assert [each for each in client.heard if each.get("event") == "prompt" and each["content"] == QUESTION] == []


async def test_what_was_sent_before_the_client_left_is_done(api: Api) -> None:
    async with api.chat() as client:
        await client.act("new_session")
        await client.act("send", text="demo: say heard by nobody")

    def said() -> list[str]:
        chats = [*api.context.chats.store.all()]
        return [str(line.content) for session in chats if not session.broadcaster.subscribers for line in session.last]

    await until(lambda: "heard by nobody" in said())


async def test_a_client_cannot_let_any_number_of_actions_wait(client: Client, gate: Gate) -> None:
    await client.act("resume_session", session_id="elsewhere")
    await gate.reached()
    for _ in range(MAX_ACTIONS + 1):
        await client.act("send", text="demo: say x")
    assert "already waiting" in (await client.kind("error"))["content"]
    gate.opened.set()
    assert "Session not found" in (await client.kind("error"))["content"]
