"""Directives that use what the client offers: its files and its terminals; never what it did not offer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from copilot_kernel.demo.directives import unescape
from copilot_kernel.demo.session import Json
from copilot_kernel.demo.stage import Directive, Stage, content
from copilot_kernel.errors import AgentRefused

from .directives import numbers, split_two

OUTPUT_LIMIT = 100_000
"""Bytes of a terminal's output that the client shall keep."""


class _NotOffered(Exception):
    """The client does not have this; the text says what."""


async def fsread(stage: Stage, argument: str) -> None:
    """`fsread PATH [LINE [LIMIT]]`: reads a text file by the client, and says what is in it."""
    name, _, rest = argument.partition(" ")
    line, limit = numbers(rest, (0, 0))
    range = {key: int(value) for key, value in (("line", line), ("limit", limit)) if value}
    path = str(stage.session.cwd / name)
    id = await stage.begin("read", f"Read {name}", {"path": path, **range}, locations=[{"path": path}])
    answer = await _call(stage, id, "fs/read_text_file", path=path, **range)
    if answer is not None:
        await _done(stage, id, f"{answer.get('content')!r}")


async def fswrite(stage: Stage, argument: str) -> None:
    """`fswrite PATH TEXT`: writes a text file by the client, without a question of its own."""
    await _write(stage, argument, asks=False)


async def fswrite_asked(stage: Stage, argument: str) -> None:
    """`fswrite-asked PATH TEXT`: the same, after a question."""
    await _write(stage, argument, asks=True)


async def _write(stage: Stage, argument: str, asks: bool) -> None:
    name, words = split_two(argument, " ")
    path, text = str(stage.session.cwd / name), unescape(words)
    shown = [{"type": "diff", "path": path, "oldText": None, "newText": text}]
    where: Json = {"locations": [{"path": path}]}
    id = await stage.begin("edit", f"Write {name}", {"path": path}, content=shown, **where)
    if asks:
        await stage.ask(id, ("edit", ""), {"title": f"Write {name}", "kind": "edit", "content": shown, **where})
    if await _call(stage, id, "fs/write_text_file", path=path, content=text) is not None:
        await _done(stage, id, f"{name} is written", *shown)


async def terminal(stage: Stage, argument: str) -> None:
    """`terminal CMD`: runs a command in a terminal of the client's, and says how it ended."""
    await _run(stage, argument)


async def terminal_asked(stage: Stage, argument: str) -> None:
    """`terminal-asked CMD`: the same, after a question."""
    await _run(stage, argument, asks=True)


async def terminal_left(stage: Stage, argument: str) -> None:
    """`terminal-left CMD`: starts a command in a terminal of the client's, and forgets it there."""
    id = await stage.begin("execute", f"Run {argument}", {"command": argument})
    if (made := await _create(stage, id, argument)) is not None:
        await _done(stage, id, "left running", _shown(made))


async def _run(stage: Stage, command: str, asks: bool = False) -> None:
    id = await stage.begin("execute", f"Run {command}", {"command": command})
    if asks:
        question = {"title": f"Run {command}", "kind": "execute", "rawInput": {"command": command}}
        await stage.ask(id, ("execute", command), question)
    if (made := await _create(stage, id, command)) is None:
        return
    async with _released(stage, made):
        await stage.change(id, status="in_progress", content=[_shown(made)])
        ended = await _ask_client(stage, "terminal/wait_for_exit", terminalId=made)
        output = await _ask_client(stage, "terminal/output", terminalId=made)
        await _done(stage, id, f"{_exit(ended)}, output {output.get('output')!r}{_cut(output)}", _shown(made))


async def _create(stage: Stage, id: str, command: str) -> str | None:
    answer = await _call(
        stage,
        id,
        "terminal/create",
        command="/bin/sh",
        args=["-c", command],
        env=[{"name": "DEMO_AGENT", "value": "1"}],
        cwd=str(stage.session.cwd),
        outputByteLimit=OUTPUT_LIMIT,
    )
    return None if answer is None else str(answer.get("terminalId"))


@asynccontextmanager
async def _released(stage: Stage, terminal: str) -> AsyncIterator[None]:
    """Also when the turn is cancelled: what runs is then killed by the release."""
    try:
        yield
    finally:
        with anyio.move_on_after(2, shield=True), suppress(AgentRefused):
            await _ask_client(stage, "terminal/release", terminalId=terminal)


async def _call(stage: Stage, id: str, method: str, **params: Any) -> Json | None:
    """The answer; None after the tool call `id` has failed."""
    try:
        _require(stage, method)
        return await _ask_client(stage, method, **params)
    except (AgentRefused, _NotOffered) as error:
        await stage.change(id, status="failed", content=content(str(error)))
        await stage.say(f"{method} failed: {error}\n")
        return None


async def _ask_client(stage: Stage, method: str, **params: Any) -> Json:
    """An answer may be null, which says nothing."""
    answer = await stage.client.request(method, {"sessionId": stage.session.id, **params})
    return answer if isinstance(answer, dict) else {}


def _require(stage: Stage, method: str) -> None:
    fs = stage.client.capabilities.get("fs") or {}
    offered = {
        "fs/read_text_file": fs.get("readTextFile"),
        "fs/write_text_file": fs.get("writeTextFile"),
        "terminal/create": stage.client.capabilities.get("terminal"),
    }
    if not offered[method]:
        raise _NotOffered(f"the client does not offer {method}")


async def _done(stage: Stage, id: str, words: str, *blocks: Json) -> None:
    await stage.change(id, status="completed", content=list(blocks) or content(words))
    await stage.say(f"{words}\n")


def _shown(terminal: str) -> Json:
    return {"type": "terminal", "terminalId": terminal}


def _exit(ended: Json) -> str:
    signal = ended.get("signal")
    return f"signal {signal}" if signal else f"exit code {ended.get('exitCode')}"


def _cut(output: Json) -> str:
    return ", cut off" if output.get("truncated") else ""


SERVICES: dict[str, Directive] = {
    directive.__name__.replace("_", "-"): directive
    for directive in (fsread, fswrite, fswrite_asked, terminal, terminal_asked, terminal_left)
}
