"""Directives that do more than send what is written: files, long and fast answers, and what came from the client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import anyio
from copilot_kernel.demo import files, scenes
from copilot_kernel.demo.directives import unescape
from copilot_kernel.demo.session import Json
from copilot_kernel.demo.stage import Directive, Stage, content

from . import samples
from .faults import numbers


def split_two(argument: str, separator: str) -> tuple[str, str]:
    """Both sides of `separator`. Raises ValueError."""
    left, right = argument.split(separator, 1)
    return left.strip(), right.strip()


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
    await slow(stage, f"{argument} 0")


async def storm(stage: Stage, argument: str) -> None:
    """`storm N [RATE]`: N updates of all kinds, most about one tool call, RATE a second (0: as fast as they go)."""
    amount, rate = numbers(argument, (1000, 0))
    id = await stage.begin("other", "A storm", {"updates": int(amount)})
    async for number in _paced(int(amount), rate):
        match number % 8:
            case 0:
                await stage.say(f"{number} ")
            case 1:
                await stage.think(f"{number} ")
            case 2:
                await stage.plan([f"Step {number}", "Then rest"])
            case _:
                await stage.change(id, status="in_progress", content=content(f"Update {number}"))
    await stage.change(id, status="completed")


async def long(stage: Stage, argument: str) -> None:
    """`long BYTES CHUNKS RATE`: markdown of that many bytes, RATE chunks a second (0: as fast as they go)."""
    size, pieces, rate = numbers(argument, (10_000, 100, 0))
    text = samples.cut(samples.passage(int(size)), int(pieces))
    async for number in _paced(len(text), rate):
        await stage.say(text[number - 1])


async def _paced(amount: int, rate: float) -> AsyncIterator[int]:
    """1, 2, … `amount`, so many a second."""
    start = anyio.current_time()
    for number in range(1, amount + 1):
        if rate:
            await anyio.sleep(max(0.0, start + number / rate - anyio.current_time()))
        yield number


async def remember(stage: Stage, argument: str) -> None:
    """`remember`: says how many prompts this session has had, and the first."""
    await scenes.remember(stage)


async def commands(stage: Stage, argument: str) -> None:
    """`commands [NAME …]`: other slash commands; none without names."""
    made = [{"name": name, "description": f"The {name} command"} for name in argument.split()]
    await stage.send({"sessionUpdate": "available_commands_update", "availableCommands": made})


# -- what came from the client ---------------------------------------------------------------------------------------


async def echo(stage: Stage, argument: str) -> None:
    """`echo`: says what blocks the prompt has."""
    await stage.say("\n".join(f"- {described(block)}" for block in stage.blocks))


def described(block: Json) -> str:
    """One block of a prompt in a line: its text, or where it is, or what it holds."""
    match block:
        case {"type": "text", "text": words}:
            return f"text: {words!r}"
        case {"type": "resource", "resource": {"uri": uri, **more}}:
            return f"resource: {uri}, {more.get('text')!r}"
        case {"type": "resource_link", "uri": uri, "name": name}:
            return f"resource_link: {uri}, name {name}"
    return f"{block['type']}: {block.get('mimeType')}"


async def mcp(stage: Stage, argument: str) -> None:
    """`mcp`: says which MCP servers came with the session; of environments and headers only the names."""
    lines = [f"- {_server(server)}" for server in stage.session.servers]
    await stage.say("\n".join(lines) or "There are no MCP servers.")


def _server(server: Json) -> str:
    kept = [each["name"] for each in server.get("env") or server.get("headers") or ()]
    where = server.get("url") or " ".join([server["command"], *server["args"]])
    return f"{server['name']}: {server.get('type', 'stdio')}, {where}{', env ' if kept else ''}{' '.join(kept)}"


DIRECTIVES: Mapping[str, Directive] = {
    directive.__name__: directive
    for directive in (slow, plan, edit, create, unasked, flood, storm, long, remember, commands, echo, mcp)
}
"""Directives by name."""
