"""The chat's WebSocket on a real server: who may connect, and what a connection survives."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
from pathlib import Path

import pytest
from copilot_kernel.server import chat_services
from copilot_kernel.server.socket import ChatSocket
from copilot_kernel.server.talk import MOST_WAITING
from copilot_kernel.server.wire import LONGEST
from jupyter_server.auth.authorizer import Authorizer
from jupyter_server.auth.identity import User
from jupyter_server.base.handlers import JupyterHandler
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from .api import Api, until
from .sockets import LIMIT, Client, MagicSession, Told, text_of

QUESTION = "demo: shell echo hi"
EXAMPLE = QUESTION + r"\nsay all done"


# -- who may connect --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["api/chat/ws", "copilot/chat/ws", "copilot/api/chat/ws"])
async def test_a_prompt_and_its_answer_at_each_of_the_addresses(door: MagicSession, path: str) -> None:
    async with door.client(path) as client:
        assert await client.begin()
        told = await client.say("demo: say Hello")
    assert text_of(told) == "Hello"
    assert told[-1] == {"type": "done", "stop_reason": "end_turn"}


async def test_without_a_token_there_is_no_connection(door: MagicSession) -> None:
    assert await _refused(door) == 401
    assert await _refused(door, {"Authorization": "token wrong"}) == 401


async def test_a_page_of_another_origin_is_refused_even_with_the_token(door: MagicSession) -> None:
    key = {"Authorization": f"token {door.token}"}
    assert await _refused(door, {**key, "Origin": "https://evil.example"}) == 403
    assert await _refused(door, {**key, "Origin": "null"}) == 403
    assert await _refused(door, {**key, "Origin": f"http://127.0.0.1:{door.port + 1}"}) == 403


async def test_a_page_of_this_origin_and_a_program_without_one_are_welcome(door: MagicSession) -> None:
    async with door.client(headers={"Origin": f"http://127.0.0.1:{door.port}"}) as client:
        assert await client.begin()


async def test_a_host_that_is_not_local_is_refused(door: MagicSession) -> None:
    """DNS rebinding: a name of the attacker's leads to this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    lines = [
        f"GET {door.base}api/chat/ws?token={door.token} HTTP/1.1",
        "Host: evil.example",
        "Origin: http://evil.example",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    async with asyncio.timeout(LIMIT):
        status = await reader.readline()
    writer.close()
    assert b" 403 " in status


class OnlyReading(Authorizer):
    """Jupyter's table of actions calls a WebSocket "execute", although its handshake is a GET."""

    def is_authorized(self, handler: JupyterHandler, user: User, action: str, resource: str) -> bool:
        return action == "read"


async def test_who_may_only_read_may_not_chat(door: MagicSession, api: Api) -> None:
    key = {"Authorization": f"token {door.token}"}
    api.serverapp.web_app.settings["authorizer"] = OnlyReading(parent=api.serverapp)
    assert await _refused(door, key) == 403
    assert (await api.ask("api/chat/suggestions")).status == 200


async def _refused(door: MagicSession, headers: dict[str, str] | None = None) -> int:
    with pytest.raises(InvalidStatus) as error:
        async with connect(door.url(), additional_headers=headers or {}, proxy=None):
            pass
    return error.value.response.status_code


async def _sent_and_heard(client: Client, frame: str) -> None:
    await client.raw(frame)
    await client.kind("never")


def failure(told: list[Told]) -> str:
    """What went wrong."""
    return str(next(each["content"] for each in told if each["type"] == "error"))


# -- what a connection survives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('"send"', "no JSON object"),
        ("{}", "no action none"),
        ('{"action": "dance"}', "no action 'dance'"),
        ('{"action": ["send"]}', "no action"),
        ('{"action": "send"}', "text is missing"),
        ('{"action": "send", "text": 1}', "text must be a text"),
        ('{"action": "resume_session", "session_id": ""}', "session_id is empty"),
        ('{"action": "send", "text": "hi"}', "no session yet"),
        ('{"action": "stop"}', "no session yet"),
        (b"\x00\x01", "binary"),
        ("[" * 100_000, "nested too deeply"),
        ('{"action": "stop", "x": ' + "1" * 5000 + "}", "a number that is too long"),
    ],
)
async def test_what_cannot_be_read_is_an_error_and_the_connection_stays(
    door: MagicSession, frame: str | bytes, words: str
) -> None:
    async with door.client() as client:
        await client.raw(frame)
        assert words in (await client.kind("error"))["content"]
        assert await client.begin()


ENDS = {
    "demo: say x": "end_turn",
    "/status": "command",
    "/new": "command",
    "/resume FIRST": "command",
    "/resume zz": "error",
    "/nope": "error",
    " ": "error",
    "x" * LONGEST: "error",
}


