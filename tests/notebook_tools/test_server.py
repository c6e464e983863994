"""The server on a real socket: what an official client gets of it, and what it refuses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from copilot_kernel.notebook import loopback_http, server
from copilot_kernel.notebook.calls import UnknownTool
from copilot_kernel.notebook.mcp_session import VERSIONS
from copilot_kernel.notebook.server import Endpoint, NotebookServer
from copilot_kernel.notebook.tools import INSTRUCTIONS
from mcp import Client, ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from ..limits import LIMIT

Json = dict[str, Any]


IMAGE: Json = {"type": "image", "data": "A" * 6_000_000, "mimeType": "image/png"}


class FakeTools:
    """One tool that answers at once, one that waits, one that breaks. Answers come with `images`."""

    def __init__(self, says: str = "hello", *images: Json) -> None:
        self.says, self.images = says, images
        self.begun, self.go, self.cancelled = anyio.Event(), anyio.Event(), anyio.Event()

    def listing(self) -> list[Json]:
        return [{"name": name, "inputSchema": {"type": "object"}} for name in ("say", "wait", "break")]

    async def call(self, name: str, given: Any) -> Json:
        if name == "break":
            raise ValueError("hunter2")
        if name == "wait":
            self.begun.set()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        elif name != "say":
            raise UnknownTool(f"no {name}")
        return {"content": [{"type": "text", "text": self.says}, *self.images], "isError": False}


@pytest.fixture
async def served() -> AsyncIterator[NotebookServer]:
    running = NotebookServer()
    with anyio.fail_after(LIMIT):
        yield running
        await running.close()


@pytest.fixture
def tools() -> FakeTools:
    return FakeTools()


@pytest.fixture
async def endpoint(served: NotebookServer, tools: FakeTools) -> Endpoint:
    return await served.register(tools)


def message(method: str, id: Any = 1, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


CALL = message("tools/call", name="say", arguments={})


async def post(endpoint: Endpoint, body: Any = CALL, **headers: str) -> httpx2.Response:
    """One request; a header that is empty is not sent."""
    given = {
        "Authorization": f"Bearer {endpoint.token}",
        **{name.replace("_", "-"): each for name, each in headers.items()},
    }
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx2.AsyncClient(verify=False) as client:
        return await client.post(endpoint.url, content=content, headers={k: v for k, v in given.items() if v})


async def connected(endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(endpoint.url.split(":")[2].partition("/")[0]))


async def raw(endpoint: Endpoint, data: bytes, *, ends: bool = False) -> bytes:
    """What comes back, until the server closes the connection; with `ends`, nothing follows the data."""
    reader, writer = await connected(endpoint)
    writer.write(data)
    if ends:
        writer.write_eof()
    try:
        return await reader.read()
    finally:
        writer.close()


def head(endpoint: Endpoint, *more: str, method: str = "POST", path: str = "/mcp") -> bytes:
    host = endpoint.url.split("/")[2]
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {endpoint.token}", *more)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@asynccontextmanager
async def client_of(endpoint: Endpoint, **more: Any) -> AsyncIterator[ClientSession]:
    """The official client, initialized."""
    async with (
        httpx2.AsyncClient(headers=dict(endpoint.headers), verify=False) as http,
        streamable_http_client(endpoint.url, http_client=http) as streams,
        ClientSession(streams[0], streams[1], **more) as session,
    ):
        await session.initialize()
        yield session


# -- the official client ----------------------------------------------------------------------------------------------


async def test_the_official_client_lists_and_calls(served: NotebookServer, endpoint: Endpoint) -> None:
    assert not served.is_listed(endpoint)
    async with client_of(endpoint) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["say", "wait", "break"]
        result = await client.call_tool("say", {})
        assert [block.text for block in result.content if block.type == "text"] == ["hello"]
        with pytest.raises(MCPError, match="no such"):
            await client.call_tool("such", {})
    assert served.is_listed(endpoint)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_the_official_client_of_each_version_is_told_what_the_tools_are_for(
    endpoint: Endpoint, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", version)
    async with client_of(endpoint) as client:
        assert (client.protocol_version, client.instructions) == (version, INSTRUCTIONS)
        assert not (await client.call_tool("say", {})).is_error


async def test_an_official_client_of_a_newer_version_agrees_on_ours(endpoint: Endpoint) -> None:
    async with (
        httpx2.AsyncClient(headers=dict(endpoint.headers), verify=False) as http,
        Client(streamable_http_client(endpoint.url, http_client=http), mode="auto") as client,
    ):
        assert (client.protocol_version, LATEST_MODERN_VERSION in VERSIONS) == (VERSIONS[0], False)
        assert not (await client.call_tool("say", {})).is_error


async def test_the_official_client_gets_a_late_answer_and_progress_until_then(
    tools: FakeTools, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STREAM_AFTER_SECONDS", 0.01)
    monkeypatch.setattr(server, "HEARTBEAT_SECONDS", 0.01)
    beats = 0

    async def progress(done: float, total: float | None, words: str | None) -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            tools.go.set()

    async with client_of(endpoint) as client:
        result = await client.call_tool("wait", {}, progress_callback=progress)
    assert (result.content[0].text, beats >= 3) == ("hello", True)


@pytest.mark.parametrize("tool", ["say", "wait"])
async def test_large_images_arrive_in_an_answer_and_in_a_stream(
    served: NotebookServer, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    monkeypatch.setattr(server, "STREAM_AFTER_SECONDS", 0.01)
    tools = FakeTools("a figure", IMAGE)
    async with client_of(await served.register(tools)) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(_let_go, tools)
        content = (await client.call_tool(tool, {})).content
        tasks.cancel_scope.cancel()
    assert [block.type for block in content] == ["text", "image"]
    assert content[1].data == IMAGE["data"]


async def _let_go(tools: FakeTools) -> None:
    await tools.begun.wait()
    tools.go.set()


async def test_arguments_that_are_too_large_fail_and_the_next_call_works(endpoint: Endpoint) -> None:
    async with client_of(endpoint) as client:
        with pytest.raises(MCPError):
            await client.call_tool("say", {"code": "x" * 50_000_000})
        assert not (await client.call_tool("say", {})).is_error


async def test_without_a_wish_for_progress_there_are_comments(
    tools: FakeTools, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STREAM_AFTER_SECONDS", 0.0)
    headers = {**dict(endpoint.headers), "Accept": "text/event-stream"}
    async with (
        httpx2.AsyncClient(headers=headers, verify=False) as http,
        http.stream("POST", endpoint.url, json=message("tools/call", name="wait")) as response,
    ):
        lines = response.aiter_lines()
        assert await anext(lines) == ": waiting"
        tools.go.set()
        assert [line async for line in lines if line.startswith("data: ")] == [
            'data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}],"isError":false}}'
        ]


async def test_a_call_is_cancelled_on_request_and_others_go_on(tools: FakeTools, endpoint: Endpoint) -> None:
    answers: list[Json] = []

    async def call() -> None:
        answers.append((await post(endpoint, message("tools/call", "a", name="wait"))).json())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await tools.begun.wait()
        assert (await post(endpoint)).json()["result"]["content"][0]["text"] == "hello"
        twice = (await post(endpoint, message("ping", "a"))).json()
        assert twice["error"]["code"] == -32600
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}
        assert (await post(endpoint, notice)).status_code == 202
    assert (answers[0]["id"], answers[0]["error"]["code"], tools.cancelled.is_set()) == ("a", -32800, True)


# -- JSON-RPC ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[" * 100_000, -32700),
        (b"\xff", -32700),
        ([CALL], -32600),
        (7, -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        (message("ping", id=None), -32600),
        (message("ping", id=True), -32600),
        (message("ping", id=[]), -32600),
        (message("server/discover"), -32601),
        (message("resources/list"), -32601),
        (message("tools/call", name=["say"]), -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1]}, -32602),
    ],
)
async def test_what_is_no_request_gets_an_error(endpoint: Endpoint, body: Any, code: int) -> None:
    assert (await post(endpoint, body)).json()["error"]["code"] == code


@pytest.mark.parametrize(
    ("asked", "answered"), [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999", "2025-11-25")]
)
async def test_initialize_answers_with_the_version_that_was_asked(
    endpoint: Endpoint, asked: str, answered: str
) -> None:
    result = (await post(endpoint, message("initialize", protocolVersion=asked))).json()["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == (answered, "notebook")


async def test_a_tool_that_breaks_says_so_without_its_message(endpoint: Endpoint) -> None:
    response = await post(endpoint, message("tools/call", name="break"))
    assert (response.json()["result"]["isError"], "hunter2" in response.text) == (True, False)


# -- who is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Authorization": "Bearer {token}x"}, 401),
        ({"Origin": "http://localhost:8888"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 403),
        ({"Host": "LOCALHOST:{port}"}, 200),
    ],
)
async def test_a_request_needs_token_and_host_and_no_origin(
    endpoint: Endpoint, headers: dict[str, str], status: int
) -> None:
    port = endpoint.url.split(":")[2].partition("/")[0]
    given = {name: each.format(token=endpoint.token, port=port) for name, each in headers.items()}
    assert (await post(endpoint, **given)).status_code == status


async def test_each_session_has_a_token_of_its_own_that_ends_with_it(served: NotebookServer) -> None:
    one, other = [await served.register(FakeTools(says)) for says in ("one", "other")]
    assert len(one.token) * 4 >= 128
    assert one.token not in repr(one)
    for endpoint, says in ((one, "one"), (other, "other")):
        assert (await post(endpoint)).json()["result"]["content"][0]["text"] == says
    served.unregister(one)
    assert ((await post(one)).status_code, (await post(other)).status_code) == (401, 200)


async def test_the_end_of_a_session_cancels_its_calls(
    served: NotebookServer, tools: FakeTools, endpoint: Endpoint
) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(post, endpoint, message("tools/call", name="wait"))
        await tools.begun.wait()
        served.unregister(endpoint)
        await tools.cancelled.wait()


@pytest.mark.parametrize(
    ("more", "method", "path", "status"),
    [
        ((), "GET", "/mcp", 405),
        ((), "DELETE", "/mcp", 405),
        ((), "POST", "/", 404),
        ((), "POST", "/mcp", 411),
        (("Content-Length: -1",), "POST", "/mcp", 411),
        (("Content-Length: 1e9",), "POST", "/mcp", 411),
        (("Transfer-Encoding: chunked", "Content-Length: 2"), "POST", "/mcp", 400),
        (("Transfer-Encoding: gzip, chunked",), "POST", "/mcp", 400),
        (("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "POST", "/mcp", 400),
        (("Content-Length: 50000000",), "POST", "/mcp", 413),
        (("Content-Length: 2", "Content-Length: 3"), "POST", "/mcp", 400),
        (("Host: evil.example",), "POST", "/mcp", 400),
        (("no header",), "POST", "/mcp", 400),
        ((f"X: {'x' * 20_000}",), "POST", "/mcp", 431),
    ],
)
async def test_what_is_no_plain_post_is_refused_before_its_body(
    endpoint: Endpoint, more: tuple[str, ...], method: str, path: str, status: int
) -> None:
    answer = await raw(endpoint, head(endpoint, *more, method=method, path=path))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


PING = json.dumps(message("ping")).encode()


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_a_body_in_chunks_is_read_and_the_next_request_follows(endpoint: Endpoint, size: int) -> None:
    pieces = [PING[at : at + size] for at in range(0, len(PING), size)]
    chunks = b"".join(b"%X;a=b\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    one = head(endpoint, "Transfer-Encoding: Chunked") + chunks + b"0\r\nTrailer: x\r\n\r\n"
    two = head(endpoint, f"Content-Length: {len(PING)}", "Connection: close") + PING
    assert (await raw(endpoint, one + two)).count(b'{"jsonrpc":"2.0","id":1,"result":{}}') == 2


async def test_a_client_may_send_chunks(endpoint: Endpoint) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield PING[:9]
        yield PING[9:]

    async with httpx2.AsyncClient(headers=dict(endpoint.headers), verify=False) as client:
        assert (await client.post(endpoint.url, content=pieces())).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    ("chunks", "status"),
    [
        (b"x\r\n", 400),
        (b"-1\r\n", 400),
        (b"0x1\r\n", 400),
        (b"1\n", 400),
        (b"\r\n", 400),
        (b"111111111\r\n", 400),
        (b"1\r\nab\r\n", 400),
        (b"1;" + b"a" * 50_000 + b"\r\n", 400),
        (b"ff\r\nab", 400),
        (b"FFFFFF\r\n", 413),
        (b"200000\r\n" + b" " * 0x200000 + b"\r\n7FFFFF\r\n", 413),
    ],
)
async def test_what_is_no_chunk_or_too_much_is_refused(endpoint: Endpoint, chunks: bytes, status: int) -> None:
    answer = await raw(endpoint, head(endpoint, "Transfer-Encoding: chunked") + chunks, ends=True)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


async def test_who_has_no_token_is_not_read_further(endpoint: Endpoint) -> None:
    answer = await raw(endpoint, head(Endpoint(endpoint.url, "forged"), "Content-Length: 1000"))
    assert answer.startswith(b"HTTP/1.1 401 ")


async def test_silence_is_bounded(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(loopback_http, "BODY_SECONDS", 0.05)
    assert (await raw(endpoint, b"POST ")).startswith(b"HTTP/1.1 408 ")
    for more in ("Content-Length: 9", "Transfer-Encoding: chunked"):
        assert (await raw(endpoint, head(endpoint, more))).startswith(b"HTTP/1.1 408 ")


async def test_connections_are_bounded_and_free_again(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    body = json.dumps(message("ping")).encode()
    held = [await connected(endpoint) for _ in range(2)]
    for reader, writer in held:
        writer.write(head(endpoint, f"Content-Length: {len(body)}") + body)
        await reader.readline()
    assert (await post(endpoint)).status_code == 503
    for _, writer in held:
        writer.close()
        await writer.wait_closed()
    while (await post(endpoint)).status_code == 503:  # until it has heard of that
        pass


async def test_who_sends_no_token_keeps_nobody_out(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_CONNECTIONS", "MAX_UNAUTHENTICATED"):
        monkeypatch.setattr(server, name, 2, raising=False)
    refused = await connected(endpoint)
    refused[1].write(b"GET / HTTP/1.1\r\n\r\n")
    assert b"403" in await refused[0].readline()
    held = [refused, *[await connected(endpoint) for _ in range(4)]]
    assert (await post(endpoint)).status_code == 200
    assert [(await reader.read())[-4:] for reader, _ in held[:3]] == [b"\r\n\r\n", b"", b""]
    assert not held[-1][0].at_eof()
    for _, writer in held:
        writer.close()


async def test_one_connection_carries_many_requests(endpoint: Endpoint) -> None:
    body = json.dumps(message("ping")).encode()
    asked = head(endpoint, f"Content-Length: {len(body)}") + body
    last = head(endpoint, f"Content-Length: {len(body)}", "Connection: close") + body
    assert (await raw(endpoint, asked * 3 + last)).count(b"HTTP/1.1 200 OK") == 4
    assert (await raw(endpoint, last + asked)).count(b"HTTP/1.1 200 OK") == 1


async def test_after_the_end_nobody_listens_and_no_call_runs() -> None:
    running, tools = NotebookServer(), FakeTools()
    endpoint = await running.register(tools)
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(httpx2.TransportError):
                    await post(endpoint, message("tools/call", name="wait"))

            tasks.start_soon(call)
            await tools.begun.wait()
            await running.close()
        assert tools.cancelled.is_set()
        with pytest.raises(OSError, match="onnect"):
            await raw(endpoint, b"")
