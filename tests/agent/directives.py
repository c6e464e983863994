"""Directives that only tests need: more text, content that is no text, other ends of a turn, and trouble."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from copilot_kernel.acp.jsonrpc import RequestFailed
from copilot_kernel.demo import files, scenes
from copilot_kernel.demo.directives import ScriptError, unescape
from copilot_kernel.demo.session import Json
from copilot_kernel.demo.stage import CONTEXT_TOKENS, Directive, Stage, TurnEnded, chunk, content, text_block

from . import samples


def split_two(argument: str, separator: str) -> tuple[str, str]:
    """Both sides of `separator`. Raises ValueError."""
    left, right = argument.split(separator, 1)
    return left.strip(), right.strip()


def numbers(argument: str, defaults: Sequence[float]) -> list[float]:
    """The numbers in `argument`, with `defaults` for those left out. Raises ValueError."""
    given = [float(word) for word in argument.split()[: len(defaults)]]
    return [*given, *defaults[len(given) :]]


async def text(stage: Stage, argument: str) -> None:
    """`text TEXT`: the same, word by word with short pauses."""
    await stage.stream(unescape(argument))


async def think(stage: Stage, argument: str) -> None:
    """`think TEXT`: one chunk of a thought."""
    await stage.think(unescape(argument))


async def slow(stage: Stage, argument: str) -> None:
    """`slow N [SECONDS]`: N chunks, that many seconds apart (0.2)."""
    amount, seconds = numbers(argument, (10, 0.2))
    for number in range(1, int(amount) + 1):
        await stage.say(f"{number} ")
        await anyio.sleep(seconds)


async def plan(stage: Stage, argument: str) -> None:
    """`plan A;B;C [/ DONE]`: the whole plan, of which DONE steps are done (0)."""
    words, _, number = argument.partition(" / ")
    (done,) = numbers(number, (0,))
    await stage.plan([step.strip() for step in words.split(";") if step.strip()], int(done))


async def edit(stage: Stage, argument: str) -> None:
    """`edit PATH OLD => NEW`: changes a file, after a question."""
    name, change = split_two(argument, " ")
    old, new = split_two(change, "=>")
    await files.edit(stage, name, unescape(old), unescape(new))


async def create(stage: Stage, argument: str) -> None:
    """`create PATH TEXT`: writes a file, after a question."""
    name, words = split_two(argument, " ")
    path, text = stage.session.cwd / name, unescape(words)
    where: Json = {"locations": [{"path": str(path)}]}
    diff = [{"type": "diff", "path": str(path), "oldText": None, "newText": text}]
    id = await stage.begin("edit", f"Create {name}", {"path": str(path)}, content=diff, **where)
    raw_input = {"fileName": str(path), "diff": files.unified(name, "", text)}
    await stage.ask(id, ("edit", ""), {"title": "Create file", "kind": "edit", "rawInput": raw_input, **where})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    await stage.change(id, status="completed", content=diff)


async def unasked(stage: Stage, argument: str) -> None:
    """`unasked CMD`: runs a command without asking, as if it were always allowed."""
    stage.session.allowed.add(("execute", argument))
    await files.shell(stage, argument)


async def flood(stage: Stage, argument: str) -> None:
    """`flood N`: N tiny chunks (`1 `, `2 `, …), as fast as they go."""
    for number in range(1, int(numbers(argument, (1000,))[0]) + 1):
        await stage.say(f"{number} ")


async def storm(stage: Stage, argument: str) -> None:
    """`storm N [RATE]`: N updates of all kinds, most about one tool call, RATE a second (0: as fast as they go)."""
    amount, rate = numbers(argument, (1000, 0))
    id = await stage.begin("other", "A storm", {"updates": int(amount)})
    start = anyio.current_time()
    for number in range(1, int(amount) + 1):
        if rate:
            await anyio.sleep(max(0.0, start + number / rate - anyio.current_time()))
        await _blow(stage, id, number)
    await stage.change(id, status="completed")


async def _blow(stage: Stage, id: str, number: int) -> None:
    match number % 8:
        case 0:
            await stage.say(f"{number} ")
        case 1:
            await stage.think(f"{number} ")
        case 2:
            await stage.plan([f"Step {number}", "Then rest"], number % 2)
        case _:
            await stage.change(id, status="in_progress", content=content(f"Update {number}"))


async def long(stage: Stage, argument: str) -> None:
    """`long BYTES CHUNKS RATE`: markdown of that many bytes, RATE chunks a second (0: as fast as they go)."""
    size, pieces, rate = numbers(argument, (10_000, 100, 0))
    start = anyio.current_time()
    for number, piece in enumerate(samples.cut(samples.passage(int(size)), int(pieces))):
        if rate:
            await anyio.sleep(max(0.0, start + number / rate - anyio.current_time()))
        await stage.say(piece)


async def remember(stage: Stage, argument: str) -> None:
    """`remember`: says how many prompts this session has had, and the first."""
    await scenes.remember(stage)


async def late(stage: Stage, argument: str) -> None:
    """`late TEXT`: a chunk that comes after the prompt's answer."""
    stage.afterwards.append(chunk(text_block(unescape(argument) or "demo agent: one more thing")))


async def notice(stage: Stage, argument: str) -> None:
    """`notice SEVERITY TITLE[: DESCRIPTION]`: a notice."""
    severity, _, words = argument.partition(" ")
    title, _, description = words.partition(": ")
    more = {"description": description} if description else {}
    await stage.send({"sessionUpdate": "notice", "severity": severity or "info", "title": title or "A notice", **more})


