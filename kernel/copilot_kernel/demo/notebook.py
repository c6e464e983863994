"""The notebook's tools as GitHub Copilot CLI uses them: over HTTP, and after a question unless a tool only reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio

from .session import Json
from .stage import Stage, content

SERVER = "notebook"


class ToolFailed(Exception):
    """A tool could not be called, or failed; the text says why."""


@dataclass(frozen=True, slots=True)
class _Server:
    host: str
    port: int
    path: str
    headers: Mapping[str, str]


async def call(stage: Stage, tool: str, /, **arguments: Any) -> str:
    """The text of the tool's result. Raises ToolFailed, Rejected."""
    server = _find(stage)
    tools = {each["name"]: each for each in (await _post(server, "tools/list"))["tools"]}
    if tool not in tools:
        raise ToolFailed(f"The notebook has no tool `{tool}`.")
    id = await stage.begin("other", f"{SERVER}-{tool}", arguments)
    if not tools[tool]["annotations"]["readOnlyHint"]:
        await stage.ask(id, (SERVER, tool), {"title": tool, "kind": "other", "rawInput": arguments})
    result = await _post(server, "tools/call", name=tool, arguments=arguments)
    text = str(result["content"][0]["text"])
    await stage.change(id, status="failed" if result["isError"] else "completed", content=content(text))
    if result["isError"]:
        raise ToolFailed(text)
    return text


def has_notebook(stage: Stage) -> bool:
    """Whether the session came with the notebook's tools."""
    return any(_is_ours(server) for server in stage.session.servers)


async def notebook(stage: Stage, argument: str) -> None:
    """`notebook TOOL [JSON]`: calls one of the notebook's tools, and says what came of it."""
    tool, _, arguments = argument.partition(" ")
    try:
        await stage.say(await call(stage, tool, **json.loads(arguments or "{}")) + "\n")
    except ToolFailed as error:
        await stage.say(f"{tool} failed: {error}\n")


def _is_ours(server: Any) -> bool:
    return isinstance(server, dict) and (server.get("name"), server.get("type")) == (SERVER, "http")


def _find(stage: Stage) -> _Server:
    for each in filter(_is_ours, stage.session.servers):
        url = urlsplit(each["url"])
        headers = {header["name"]: header["value"] for header in each["headers"]}
        return _Server(url.hostname or "", url.port or 80, url.path, headers)
    raise ToolFailed("This session came without the notebook's tools.")


async def _post(server: _Server, method: str, **params: Any) -> Json:
    """The result of a request. Raises ToolFailed."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Host": f"{server.host}:{server.port}", "Connection": "close", "Content-Length": len(body)}
    headers |= {"Content-Type": "application/json", **server.headers}
    lines = [f"POST {server.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    received = bytearray()
    try:
        async with await anyio.connect_tcp(server.host, server.port) as stream:
            await stream.send("\r\n".join(lines).encode() + body)
            async for part in stream:
                received += part
    except OSError as error:
        raise ToolFailed(f"The notebook's server cannot be reached: {error}") from error
    _, _, text = received.partition(b"\r\n\r\n")
    try:
        answer = json.loads(text)
    except ValueError:
        raise ToolFailed("The notebook's server gave no answer.") from None
    if "error" in answer:
        raise ToolFailed(str(answer["error"]["message"]))
    return dict(answer["result"])
