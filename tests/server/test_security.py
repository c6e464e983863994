"""Who may use the API, from where, and how much may be sent; and that nothing of it is in the log."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from copilot_kernel.acp.messages import ImageBlock
from copilot_kernel.conversation.model import Attachment, Conversation
from copilot_kernel.server.app import CopilotApp
from copilot_kernel.server.chat.broadcaster import Broadcaster
from copilot_kernel.server.errors import SEE_LOG
from copilot_kernel.server.handler import UNKNOWN_HOST, XSRF
from copilot_kernel.server.status import StatusHandler

from .api import CHAT, JSON, LIMIT, Answered, Api, user, web

HELLO = json.dumps({"messages": user("demo: say Hello")})
GOOD, EVIL = "https://good.example", "https://evil.example"
SECRET = "a-secret-in-a-prompt"
EVERYTHING = [
    *(("GET", path) for path in ("v1/models", "v1/models/scripted", "copilot/status", "copilot/metrics", "copilot/x")),
    *(("POST", path) for path in (CHAT, f"copilot/{CHAT}", "v1/embeddings")),
]  # fmt: skip


# -- the token --------------------------------------------------------------------------------------------------------


async def test_without_the_token_there_is_nothing(api: Api) -> None:
    await api.stop()
    for method, path in EVERYTHING:
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}):
            content = HELLO if method == "POST" else None
            got = await api.raw(method, path, headers={**JSON, **header}, content=content)
            assert (got.status, got.error["type"]) == (401, "authentication_error"), path
            assert got.headers["WWW-Authenticate"] == "Bearer"
    assert api.agents == 0
    for scheme in ("Bearer", "bearer", "token"):
        got = await api.raw("GET", "copilot/status", headers={"Authorization": f"{scheme} {api.token}"})
        assert got.status == 200


async def test_a_cookie_alone_may_read_but_not_ask_and_nothing_from_elsewhere(api: Api) -> None:
    async with web() as client:
        await client.get(f"{api.url}copilot/status", headers=api.bearer)
        client.cookies.set("_xsrf", "abc", domain="127.0.0.1")

        async def ask(method: str = "POST", path: str = CHAT, **headers: str) -> Answered:
            more = {name.replace("_", "-"): value for name, value in headers.items()}
            return Answered(await client.request(method, f"{api.url}{path}", content=HELLO, headers={**JSON, **more}))

        read, asked = await ask("GET", "copilot/status"), await ask()
        assert (read.status, asked.status, (await ask(X_XSRFToken="abc")).status) == (200, 403, 200)
        assert (asked.error["type"], asked.error["message"]) == ("permission_error", XSRF)
        assert (await ask(X_XSRFToken="abc", Origin=EVIL)).status == 403
        for path in EVERYWHERE:
            require_error(await ask("GET", path, Origin=EVIL), 403)


# -- hosts and origins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", [{"cors_origins": [GOOD], "rate_limit": 1}], indirect=True)
async def test_only_pages_of_origins_in_the_settings_may_ask_and_read_even_errors(api: Api) -> None:
    wanted = {"Access-Control-Request-Method": "POST"}
    asked = await api.raw("OPTIONS", CHAT, headers={"Origin": GOOD, **wanted})
    allowed = [asked.headers[f"Access-Control-Allow-{name}"] for name in ("Origin", "Methods", "Headers")]
    assert (asked.status, allowed) == (204, [GOOD, "GET, POST, OPTIONS", "Authorization, *"])
    evil = await api.raw("OPTIONS", CHAT, headers={**api.bearer, "Origin": EVIL, **wanted})
    assert [name for name in evil.headers if name.lower().startswith("access-control-allow")] == []
    bad = json.dumps({"messages": user("x"), "n": 2})
    await api.raw("POST", CHAT, content=HELLO, headers={**JSON, **api.bearer})
    for origin, may, exposed in ((GOOD, GOOD, "Retry-After, X-Copilot-Session-State"), (EVIL, None, None)):
        headers = {**JSON, **api.bearer, "Origin": origin}
        got = [await api.raw("POST", CHAT, content=body, headers=headers) for body in (bad, HELLO)]
        got += [await api.raw("GET", path, headers=headers) for path in (CHAT, "health")]
        assert [each.headers.get("Access-Control-Allow-Origin") for each in got] == [may] * 4
        assert [each.headers.get("Access-Control-Expose-Headers") for each in got] == [exposed] * 4
        assert [each.status for each in got] == [400, 429, 405, 200]
    assert (await api.raw("POST", CHAT, content=HELLO, headers={**JSON, "Origin": GOOD})).status == 401


# -- bodies -----------------------------------------------------------------------------------------------------------


async def chunks(count: int, size: int = 1000) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * size


@pytest.mark.parametrize("extension", [{"body_limit": 100_000}], indirect=True)
async def test_a_body_that_is_too_large_is_refused_and_not_kept(api: Api) -> None:
    """A client that does not listen before it has sent everything may see the connection end instead."""
    assert CopilotApp().body_limit == 10 * 1024 * 1024
    for count, chunked in [(count, chunked) for count in (101, 5000) for chunked in (False, True)]:
        body: Any = chunks(count) if chunked else b" " * (1000 * count)
        try:
            got = await api.raw("POST", CHAT, content=body, headers={**JSON, **api.bearer})
        except httpx.TransportError:
            assert count == 5000
        else:
            assert (got.status, got.error["type"]) == (413, "invalid_request_error")
    for method, path in [(method, path) for method in ("GET", "PUT") for path in EVERYWHERE]:
        got = await api.raw(method, path, content=b" " * 101_000, headers={**api.bearer, **JSON})
        require_error(got, 413)
    assert api.agents == 0
    at_limit = await api.raw("POST", CHAT, content=HELLO.ljust(100_000), headers={**JSON, **api.bearer})
    assert at_limit.status == 200


# -- forms of errors --------------------------------------------------------------------------------------------------


async def test_what_is_not_there_is_told_in_the_same_form(api: Api) -> None:
    for method, path, status, kind in (
        ("POST", "v1/nothing", 404, "not_found"),
        ("DELETE", "copilot/nothing/at/all", 404, "not_found"),
        ("OPTIONS", "v1/nothing", 404, "not_found"),
        ("OPTIONS", "v1/models", 405, "method_not_allowed"),
        ("PUT", CHAT, 405, "method_not_allowed"),
        ("POST", "v1/embeddings", 501, "not_implemented"),
    ):
        got = await api.raw(method, path, headers=api.bearer)
        require_error(got, status)
        assert got.error["type"] == kind
        if status == 405:
            assert got.headers["Allow"] == ("POST" if path == CHAT else "GET, HEAD")
    page = await api.raw("GET", "copilot/chat")
    assert (page.status, page.headers["Location"].split("?")[0]) == (302, f"{api.base_url}login")
    require_error(await api.raw("POST", "copilot/chat"), 401)


EVERYWHERE = [
    "copilot/chat", "copilot/chat/", "copilot/chat/static/chat.js", "copilot/chat/sessions", "copilot/chat/ws",
    "api/chat/ws", "api/chat/suggestions", "api/chat/nothing", "api/models", "api/media/a-file.png", "api/media/a/b",
    "health", "copilot/status", "v1/models", "v1/nothing", "copilot/metrics", CHAT,
]  # fmt: skip


def require_error(got: Answered, *statuses: int) -> None:
    assert got.status in statuses, got.text
    assert (got.headers["Content-Type"], got.headers["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert got.error["code"] == got.status
    assert "Traceback" not in got.text


async def test_odd_methods_and_hosts_are_told_in_the_same_form_everywhere(api: Api) -> None:
    """A name may have been rebound to this machine."""
    for path in EVERYWHERE:
        for method in ("PUT", "BREW"):
            require_error(await api.raw(method, path, headers=api.bearer), 405, 404)
        got = await api.raw("GET", path, headers={**api.bearer, "Host": f"evil.example:{api.port}"})
        require_error(got, 403)
        assert got.error["message"] == UNKNOWN_HOST


@pytest.mark.parametrize("extension", [{"body_seconds": 0.3}], indirect=True)
async def test_a_body_that_does_not_come_does_not_hold_the_connection(api: Api) -> None:
    async def send(path: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
        head = f"{'POST' if path == CHAT else 'GET'} {api.base_url}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        more = f"Authorization: Bearer {api.token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        writer.write(f"{head}{more}".encode())
        async with asyncio.timeout(LIMIT):
            found = await reader.read()
        writer.close()
        return found

    paths = (CHAT, "copilot/chat", "copilot/chat/ws", "copilot/chat/static/chat.js", "api/media/x")
    assert await asyncio.gather(*map(send, paths)) == [b""] * len(paths)
    assert api.turns == 0


async def test_what_is_no_handshake_is_refused(api: Api) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    for headers, status in (
        ({}, 400),
        ({**upgrade, "Upgrade": "h2c"}, 400),
        ({**upgrade, "Connection": "close"}, 400),
        ({**upgrade, "Sec-WebSocket-Version": "99"}, 426),
        (upgrade, 400),
    ):
        assert (await api.raw("GET", "api/chat/ws", headers={**api.bearer, **headers})).status == status


async def test_a_mistake_of_ours_is_told_without_a_traceback(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(handler: Any) -> None:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(StatusHandler, "get", broken)
    got = await api.ask("copilot/status")
    assert (got.status, got.error) == (500, {
        "message": "Internal Server Error.", "type": "server_error", "param": None, "code": 500
    })  # fmt: skip


@pytest.mark.parametrize(("environment", "words", "after"), [
    ({"AGENT": "no-such-agent --acp"}, f"No agent was found. {SEE_LOG}", "60"),
    ({"DEMO": "signed-out"}, "Sign in", "60"),
    ({"DEMO": "exit-at-start"}, SEE_LOG, "10"),
], indirect=["environment"])  # fmt: skip
async def test_where_no_agent_can_start_it_is_a_503(api: Api, words: str, after: str) -> None:
    asked = [api.complete("Hello"), api.complete("Hello", stream=True), api.ask("v1/models")]
    for got in await asyncio.gather(*asked):
        assert (got.status, got.error["type"], got.headers["Retry-After"]) == (503, "service_unavailable", after)
        assert words in got.error["message"]
    assert (await api.raw("GET", "copilot/health")).body == {"status": "ok", "models_available": 0}


# -- HEAD: what GET answers, without its body (RFC 9110, 9.3.2) ------------------------------------------------------


ALL = [
    "health", "v1/models", "v1/models/scripted", "v1/models/none", "copilot/status",
    "copilot/chat", "copilot/chat/static/chat.js", "copilot/chat/static/none", "copilot/chat/sessions",
    "api/chat/suggestions", "api/models", "api/media/none", "v1/nothing", "v1/embeddings", CHAT,
]  # fmt: skip


async def test_head_is_get_without_a_body(api: Api) -> None:
    await api.raw("GET", "v1/models", headers=api.bearer)  # so that as much is known of them as later
    for path, headers in [*((path, api.bearer) for path in ALL), *((path, {}) for path in ALL[:2])]:
        get, head = [await api.raw(method, path, headers=headers) for method in ("GET", "HEAD")]
        assert (path, head.status, head.text) == (path, get.status, "")
        assert told_in(head) == told_in(get)


def told_in(got: Answered) -> dict[str, str]:
    """Its headers, without the time and what is made up for each answer."""
    return {name: value for name, value in got.headers.items() if name not in ("date", "set-cookie")}


async def test_the_socket_has_no_head(api: Api) -> None:
    got = await api.raw("HEAD", "api/chat/ws", headers=api.bearer)
    assert (got.status, got.headers["Allow"], got.text) == (405, "GET", "")


# -- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", [{}, {"request_log": True}], indirect=True)
async def test_the_log_holds_neither_prompts_nor_tokens(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """Neither of HTTP nor of the chat."""
    with caplog.at_level(logging.DEBUG):
        query = {"prompt": SECRET, "token": api.token}
        for path in (CHAT, "v1/nothing", "copilot/status"):
            await api.raw("POST", path, params=query, headers=JSON, content=json.dumps({"messages": user(SECRET)}))
            await api.raw("GET", path, params=query)
        await api.complete(f"demo: say {SECRET}")
        got = await api.complete([{"role": SECRET, "content": SECRET}])
        async with api.chat(f"api/chat/ws?token={api.token}") as client:
            await client.begin()
            for text in (f"demo: say {SECRET}", f"demo: error -32603 {SECRET}", f"/{SECRET}"):
                await client.say(text)
            await client.act("resume_session", session_id=SECRET)
            await client.kind("error")
            await client.act(SECRET)
            await client.kind("error")
    said = [record.getMessage() + str(record.exc_text or "") for record in caplog.records if ours(record)]
    assert [line for line in [*said, got.text] if SECRET in line or api.token in line] == []
    lines = [line.partition(" in ")[0] for line in said if line.endswith(" s")]
    assert ("POST /v1/chat/completions: 200" in lines) is api.app.request_log
    assert said != []


async def test_the_log_holds_no_entry_that_could_not_be_told(caplog: pytest.LogCaptureFixture) -> None:
    def broken(block: Any) -> None:
        raise ZeroDivisionError(SECRET)

    session = Conversation()
    voice = Broadcaster(lambda: session, broken, "", 1.0)
    with caplog.at_level(logging.DEBUG):
        voice.show(Attachment(3, 1, "agent", ImageBlock(SECRET, "image/png")))
    (record,) = caplog.records
    assert record.getMessage().startswith("an entry could not be encoded: Attachment 3: ZeroDivisionError\n")
    assert SECRET not in caplog.text


def ours(record: logging.LogRecord) -> bool:
    """Not what the client says, nor what the server says before any request: where it is, with its token."""
    return not record.name.startswith(("http", "websockets.client")) and "/?token=" not in record.getMessage()
