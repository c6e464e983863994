"""Directives that use what the client offers: its files and its terminals."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
from copilot_kernel.demo.demo_session import Json
from copilot_kernel.demo.stage import Stage, content
from copilot_kernel.errors import AgentRefused
from copilot_kernel.system.processes import SHELL

from .faults import Directive, split_two, unescape

OUTPUT_LIMIT = 100_000
"""Bytes of a terminal's output that the client shall keep."""
CAPABILITIES = {"fs/read_text_file": "readTextFile", "fs/write_text_file": "writeTextFile"}


async def fsread(stage: Stage, argument: str) -> None:
    """`fsread PATH [LINE [LIMIT]]`: reads a text file by the client, and says what is in it."""
    name, *numbers = argument.split()
    part = dict(zip(("line", "limit"), map(int, numbers), strict=False))
    path = str(stage.session.cwd / name)
    id = await stage.begin("read", f"Read {name}", {"path": path, **part}, locations=[{"path": path}])
    async with _failing(stage, id):
        answer = await _ask_client(stage, "fs/read_text_file", path=path, **part)
        await _done(stage, id, f"{answer.get('content')!r}")


async def fswrite(stage: Stage, argument: str, asks: bool = False) -> None:
    """`fswrite PATH TEXT`, `fswrite-asked PATH TEXT`: writes a text file by the client, after a question if asked."""
    name, words = split_two(argument, " ")
    path, text = str(stage.session.cwd / name), unescape(words)
    shown = [{"type": "diff", "path": path, "oldText": None, "newText": text}]
    where: Json = {"locations": [{"path": path}]}
    id = await stage.begin("edit", f"Write {name}", {"path": path}, content=shown, **where)
    if asks:
        await stage.ask(id, ("edit", ""), {"title": f"Write {name}", "kind": "edit", "content": shown, **where})
    async with _failing(stage, id):
        await _ask_client(stage, "fs/write_text_file", path=path, content=text)
        await _done(stage, id, f"{name} is written", *shown)


async def terminal(stage: Stage, command: str, asks: bool = False, leaves: bool = False) -> None:
    """`terminal CMD`, `terminal-asked CMD`, `terminal-left CMD`: runs a command in a terminal of the client's.

    Says how it ended; or, where it is left, does not wait for its end.
    """
    id = await stage.begin("execute", f"Run {command}", {"command": command})
    if asks:
        question = {"title": f"Run {command}", "kind": "execute", "rawInput": {"command": command}}
        await stage.ask(id, ("execute", command), question)
    async with _failing(stage, id), _created(stage, command, leaves) as made:
        shown = {"type": "terminal", "terminalId": made}
        if leaves:
            return await _done(stage, id, "left running", shown)
        await stage.change(id, status="in_progress", content=[shown])
        ended = await _ask_client(stage, "terminal/wait_for_exit", terminalId=made)
        output = await _ask_client(stage, "terminal/output", terminalId=made)
        end = f"signal {ended['signal']}" if ended.get("signal") else f"exit code {ended.get('exitCode')}"
        await _done(stage, id, f"{end}, output {output.get('output')!r}", shown)


@asynccontextmanager
async def _created(stage: Stage, command: str, leaves: bool) -> AsyncIterator[str]:
    """A terminal, released also when the turn is cancelled: what runs is then killed by the release."""
    program, *options = SHELL
    answer = await _ask_client(
        stage,
        "terminal/create",
        command=program,
        args=[*options, command],
        env=[{"name": "DEMO_AGENT", "value": "1"}],
        cwd=str(stage.session.cwd),
        outputByteLimit=OUTPUT_LIMIT,
    )
    made = str(answer.get("terminalId"))
    try:
        yield made
    finally:
        with anyio.move_on_after(2, shield=True), suppress(AgentRefused):
            if not leaves:
                await _ask_client(stage, "terminal/release", terminalId=made)


@asynccontextmanager
async def _failing(stage: Stage, id: str) -> AsyncIterator[None]:
    """A refusal by the client is the end of the tool call `id`, not of the turn."""
    try:
        yield
    except AgentRefused as error:
        await stage.change(id, status="failed", content=content(str(error)))
        await stage.say(f"It failed: {error}\n")


async def _ask_client(stage: Stage, method: str, **params: Any) -> Json:
    """An answer may be null, which says nothing."""
    offered = {**(stage.client.capabilities.get("fs") or {}), "terminal": stage.client.capabilities.get("terminal")}
    if not offered.get(CAPABILITIES.get(method, "terminal")):
        raise AgentRefused(method, None, f"the client does not offer {method}")
    answer = await stage.client.request(method, {"sessionId": stage.session.id, **params})
    return answer if isinstance(answer, dict) else {}


async def _done(stage: Stage, id: str, words: str, *blocks: Json) -> None:
    await stage.change(id, status="completed", content=list(blocks) or content(words))
    await stage.say(f"{words}\n")


CLIENT: Mapping[str, Directive] = {
    **{directive.__name__: directive for directive in (fsread, fswrite, terminal)},
    "fswrite-asked": partial(fswrite, asks=True),
    "terminal-asked": partial(terminal, asks=True),
    "terminal-left": partial(terminal, leaves=True),
}
"""Directives by name."""