async def test_every_send_has_one_end(door: MagicSession) -> None:
    async with door.client() as client:
        assert (await client.say("demo: say x"))[-1]["stop_reason"] == "error", "there is no session yet"
        first = await client.begin()
        for text, reason in ENDS.items():
            told = await client.say(text.replace("FIRST", first))
            assert (told[-1]["stop_reason"], failure(told) != "" if reason == "error" else True) == (reason, True)
        for wrong in ('{"action": "send"}', '{"action": "send", "text": 5}'):
            await client.raw(wrong)
            assert (await client.kind("done"))["stop_reason"] == "error"
        await client.act("new_session")
        await client.kind("session_created")
        await client.act("dance")
        await client.kind("error")
    assert len([each for each in client.heard if each["type"] == "done"]) == len(ENDS) + 3


async def test_what_waits_is_ended_too_by_a_stop_and_what_has_no_room_at_once(door: MagicSession) -> None:
    async with door.client() as client:
        await client.begin()
        await client.act("send", text="demo: ask")
        await client.event("tool_approval_request")
        for _ in range(MOST_WAITING + 1):
            await client.act("send", text="demo: say never")
        assert (await client.kind("done"))["stop_reason"] == "error"
        await client.act("stop")
        ends = [(await client.kind("done"))["stop_reason"] for _ in range(MOST_WAITING + 1)]
        assert ends == ["cancelled"] * len(ends)
        assert text_of(await client.say("demo: say next")) == "next"


async def test_a_message_that_is_too_long_is_an_error_and_a_huge_one_ends_the_connection(door: MagicSession) -> None:
    async with door.client() as client:
        await client.begin()
        assert "more than" in failure(await client.say("x" * LONGEST))
        assert text_of(await client.say("demo: say still here")) == "still here"
        with pytest.raises(ConnectionClosed):
            await _sent_and_heard(client, "x" * (8 * LONGEST + 1))


async def test_a_turn_goes_on_without_its_client_and_is_there_for_the_next_one(door: MagicSession) -> None:
    async with door.client() as first:
        id = await first.begin()
        await first.act("send", text="demo: say one\nshell echo hi\nsay two")
        call = (await first.event("tool_approval_request"))["call_id"]
    async with door.client() as second:
        await second.act("resume_session", session_id=id)
        assert (await second.kind("session_created"))["resumed"] == "live"
        history = await second.event("history")
        assert [each["content"] for each in history["messages"]][1:] == ["one"]
        assert (await second.event("tool_approval_request"))["call_id"] == call
        await second.act("approve_tool", call_id=call, response="yes")
        await second.kind("done")
    assert text_of(second.heard) == "\n\ntwo"


async def test_two_sockets_see_one_session_and_either_may_answer(door: MagicSession) -> None:
    async with door.client() as one, door.client() as other:
        id = await one.begin()
        await other.act("resume_session", session_id=id)
        await other.kind("session_created")
        await one.act("send", text=f"{QUESTION}\nsay after")
        asked = await one.event("tool_approval_request")
        assert await other.event("tool_approval_request") == asked
        await other.act("approve_tool", call_id=asked["call_id"], response="no")
        for each in (one, other):
            assert (await each.event("approval_resolved"))["approved"] is False
            await each.kind("done")
    assert text_of(one.heard) == text_of(other.heard) != ""


@pytest.mark.parametrize("extension", [{"rate_limit": 0}], indirect=True)
async def test_fifty_sockets_at_once_hear_only_their_own(door: MagicSession) -> None:
    count = 50

    async def talk(number: int) -> None:
        async with door.client() as client:
            await client.begin()
            told = await client.say(f"demo: long 2000 20 0\nsay <{number}>")
            assert text_of(told).endswith(f"<{number}>")
            told = await client.say(f"demo: say mine is {number}")
            assert text_of(told) == f"mine is {number}"

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for number in range(count):
            tasks.create_task(talk(number))