async def usage(stage: Stage, argument: str) -> None:
    """`usage USED [SIZE]`: the context used."""
    used, size = numbers(argument, (1000, CONTEXT_TOKENS))
    await stage.send({"sessionUpdate": "usage_update", "used": int(used), "size": int(size)})


async def mode(stage: Stage, argument: str) -> None:
    """`mode ID`: changes the session's mode by itself; ID may lack the part that all have in common."""
    ids = stage.session.menu(stage.session.chosen)[0].values
    stage.session.choose("mode", next(id for id in ids if id.endswith(argument or "plan")))
    await stage.send(stage.session.mode_update())


async def commands(stage: Stage, argument: str) -> None:
    """`commands [NAME …]`: other slash commands; none without names."""
    made = [{"name": name, "description": f"The {name} command"} for name in argument.split()]
    await stage.send({"sessionUpdate": "available_commands_update", "availableCommands": made})


# -- content ---------------------------------------------------------------------------------------------------------

LINK = "https://example.org/demo.txt"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><circle cx="10" cy="10" r="9"/></svg>'
BLOB = bytes(range(256))
BLOCKS: Mapping[str, Json] = {
    "text": text_block("A text."),
    "image": {"type": "image", "mimeType": "image/png", "data": scenes.PICTURE},
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
    await stage.send(chunk(BLOCKS["image"]))


async def svg(stage: Stage, argument: str) -> None:
    """`svg`: a small SVG."""
    await stage.send(chunk(BLOCKS["svg"]))


async def audio(stage: Stage, argument: str) -> None:
    """`audio`: a short WAV."""
    await stage.send(chunk(BLOCKS["audio"]))


async def link(stage: Stage, argument: str) -> None:
    """`link [URI]`: a resource link."""
    uri = argument or LINK
    await stage.send(chunk({"type": "resource_link", "uri": uri, "name": uri.rpartition("/")[2]}))


async def resource(stage: Stage, argument: str) -> None:
    """`resource [TEXT]`: an embedded text."""
    embedded = {"uri": "demo://note.txt", "mimeType": "text/plain", "text": unescape(argument) or "A note.\n"}
    await stage.send(chunk({"type": "resource", "resource": embedded}))


async def blob(stage: Stage, argument: str) -> None:
    """`blob`: 256 embedded bytes."""
    await stage.send(chunk(BLOCKS["blob"]))


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


# -- ends ------------------------------------------------------------------------------------------------------------


async def stop(stage: Stage, argument: str) -> None:
    """`stop REASON`: ends the turn with any stop reason."""
    raise TurnEnded(argument or "end_turn")


async def refuse(stage: Stage, argument: str) -> None:
    """`refuse`: ends the turn with the stop reason `refusal`."""
    raise TurnEnded("refusal")


async def error(stage: Stage, argument: str) -> None:
    """`error CODE MESSAGE`: a JSON-RPC error as the prompt's answer."""
    code, _, message = argument.partition(" ")
    (number,) = numbers(code, (-32603,))
    raise RequestFailed(int(number), message or "demo agent: an error, as you asked", None)


async def die(stage: Stage, argument: str) -> None:
    """`die [SIGNAL or exit code]`: ends the process (1)."""
    number = signal.Signals.__members__.get(f"SIG{argument.removeprefix('SIG')}")
    sys.stderr.write(f"demo agent: ending now, as I was asked to ({argument or 'exit code 1'})\n")
    sys.stderr.flush()
    if number is not None:
        os.kill(os.getpid(), number)
    os._exit(int(argument or 1))


async def wait(stage: Stage, argument: str) -> None:
    """`wait [SECONDS]`: silence; for ever without a number."""
    (seconds,) = numbers(argument, (float("inf"),))
    await anyio.sleep(seconds)


async def silent(stage: Stage, argument: str) -> None:
    """`silent SECONDS`: says nothing for that time, then that it is back."""
    (seconds,) = numbers(argument, (11,))
    await anyio.sleep(seconds)
    await stage.say("The demo agent is back.")


async def hang(stage: Stage, argument: str) -> None:
    """`hang [TEXT]`: TEXT, then silence that no cancel ends, only the end of the connection."""
    with anyio.CancelScope(shield=True):
        if argument:
            await stage.say(unescape(argument))
        await stage.client.closed.wait()


async def rawline(stage: Stage, argument: str) -> None:
    """`rawline TEXT`: that line on the wire, as it is."""
    await stage.client.transport.send(unescape(argument).encode() + b"\n")


async def stderr(stage: Stage, argument: str) -> None:
    """`stderr TEXT`: a line on stderr."""
    sys.stderr.write(unescape(argument) + "\n")
    sys.stderr.flush()


MORE: Mapping[str, Directive] = {
    "text": text,
    "think": think,
    "slow": slow,
    "plan": plan,
    "edit": edit,
    "create": create,
    "unasked": unasked,
    "flood": flood,
    "storm": storm,
    "long": long,
    "remember": remember,
    "late": late,
    "notice": notice,
    "usage": usage,
    "mode": mode,
    "commands": commands,
    "image": image,
    "svg": svg,
    "audio": audio,
    "link": link,
    "resource": resource,
    "blob": blob,
    "tool": tool,
    "echo": echo,
    "mcp": mcp,
    "stop": stop,
    "refuse": refuse,
    "error": error,
    "die": die,
    "wait": wait,
    "silent": silent,
    "hang": hang,
    "rawline": rawline,
    "stderr": stderr,
}
