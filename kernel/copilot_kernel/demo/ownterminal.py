"""Directives for commands that the agent runs itself and shows in a terminal by `_meta`, as some agents do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
from anyio.abc import Process

from .protocol import Json
from .shell import INTERVAL, KEPT, Output, running
from .stage import Directive, Stage


async def terminal_meta(stage: Stage, argument: str) -> None:
    """`terminal-meta CMD`: the output as it comes, by `_meta.terminal_output_delta`, then `terminal_exit`."""
    await _run(stage, argument, deltas=True)


async def terminal_meta_whole(stage: Stage, argument: str) -> None:
    """`terminal-meta-whole CMD`: the output in one piece at the end, by `_meta.terminal_output`."""
    await _run(stage, argument, deltas=False)


async def _run(stage: Stage, command: str, deltas: bool) -> None:
    terminal = f"own-{len(stage.session.prompts)}-{command[:20]}"
    shown = {"content": [{"type": "terminal", "terminalId": terminal}]}
    info = {"terminal_info": {"terminal_id": terminal, "cwd": str(stage.session.cwd)}}
    id = await stage.begin("execute", f"Run {command}", {"command": command}, _meta=info, **shown)
    output = Output()
    async with running(command, stage.session.cwd) as process:
        async for piece in _pieces(process, output):
            if deltas:
                await stage.change(id, _meta=_data("terminal_output_delta", terminal, piece))
        code = await process.wait()
    whole = {} if deltas else _data("terminal_output", terminal, output.text)
    await stage.change(id, status="failed" if code else "completed", _meta={**whole, **_exit(terminal, code)})


async def _pieces(process: Process, output: Output) -> AsyncIterator[str]:
    """What is new of the output, until it ends; `output` gets all of it."""
    assert process.stdout is not None
    with suppress(anyio.EndOfStream):
        while True:
            if piece := output.feed(await process.stdout.receive(KEPT)):
                yield piece
            await anyio.sleep(INTERVAL)


def _data(name: str, terminal: str, data: str) -> Json:
    return {name: {"terminal_id": terminal, "data": data}}


def _exit(terminal: str, code: int) -> Json:
    signal = f"signal {-code}" if code < 0 else None
    return {"terminal_exit": {"terminal_id": terminal, "exit_code": None if signal else code, "signal": signal}}


OWN_TERMINAL: dict[str, Directive] = {"terminal-meta": terminal_meta, "terminal-meta-whole": terminal_meta_whole}
