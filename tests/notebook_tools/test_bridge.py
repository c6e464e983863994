"""The bridge as a process, with the official client at its pipes."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from copilot_kernel.notebook import bridge, server
from copilot_kernel.notebook.server import Endpoint, NotebookServer
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

from ..limits import LIMIT
from .test_server import IMAGE, FakeTools


def written(folder: Path, endpoint: Endpoint, mode: int = 0o600) -> StdioServerParameters:
    file = folder / "endpoint.json"
    file.write_text(json.dumps({"url": endpoint.url, "token": endpoint.token}))
    file.chmod(mode)
    return StdioServerParameters(command=sys.executable, args=["-I", "-S", bridge.__file__, str(file)], env={})


async def test_the_official_client_lists_calls_and_cancels_over_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STREAM_AFTER_SECONDS", 0.01)  # so that the late answer is a stream of events
    running, tools = NotebookServer(), FakeTools()
    parameters = written(tmp_path, await running.register(tools))
    late: list[Any] = []
    with anyio.fail_after(LIMIT):
        async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
            await client.initialize()
            assert [tool.name for tool in (await client.list_tools()).tools] == ["say", "wait", "break"]

            async def wait() -> None:
                late.append(await client.call_tool("wait", {}))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await tools.begun.wait()
                assert (await client.call_tool("say", {})).content[0].text == "hello"
                tools.go.set()
            assert late[0].content[0].text == "hello"
            tools.begun, tools.go = anyio.Event(), anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await tools.begun.wait()
                tasks.cancel_scope.cancel()
            await tools.cancelled.wait()
            await running.close()
            with pytest.raises(MCPError, match="the notebook's kernel has ended"):
                await client.call_tool("say", {})


async def test_too_many_requests_at_once_fail_and_later_ones_do_not(tmp_path: Path) -> None:
    running, tools = NotebookServer(), FakeTools()
    parameters = written(tmp_path, await running.register(tools))
    refused = set[str]()
    with anyio.fail_after(LIMIT):
        async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
            await client.initialize()

            async def wait() -> None:
                try:
                    await client.call_tool("wait", {})
                except MCPError as error:
                    refused.add(str(error))
                    tools.go.set()

            async with anyio.create_task_group() as tasks:
                for _ in range(bridge.MAX_REQUESTS + 1):
                    tasks.start_soon(wait)
            assert refused == {bridge.TOO_MANY}
            assert (await client.call_tool("say", {})).content[0].text == "hello"
            await running.close()


async def test_large_images_arrive_and_arguments_that_are_too_large_fail(tmp_path: Path) -> None:
    running = NotebookServer()
    parameters = written(tmp_path, await running.register(FakeTools("a figure", IMAGE)))
    with anyio.fail_after(LIMIT):
        async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
            await client.initialize()
            with pytest.raises(MCPError, match="the message is too long"):
                await client.call_tool("say", {"code": "x" * 50_000_000})
            content = (await client.call_tool("say", {})).content
            assert content[1].data == IMAGE["data"]
            await running.close()


@pytest.mark.parametrize("mode", [0o644, 0o640])
async def test_a_token_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    parameters = written(tmp_path, Endpoint("http://127.0.0.1:1/mcp", "token"), mode)
    with anyio.fail_after(LIMIT):
        done = await anyio.run_process([parameters.command, *parameters.args], input=b"{}\n", check=False)
    assert (done.returncode, done.stdout, b"others can read" in done.stderr) == (1, b"", True)


async def test_it_needs_nothing_but_the_standard_library() -> None:
    code = f"import runpy, sys; runpy.run_path({bridge.__file__!r}); print([n for n in sys.modules if 'copilot' in n])"
    with anyio.fail_after(LIMIT):
        done = await anyio.run_process([sys.executable, "-I", "-S", "-c", code], env=dict(os.environ))
    assert done.stdout == b"[]\n"
