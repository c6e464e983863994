"""Who may use the API, from where, and how much may be sent; and that nothing of it is in the log."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from copilot_kernel.acp.messages import Image
from copilot_kernel.conversation.model import Attachment, Conversation
from copilot_kernel.server.errors import LOG
from copilot_kernel.server.handler import HOST, XSRF
from copilot_kernel.server.voice import Broadcaster

from .api import CHAT, JSON, LIMIT, Api, raw, user
from .sockets import MagicSession

HELLO = json.dumps({"messages": user("demo: say Hello")})
EVIL = "https://evil.example"
SECRET = "a-secret-in-a-prompt"
EVERYTHING = [
    ("GET", "v1/models"), ("GET", "v1/models/scripted"), ("POST", CHAT), ("POST", "v1/responses"),
    ("GET", "copilot/status"), ("GET", "copilot/metrics"), ("GET", "copilot/openapi.json"), ("GET", "copilot/nothing"),
    ("POST", "v1/embeddings"), ("POST", f"copilot/{CHAT}"),
]  # fmt: skip


# -- the token --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"}])
async def test_without_the_token_there_is_nothing(api: Api, method: str, path: str, header: dict[str, str]) -> None:
    got = await raw(api, method, path, headers={**JSON, **header}, content=HELLO if method == "POST" else None)
    assert (got.status_code, got.json()["error"]["type"]) == (401, "authentication_error")
    assert got.headers["WWW-Authenticate"] == "Bearer"
    assert api.app.status()["agents"] == 0


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "token"])
async def test_the_token_is_the_api_key(api: Api, scheme: str) -> None:
    got = await raw(api, "GET", "copilot/status", headers={"Authorization": f"{scheme} {api.token}"})
    assert got.status_code == 200


async def test_a_cookie_alone_may_read_but_not_ask(api: Api) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
        await client.get(f"{api.url}copilot/status", headers=api.bearer)
        read = await client.get(f"{api.url}copilot/status")
        asked = await client.post(f"{api.url}{CHAT}", content=HELLO, headers=JSON)
        client.cookies.set("_xsrf", "abc", domain="127.0.0.1")
        with_xsrf = await client.post(f"{api.url}{CHAT}", content=HELLO, headers={**JSON, "X-XSRFToken": "abc"})
    assert (read.status_code, asked.status_code, with_xsrf.status_code) == (200, 403, 200)
    assert (asked.json()["error"]["type"], asked.json()["error"]["message"]) == ("permission_error", XSRF)


async def test_health_tells_everyone_that_it_is_there_and_starts_nothing(api: Api) -> None:
    before = await raw(api, "GET", "health")
    assert before.json() == {"status": "ok", "models_available": 0}
    assert api.app.pool.processes == []
    await api.ask("v1/models")
    assert (await raw(api, "GET", "copilot/health")).json() == {"status": "ok", "models_available": 2}


# -- hosts and origins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["health", "v1/models", "copilot/status"])
async def test_a_name_that_was_rebound_to_this_machine_gets_nothing(api: Api, path: str) -> None:
    got = await raw(api, "GET", path, headers={**api.bearer, "Host": f"evil.example:{api.port}"})
    assert (got.status_code, got.json()["error"]) == (403, {
        "message": HOST, "type": "permission_error", "param": None, "code": 403
    })  # fmt: skip
    assert ("ServerApp.local_hostnames" in HOST, "ServerApp.allow_remote_access" in HOST) == (True, True)


async def test_a_page_of_another_origin_may_not_use_the_cookie(api: Api) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
        await client.get(f"{api.url}copilot/status", headers=api.bearer)
        client.cookies.set("_xsrf", "abc", domain="127.0.0.1")
        more = {"Origin": EVIL, "X-XSRFToken": "abc"}
        asked = await client.post(f"{api.url}{CHAT}", content=HELLO, headers={**JSON, **more})
        read = await client.get(f"{api.url}copilot/status", headers=more)
    assert (asked.status_code, read.status_code) == (403, 403)


@pytest.mark.parametrize("path", ["v1/models", "health"])
async def test_no_page_of_another_origin_may_read(api: Api, path: str) -> None:
    got = await raw(api, "GET", path, headers={**api.bearer, "Origin": EVIL})
    assert "Access-Control-Allow-Origin" not in got.headers
    asked = await raw(api, "OPTIONS", CHAT, headers={"Origin": EVIL, "Access-Control-Request-Method": "POST"})
    assert asked.status_code == 401
    assert "Access-Control-Allow-Origin" not in asked.headers


@pytest.mark.parametrize("extension", [{"cors_origins": ["https://good.example"]}], indirect=True)
async def test_unless_its_origin_is_in_the_settings(api: Api) -> None:
    good = {"Origin": "https://good.example"}
    asked = await raw(api, "OPTIONS", CHAT, headers={**good, "Access-Control-Request-Method": "POST"})
    allowed = {name: asked.headers[f"Access-Control-Allow-{name}"] for name in ("Origin", "Methods", "Headers")}
    assert (asked.status_code, allowed) == (204, {
        "Origin": "https://good.example",
        "Methods": "GET, POST, OPTIONS",
        "Headers": "Content-Type, Authorization, X-Copilot-Session",
    })  # fmt: skip
    got = await raw(api, "POST", CHAT, content=HELLO, headers={**JSON, **api.bearer, **good})
    assert (got.status_code, got.headers["Access-Control-Allow-Origin"]) == (200, "https://good.example")
    assert (await raw(api, "POST", CHAT, content=HELLO, headers={**JSON, **good})).status_code == 401
    evil = await raw(api, "GET", "v1/models", headers={**api.bearer, "Origin": EVIL})
    assert "Access-Control-Allow-Origin" not in evil.headers


@pytest.mark.parametrize("extension", [{"cors_origins": ["https://good.example"], "rate_limit": 1}], indirect=True)
async def test_a_page_that_is_welcome_may_read_errors_too_and_no_other_may(api: Api) -> None:
    bad = json.dumps({"messages": user("x"), "n": 2})
    for origin, may in (("https://good.example", "https://good.example"), (EVIL, None)):
        headers = {**JSON, **api.bearer, "Origin": origin}
        await raw(api, "POST", CHAT, content=HELLO, headers={**JSON, **api.bearer})
        got = [await raw(api, "POST", CHAT, content=body, headers=headers) for body in (bad, HELLO)]
        got.append(await raw(api, "GET", CHAT, headers=headers))
        assert [each.headers.get("Access-Control-Allow-Origin") for each in got] == [may] * 3
        exposed = "Retry-After, X-Copilot-Session-State" if may else None
        assert [each.headers.get("Access-Control-Expose-Headers") for each in got] == [exposed] * 3
        assert [each.status_code for each in got] == [400, 429, 405]


@pytest.mark.parametrize("extension", [{"cors_origins": ["https://good.example"]}], indirect=True)
async def test_a_page_that_is_welcome_may_send_the_headers_it_asks_for(api: Api) -> None:
    asks = {"Access-Control-Request-Headers": "x-stainless-os, authorization,bad name, <x>, ,X-Stainless-OS"}
    got = await raw(api, "OPTIONS", CHAT, headers={"Origin": "https://good.example", **asks})
    allowed = "Content-Type, Authorization, X-Copilot-Session, x-stainless-os"
    assert got.headers["Access-Control-Allow-Headers"] == allowed
    assert (
        "Access-Control-Allow-Headers"
        not in (await raw(api, "OPTIONS", CHAT, headers={"Origin": EVIL, **asks})).headers
    )


# -- bodies -----------------------------------------------------------------------------------------------------------


async def chunks(count: int, size: int = 1000) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * size


@pytest.mark.parametrize("extension", [{"body_limit": 100_000}], indirect=True)
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("count", [101, 5000])
async def test_a_body_that_is_too_large_is_refused_and_not_kept(api: Api, chunked: bool, count: int) -> None:
    """A client that does not listen before it has sent everything may see the connection end instead."""
    body: Any = chunks(count) if chunked else b" " * (1000 * count)
    try:
        got = await raw(api, "POST", CHAT, content=body, headers={**JSON, **api.bearer})
    except httpx.TransportError:
        assert count == 5000
    else:
        assert (got.status_code, got.json()["error"]["type"]) == (413, "invalid_request_error")
    assert (await api.complete("demo: say Hello")).said == "Hello"


@pytest.mark.parametrize("extension", [{"body_limit": 100_000}], indirect=True)
async def test_a_body_of_just_the_limit_is_taken(api: Api) -> None:
    body = HELLO.ljust(100_000)
    assert (await raw(api, "POST", CHAT, content=body, headers={**JSON, **api.bearer})).status_code == 200


def test_the_limit_is_10_mb() -> None:
    from copilot_kernel.server.app import CopilotApp

    assert CopilotApp().body_limit == 10 * 1024 * 1024


@pytest.mark.parametrize("extension", [{"body_seconds": 0.3}], indirect=True)
async def test_a_body_that_does_not_come_does_not_hold_the_connection(api: Api) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    head = f"POST {api.base_url}{CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.token}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    async with asyncio.timeout(LIMIT):
        assert await reader.read() == b""
    writer.close()
    assert api.app.limits.running == 0


# -- forms of errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path", "status", "kind"), [
    ("GET", "v1/nothing", 404, "not_found"),
    ("POST", "v1/nothing", 404, "not_found"),
    ("DELETE", "copilot/nothing/at/all", 404, "not_found"),
    ("OPTIONS", "v1/nothing", 404, "not_found"),
    ("OPTIONS", "copilot/nothing", 404, "not_found"),
    ("OPTIONS", "v1/models", 405, "method_not_allowed"),
    ("GET", CHAT, 405, "method_not_allowed"),
    ("PUT", CHAT, 405, "method_not_allowed"),
    ("POST", "v1/models", 405, "method_not_allowed"),
    ("POST", "health", 405, "method_not_allowed"),
])  # fmt: skip
async def test_what_is_not_there_is_told_in_the_same_form(
    api: Api, method: str, path: str, status: int, kind: str
) -> None:
    got = await raw(api, method, path, headers=api.bearer)
    error = got.json()["error"]
    assert (got.status_code, error["type"], error["code"]) == (status, kind, status)
    assert sorted(error) == ["code", "message", "param", "type"]
    assert got.headers["Content-Type"] == "application/json"
    if status == 405:
        assert got.headers["Allow"] == ("POST" if path == CHAT else "GET, HEAD")


EVERYWHERE = [
    "copilot/chat", "copilot/chat/", "copilot/chat/static/chat.js", "copilot/chat/sessions", "copilot/chat/ws",
    "api/chat/ws", "api/chat/suggestions", "api/chat/nothing", "api/models", "api/media/a-file.png", "api/media/a/b",
    "health", "v1/models", "v1/nothing", "copilot/metrics", CHAT,
]  # fmt: skip


def require_error(got: httpx.Response, *statuses: int) -> None:
    assert got.status_code in statuses, got.text
    assert (got.headers["Content-Type"], got.headers["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert got.json()["error"]["code"] == got.status_code
    assert "Traceback" not in got.text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "BREW"])
async def test_odd_methods_are_told_in_the_same_form_everywhere(api: Api, method: str) -> None:
    for path in EVERYWHERE:
        require_error(await raw(api, method, path, headers=api.bearer), 405, 404)


async def test_hosts_and_origins_are_told_in_the_same_form_everywhere(api: Api) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=LIMIT) as client:
        await client.get(f"{api.url}copilot/status", headers=api.bearer)
        for path in EVERYWHERE:
            host = {**api.bearer, "Host": f"evil.example:{api.port}"}
            require_error(await raw(api, "GET", path, headers=host), 403)
            require_error(await client.get(f"{api.url}{path}", headers={"Origin": EVIL}), 403)


@pytest.mark.parametrize("extension", [{"body_limit": 100_000}], indirect=True)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_no_route_takes_more_than_the_limit(api: Api, method: str) -> None:
    for path in EVERYWHERE:
        got = await raw(api, method, path, content=b" " * 101_000, headers={**api.bearer, **JSON})
        require_error(got, 413)
    assert api.app.status()["agents"] == 0


@pytest.mark.parametrize("extension", [{"body_seconds": 0.3}], indirect=True)
@pytest.mark.parametrize("path", ["copilot/chat", "copilot/chat/ws", "copilot/chat/static/chat.js", "api/media/x"])
async def test_a_body_that_does_not_come_holds_no_connection_of_any_route(api: Api, path: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    head = f"GET {api.base_url}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.token}\r\n"
    writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    async with asyncio.timeout(LIMIT):
        assert await reader.read() == b""
    writer.close()


@pytest.mark.parametrize("extension", [{"request_log": True}], indirect=True)
async def test_every_route_is_counted_and_logged(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for path in ("copilot/chat", "copilot/chat/ws", "copilot/chat/static/chat.js", "api/media/x"):
            await raw(api, "GET", path, headers=api.bearer)
    figures = (await api.ask("copilot/metrics")).text
    wanted = {"/copilot/chat": 200, "/api/chat/ws": 426, "/copilot/chat/static": 200, "/api/media": 404}
    for route, status in wanted.items():
        assert f'copilot_requests_total{{route="{route}",status="{status}"}} 1.0' in figures
        assert f"GET {route}: {status} in" in caplog.text


@pytest.mark.parametrize(("headers", "status"), [
    ({}, 426),
    ({"Upgrade": "h2c", "Connection": "Upgrade"}, 426),
    ({"Upgrade": "websocket", "Connection": "close"}, 426),
    ({"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "99"}, 426),
    ({"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}, 400),
])  # fmt: skip
async def test_what_is_no_handshake_is_told_in_the_same_form(api: Api, headers: dict[str, str], status: int) -> None:
    got = await raw(api, "GET", "api/chat/ws", headers={**api.bearer, **headers})
    require_error(got, status)
    assert ("Upgrade" in got.headers or "Sec-WebSocket-Version" in got.headers) == (status == 426)


async def test_a_handshake_with_a_body_is_none(api: Api) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    more = {**upgrade, "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    require_error(await raw(api, "GET", "api/chat/ws", headers={**api.bearer, **more}, content=b"body"), 400)


async def test_the_chat_page_without_a_login_leads_to_the_login_page(api: Api) -> None:
    got = await raw(api, "GET", "copilot/chat")
    assert (got.status_code, got.headers["Location"].split("?")[0]) == (302, f"{api.base_url}login")
    require_error(await raw(api, "POST", "copilot/chat"), 401)


async def test_a_mistake_of_ours_is_told_without_a_traceback(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(api.app, "status", broken)
    got = await api.ask("copilot/status")
    assert (got.status, got.error) == (500, {
        "message": "Internal Server Error.", "type": "server_error", "param": None, "code": 500
    })  # fmt: skip


@pytest.mark.parametrize("agent", ["no-such-agent --acp"], indirect=True)
@pytest.mark.parametrize("stream", [False, True])
async def test_where_no_agent_can_start_it_is_a_503_and_the_log_says_what_to_do(
    api: Api, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    got = await api.complete("Hello", stream=stream)
    assert (got.status, got.error["type"], got.error["code"]) == (503, "service_unavailable", 503)
    assert got.error["message"] == f"No agent was found. {LOG}"
    assert "COPILOT_KERNEL_AGENT" in caplog.text
    assert (await api.ask("v1/models")).status == 503
    assert (await api.ask("health")).body == {"status": "ok", "models_available": 0}


@pytest.mark.parametrize("demo", ["signed-out"], indirect=True)
async def test_an_agent_that_wants_a_sign_in_is_a_503_that_says_so(api: Api) -> None:
    got = await api.complete("Hello")
    assert (got.status, "Sign in" in got.error["message"]) == (503, True)


@pytest.mark.parametrize("demo", ["exit-at-start"], indirect=True)
async def test_an_agent_that_ends_at_once_is_a_503(api: Api) -> None:
    got = await api.complete("Hello")
    assert (got.status, got.headers["Retry-After"]) == (503, "10")


# -- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extension", [{}, {"request_log": True}], indirect=True)
async def test_the_log_holds_neither_prompts_nor_tokens(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        query = {"prompt": SECRET, "token": api.token}
        for path in (CHAT, "v1/nothing", "copilot/status"):
            await raw(api, "POST", path, params=query, headers=JSON, content=json.dumps({"messages": user(SECRET)}))
            await raw(api, "GET", path, params=query)
        await api.complete(f"demo: say {SECRET}")
        await api.complete([{"role": SECRET, "content": SECRET}])
    said = [record.getMessage() + str(record.exc_text or "") for record in caplog.records if ours(record)]
    assert said != []
    assert [line for line in said if SECRET in line or api.token in line] == []


def test_the_log_holds_no_entry_that_could_not_be_told(caplog: pytest.LogCaptureFixture) -> None:
    def broken(block: Any) -> None:
        raise ZeroDivisionError(SECRET)

    talk = Conversation()
    voice = Broadcaster(lambda: talk, broken, "", 1.0)
    with caplog.at_level(logging.DEBUG):
        voice.show(Attachment(3, 1, "agent", Image(SECRET, "image/png")))
    (record,) = caplog.records
    assert record.getMessage().startswith("an entry could not be told: Attachment 3: ZeroDivisionError\n")
    assert SECRET not in caplog.text


@pytest.mark.parametrize("extension", [{"request_log": True}], indirect=True)
async def test_the_log_holds_nothing_of_what_the_chat_says(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with MagicSession(api.port, api.base_url, api.token).client(f"api/chat/ws?token={api.token}") as client:
            await client.begin()
            for text in (f"demo: say {SECRET}", f"demo: error -32603 {SECRET}", f"/{SECRET}"):
                await client.say(text)
            await client.act("resume_session", session_id=SECRET)
            await client.kind("error")
            await client.raw(json.dumps({"action": SECRET}))
            await client.kind("error")
    said = [record.getMessage() + str(record.exc_text or "") for record in caplog.records if ours(record)]
    assert said != []
    assert [line for line in said if SECRET in line or api.token in line] == []


def ours(record: logging.LogRecord) -> bool:
    """Not what the client says, nor what the server says before any request: where it is, with its token."""
    return not record.name.startswith(("http", "websockets.client")) and "/?token=" not in record.getMessage()


@pytest.mark.parametrize("extension", [{"request_log": True}], indirect=True)
async def test_a_line_for_each_request_where_that_is_wanted(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await api.complete("demo: say x")
    lines = [record.getMessage() for record in caplog.records if record.getMessage().endswith(" s")]
    assert [line.partition(" in ")[0] for line in lines] == ["POST /v1/chat/completions: 200"]