async def test_only_so_many_sockets_are_connected_at_once(
    door: MagicSession, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chat_services.MOST_SOCKETS == 200
    monkeypatch.setattr(chat_services, "MOST_SOCKETS", 1)
    async with door.client() as first:
        await first.begin()
        async with door.client() as more:
            with pytest.raises(ConnectionClosed, match="1 chats are connected already") as closed:
                await more.next()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == chat_services.TRY_AGAIN
        assert text_of(await first.say("demo: say still here")) == "still here"
    await until(lambda: not api.app.chat_services._sockets)
    async with door.client() as next_one:
        assert await next_one.begin()


async def test_a_reader_that_does_not_read_is_sent_away_and_costs_no_more(
    door: MagicSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent says more than may wait and the system's own buffers hold."""
    opened: list[ChatSocket] = []
    open = ChatSocket.open
    monkeypatch.setattr(ChatSocket, "open", lambda self: (opened.append(self), open(self))[1])
    idle = socket.create_connection(("127.0.0.1", door.port))
    idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    headers = {"Authorization": f"token {door.token}"}
    slow = await connect(door.url(), additional_headers=headers, sock=idle, max_queue=1, proxy=None)
    client = Client(slow)
    await client.begin()
    await client.act("send", text="demo: long 20000000 500 0")
    async with asyncio.timeout(60):
        while opened[0].close_code is None and opened[0].ws_connection and not opened[0].ws_connection.is_closing():
            await asyncio.sleep(0.05)
    assert opened[0]._box.full
    assert len(opened[0]._box) == 0
    slow.transport.abort()


async def test_what_the_agent_cannot_do_is_told_and_the_page_is_not(door: MagicSession) -> None:
    async with door.client() as client:
        await client.act("resume_session", session_id="nobody")
        assert "Session not found" in (await client.kind("error"))["content"]
        assert json.dumps(client.heard).count("Traceback") == 0


@pytest.mark.parametrize("extension", [{"rate_limit": 1}], indirect=True)
async def test_turns_count_with_those_over_http_and_too_many_are_an_error(door: MagicSession) -> None:
    async with door.client() as client:
        await client.begin()
        assert text_of(await client.say("demo: say one")) == "one"
        told = await client.say("demo: say two")
        assert "requests a minute" in failure(told)
        assert told[-1] == {"type": "done", "stop_reason": "error"}


@pytest.mark.parametrize("extension", [{"approval_seconds": 0.2}], indirect=True)
async def test_the_limit_of_questions_is_a_setting(door: MagicSession) -> None:
    async with door.client() as client:
        await client.begin()
        await client.act("send", text=QUESTION)
        resolved = await client.event("approval_resolved")
        assert (resolved["approved"], "0.2 s" in resolved["reason"]) == (False, True)


@pytest.mark.parametrize("extension", [{"defaultModel": "large"}], indirect=True)
async def test_the_model_is_that_of_the_server(door: MagicSession) -> None:
    async with door.client() as client:
        await client.act("new_session")
        assert (await client.kind("session_created"))["model"] == "scripted-large"


async def test_slash_new_and_resume_change_the_conversation_of_the_socket(door: MagicSession) -> None:
    async with door.client() as client:
        first = await client.begin()
        await client.say("demo: say in the first")
        second = next(each["session_id"] for each in await client.say("/new") if each["type"] == "session_created")
        assert second != first
        await client.say("demo: say in the second")
        told = await client.say(f"/resume {first[:13]}")
        assert next(each["session_id"] for each in told if each["type"] == "session_created") == first
        history = next(each for each in told if each.get("event") == "history")
        assert history["messages"][-1]["content"] == "in the first"


@pytest.mark.parametrize("extension", [{"pool_size": 1}, {"pool_size": 2}], indirect=True)
async def test_a_session_of_a_conversation_over_http_is_not_taken_from_it(door: MagicSession, api: Api) -> None:
    """Its rules would decide about what the chat does, and what is said here would be said there."""
    assert (await api.complete("demo: say over HTTP", "kept")).status == 200
    taken = api.app.dialogues._kept["kept"]._session
    async with door.client() as client:
        await client.act("resume_session", session_id=taken)
        told = (await client.kind("error"))["content"]
        assert "already open in the HTTP endpoint" in told
        assert "begin a new one" in told
        assert await client.begin() != taken
        for command in (f"/resume {taken}", f"/delete {taken}"):
            assert "already open in the HTTP endpoint" in failure(await client.say(command))
    got = await api.complete("demo: say still there", "kept")
    assert (got.said, got.headers["X-Copilot-Session-State"]) == ("still there", "continued")


async def test_a_session_of_another_chat_is_not_deleted_before_that_is_over(door: MagicSession) -> None:
    async with door.client() as one, door.client() as other:
        id = await one.begin()
        await one.say("demo: say hello")
        await other.begin()
        assert "already open in a chat" in failure(await other.say(f"/delete {id}"))
        await one.say("/new")
        assert text_of(await one.say("demo: say goes on")) == "goes on"


async def test_the_example_of_the_documentation_runs(door: MagicSession) -> None:
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    code = next(each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "new_session" in each)
    code = code.replace("ws://127.0.0.1:8888/api/chat/ws", door.url()).replace("What does this folder hold?", EXAMPLE)
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "JUPYTER_TOKEN": door.token},
    )
    async with asyncio.timeout(LIMIT):
        said, _ = await running.communicate(b"y\n")
    assert running.returncode == 0
    assert "echo hi" in said.decode()
    assert said.decode().endswith("all done")
