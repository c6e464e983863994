"""The chat's WebSocket on a real server: who may connect, and what a connection survives."""

import asyncio
import socket

import pytest
from copilot_kernel.rendering.status import STARTING
from copilot_kernel.server.chat import chat_session_manager
from copilot_kernel.server.chat.socket import ChatSocket
from copilot_kernel.server.chat.wire import MAX_FRAME_CHARS
from jupyter_server.auth.authorizer import Authorizer
from jupyter_server.auth.identity import User
from jupyter_server.base.handlers import JupyterHandler
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from ..limits import LIMIT
from .api import Api, Json, until
from .sockets import Client, text_of

QUESTION = "demo: shell echo hi"


async def test_a_prompt_and_its_answer_at_each_of_the_addresses(api: Api) -> None:
    here = {"Origin": f"http://127.0.0.1:{api.port}"}
    for path, headers in (("api/chat/ws", {}), ("copilot/chat/ws", here), ("copilot/api/chat/ws", {})):
        async with api.chat(path, headers=headers) as client:
            assert await client.begin()
            messages = await client.say("demo: say Hello")
        assert text_of(messages) == "Hello"
        assert messages[-1] == {"type": "done", "stop_reason": "end_turn"}


async def test_no_connection_without_a_token_from_another_origin_or_for_who_may_only_read(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await _refused(api) == 401
    assert await _refused(api, {"Authorization": "token wrong"}) == 401
    key = {"Authorization": f"token {api.token}"}
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{api.port + 1}"):
        assert await _refused(api, {**key, "Origin": origin}) == 403
    # DNS rebinding: a name of the attacker's leads to this machine.
    evil = f"ws://evil.example{api.base_url}api/chat/ws"
    assert await _refused(api, {**key, "Origin": "http://evil.example"}, evil) == 403
    monkeypatch.setitem(api.serverapp.web_app.settings, "authorizer", OnlyReading(parent=api.serverapp))
    assert await _refused(api, key) == 403
    assert (await api.ask("api/chat/suggestions")).status == 200


class OnlyReading(Authorizer):
    """Jupyter's table of actions calls a WebSocket "execute", although its handshake is a GET."""

    def is_authorized(self, handler: JupyterHandler, user: User, action: str, resource: str) -> bool:
        return action == "read"


async def _refused(api: Api, headers: dict[str, str] | None = None, url: str = "") -> int:
    place = {"host": "127.0.0.1", "port": api.port}
    with pytest.raises(InvalidStatus) as error:
        async with connect(url or api.socket_url(), additional_headers=headers or {}, proxy=None, **place):
            pass
    return error.value.response.status_code


def failure(messages: list[Json]) -> str:
    """What went wrong."""
    return str(next(each["content"] for each in messages if each["type"] == "error"))


async def test_what_cannot_be_read_is_an_error_and_the_connection_stays(client: Client) -> None:
    for frame, words in (
        ("{", "This message is not valid JSON (line 1, column 2).\nSend one JSON object."),
        ('"send"', "not a JSON object"),
        ("{}", "names no action"),
        ('{"action": ["send"]}', "Unknown action ['send']"),
        ('{"action": "send"}', "text is missing"),
        ('{"action": "send", "text": 1}', "text must be a string"),
        ('{"action": "resume_session", "session_id": ""}', "session_id is empty"),
        ('{"action": "resume_session", "session_id": "unknown"}', "Session not found"),
        ('{"action": "send", "text": "hi"}', "No session is open yet"),
        ('{"action": "stop"}', "No session is open yet"),
        (b"\x00\x01", "binary"),
        ("[" * 100_000, "This message cannot be read as JSON."),
    ):
        await client.raw(frame)
        assert words in (await client.kind("error"))["content"]
    assert await client.begin()
    with pytest.raises(ConnectionClosed):
        await client.say("x" * (8 * MAX_FRAME_CHARS + 1))


ENDS = {
    "/status": "command", "/new": "command", "demo: say in the second": "end_turn", "/resume FIRST": "command",
    "/resume zz": "error", "/nope": "error", " ": "error", "x" * MAX_FRAME_CHARS: "error",
}  # fmt: skip


async def test_every_send_has_one_end(client: Client) -> None:
    assert (await client.say("demo: say x"))[-1]["stop_reason"] == "error", "there is no session yet"
    first = await client.begin()
    await client.say("demo: say in the first")
    for text, reason in ENDS.items():
        messages = await client.say(text.replace("FIRST", first[:13]))
        assert (messages[-1]["stop_reason"], failure(messages) != "" if reason == "error" else True) == (reason, True)
    for wrong in ('{"action": "send"}', '{"action": "send", "text": 5}'):
        await client.raw(wrong)
        assert (await client.kind("done"))["stop_reason"] == "error"
    await client.act("new_session")
    await client.kind("session_created")
    await client.act("dance")
    await client.kind("error")
    assert len([each for each in client.heard if each["type"] == "done"]) == len(ENDS) + 4
    opened = [each["session_id"] for each in client.heard if each["type"] == "session_created"]
    assert (len(opened), len({*opened}), opened[2]) == (4, 3, first)
    (history,) = [each["messages"] for each in client.heard if each.get("event") == "history"]
    assert history[-1]["content"] == "in the first"


async def test_only_when_the_agent_starts_it_says_so(api: Api) -> None:
    await api.stop()
    async with api.chat() as client:
        await client.begin()
        await client.begin()
        await client.act("resume_session", session_id="unknown")
        assert (await client.kind("error"))["content"] == "Session not found\nStart with new_session."
        await client.say("demo: say two")
    assert [each.get("content") for each in client.heard if each.get("event") == "status"].count(STARTING) == 1


async def test_a_turn_goes_on_without_its_client_and_is_there_for_the_next_one(api: Api) -> None:
    async with api.chat() as first:
        id = await first.begin()
        await first.act("send", text="demo: say one\nshell echo hi\nsay two")
        question = await first.event("tool_approval_request")
    call = question["call_id"]
    assert (question["about"], api.turns) == ("echo hi", 1), "it counts as activity"
    async with api.chat() as second:
        await second.act("resume_session", session_id=id)
        assert (await second.kind("session_created"))["resumed"] == "live"
        history = await second.event("history")
        assert [each["content"] for each in history["messages"]][1:] == ["one"]
        assert (await second.event("tool_approval_request"))["call_id"] == call
        await second.act("approve_tool", call_id=call, response="yes")
        await second.kind("done")
    assert text_of(second.heard) == "\n\ntwo"


async def test_only_so_many_sockets_are_connected_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chat_session_manager.MAX_SOCKETS == 200
    monkeypatch.setattr(chat_session_manager, "MAX_SOCKETS", 1)
    async with api.chat() as first:
        await first.begin()
        async with api.chat() as more:
            with pytest.raises(ConnectionClosed, match="1 chats are already connected") as closed:
                await more.next()
            assert closed.value.rcvd.code == chat_session_manager.TRY_AGAIN_LATER
        assert text_of(await first.say("demo: say still here")) == "still here"
    await until(lambda: not api.context.chats.sockets)
    async with api.chat() as next_one:
        assert await next_one.begin()


async def test_a_reader_that_does_not_read_is_sent_away_and_costs_no_more(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent says more than may wait and the system's own buffers hold."""
    opened: list[ChatSocket] = []
    open = ChatSocket.open
    monkeypatch.setattr(ChatSocket, "open", lambda self: (opened.append(self), open(self))[1])
    idle = socket.create_connection(("127.0.0.1", api.port))
    idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    headers = {"Authorization": f"token {api.token}"}
    slow = await connect(api.socket_url(), additional_headers=headers, sock=idle, max_queue=1, proxy=None)
    client = Client(slow)
    await client.begin()
    await client.act("send", text="demo: long 20000000 500 0")
    async with asyncio.timeout(LIMIT):
        while opened[0].close_code is None and opened[0].ws_connection and not opened[0].ws_connection.is_closing():
            await asyncio.sleep(0.05)
    assert opened[0]._outbox.overflowed
    assert opened[0]._outbox._waiting == {}
    slow.transport.abort()


@pytest.mark.parametrize("extension", [{"rate_limit": 1, "defaultModel": "large"}], indirect=True)
async def test_the_model_and_the_rate_limit_are_those_of_the_server(client: Client) -> None:
    await client.act("new_session")
    assert (await client.kind("session_created"))["model"] == "scripted-large"
    await client.say("demo: say one")
    messages = await client.say("demo: say two")
    assert "requests a minute" in failure(messages)
    assert messages[-1] == {"type": "done", "stop_reason": "error"}


@pytest.mark.parametrize("extension", [{"pool_size": 1}, {"pool_size": 2}], indirect=True)
async def test_a_session_of_a_conversation_over_http_is_not_taken_from_it(api: Api, client: Client) -> None:
    """Its rules would decide about what the chat does, and what is said here would be said there."""
    assert (await api.complete("demo: say over HTTP", "kept")).status == 200
    taken = api.context.conversations.store.find("kept")._session
    await client.act("resume_session", session_id=taken)
    error = (await client.kind("error"))["content"]
    assert "is open in the HTTP endpoint" in error
    assert "start a new one" in error
    assert await client.begin() != taken
    for command in (f"/resume {taken}", f"/delete {taken}"):
        assert "is open in the HTTP endpoint" in failure(await client.say(command))
    got = await api.complete("demo: say still there", "kept")
    assert (got.said, got.headers["X-Copilot-Session-State"]) == ("still there", "continued")
