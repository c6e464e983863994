"""The notebook's tools as GitHub Copilot CLI uses them: over HTTP, and after a question unless a tool only reads."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import anyio

from .demo_session import Json
from .stage import Stage, content

SERVER = "notebook"


class ToolFailed(Exception):
    """A tool could not be called, or failed; the text says why."""


async def call(stage: Stage, tool: str, /, **arguments: Any) -> str:
    """The text of the tool's result. Raises ToolFailed, Rejected."""
    server = next(filter(_is_ours, stage.session.servers), None)
    if server is None:
        raise ToolFailed("This session came without the notebook's tools.")
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
    """True if the session came with the notebook's tools."""
    return any(_is_ours(server) for server in stage.session.servers)


def _is_ours(server: Any) -> bool:
    return isinstance(server, dict) and (server.get("name"), server.get("type")) == (SERVER, "http")


async def _post(server: Json, method: str, **params: Any) -> Json:
    """The result of a request. Raises ToolFailed."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    url = urlsplit(server["url"])
    headers = {"Host": url.netloc, "Connection": "close", "Content-Length": len(body)}
    headers |= {"Content-Type": "application/json", **{each["name"]: each["value"] for each in server["headers"]}}
    lines = [f"POST {url.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    received = bytearray()
    try:
        async with await anyio.connect_tcp(url.hostname or "", url.port or 80) as stream:
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
