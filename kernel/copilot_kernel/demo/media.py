"""Directives for content that is no plain text, and for what came with the prompt and with the session."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from . import protocol, samples
from .protocol import Json
from .script import ScriptError, unescape
from .stage import Directive, Stage

LINK = "https://example.org/demo.txt"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><circle cx="10" cy="10" r="9"/></svg>'
BLOB = bytes(range(256))
BLOCKS: Mapping[str, Json] = {
    "text": protocol.text_block("A text."),
    "image": {"type": "image", "mimeType": "image/png", "data": samples.PICTURE},
    "svg": {"type": "image", "mimeType": "image/svg+xml", "data": base64.b64encode(SVG).decode()},
    "audio": {"type": "audio", "mimeType": "audio/wav", "data": samples.sound()},
    "link": {"type": "resource_link", "uri": LINK, "name": "demo.txt", "mimeType": "text/plain", "size": 7},
    "resource": {
        "type": "resource",
        "resource": {"uri": "demo://note.txt", "mimeType": "text/plain", "text": "A note.\n"},
    },
    "blob": {
        "type": "resource",
        "resource": {
            "uri": "demo://bytes.bin",
            "mimeType": "application/octet-stream",
            "blob": base64.b64encode(BLOB).decode(),
        },
    },
}
"""One block of each kind."""


async def image(stage: Stage, argument: str) -> None:
    """`image`: a small PNG."""
    await stage.send(protocol.chunk(BLOCKS["image"]))


async def svg(stage: Stage, argument: str) -> None:
    """`svg`: a small SVG."""
    await stage.send(protocol.chunk(BLOCKS["svg"]))


async def audio(stage: Stage, argument: str) -> None:
    """`audio`: a short WAV."""
    await stage.send(protocol.chunk(BLOCKS["audio"]))


async def link(stage: Stage, argument: str) -> None:
    """`link [URI]`: a resource link."""
    uri = argument or LINK
    await stage.send(protocol.chunk({"type": "resource_link", "uri": uri, "name": uri.rpartition("/")[2]}))


async def resource(stage: Stage, argument: str) -> None:
    """`resource [TEXT]`: an embedded text."""
    embedded = {"uri": "demo://note.txt", "mimeType": "text/plain", "text": unescape(argument) or "A note.\n"}
    await stage.send(protocol.chunk({"type": "resource", "resource": embedded}))


async def blob(stage: Stage, argument: str) -> None:
    """`blob`: 256 embedded bytes."""
    await stage.send(protocol.chunk(BLOCKS["blob"]))


async def tool(stage: Stage, argument: str) -> None:
    """`tool KIND …`: a tool call with such content (text, image, svg, audio, link, resource, blob)."""
    kinds = argument.split() or list(BLOCKS)
    if unknown := set(kinds) - BLOCKS.keys():
        raise ScriptError(f"demo agent: write tool KIND …, with kinds of {', '.join(BLOCKS)}; not {', '.join(unknown)}")
    id = await stage.begin("fetch", f"Fetch {' and '.join(kinds)}", {"kinds": kinds})
    await stage.change(id, status="completed", content=[{"type": "content", "content": BLOCKS[kind]} for kind in kinds])


async def echo(stage: Stage, argument: str) -> None:
    """`echo`: says what blocks the prompt has."""
    await stage.say("\n".join(f"- {described(block)}" for block in stage.blocks))


def described(block: Any) -> str:
    """One block of a prompt in a line: type, MIME type, bytes, URI, and whatever else was said of it."""
    match block:
        case {"type": "text", "text": str(words), **more}:
            return _line(f"text: {words!r}", more)
        case {"type": "image" | "audio" as kind, "mimeType": mime, "data": str(data), **more}:
            return _line(f"{kind}: {mime}, {_size(data)}", more)
        case {"type": "resource_link", "uri": uri, **more}:
            return _line(f"resource_link: {uri}", more)
        case {"type": "resource", "resource": {"uri": uri, "text": str(words), **more}}:
            return _line(f"resource: {uri}, {words!r}", more)
        case {"type": "resource", "resource": {"uri": uri, "blob": str(data), **more}}:
            return _line(f"resource: {uri}, {_size(data)}", more)
    return f"other: {json.dumps(block)}"


def _size(data: str) -> str:
    try:
        return f"{len(base64.b64decode(data, validate=True))} bytes"
    except ValueError:
        return f"{len(data)} characters that are not base64"


def _line(words: str, more: Mapping[Any, Any]) -> str:
    return ", ".join([words, *(f"{name} {value}" for name, value in more.items() if name != "type")])


async def mcp(stage: Stage, argument: str) -> None:
    """`mcp`: says which MCP servers came with the session; of environments and headers only the names."""
    lines = [f"- {_server(server)}" for server in stage.session.servers]
    await stage.say("\n".join(lines) or "There are no MCP servers.")


def _server(server: Any) -> str:
    match server:
        case {"name": name, "command": command, "args": list(words), "env": list(env), **more} if "type" not in more:
            return f"{name}: stdio, {' '.join([command, *words])}{_names('env', env)}"
        case {"name": name, "type": "http" | "sse" as kind, "url": url, "headers": list(headers)}:
            return f"{name}: {kind}, {url}{_names('headers', headers)}"
    return f"not as the protocol has it: {json.dumps(server)}"


def _names(what: str, pairs: list[Any]) -> str:
    names = [str(pair.get("name")) for pair in pairs if isinstance(pair, dict)]
    return f", {what} {' '.join(names)}" if names else ""


MEDIA: dict[str, Directive] = {
    directive.__name__: directive for directive in (image, svg, audio, link, resource, blob, tool, echo, mcp)
}
