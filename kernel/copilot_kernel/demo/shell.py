"""Running real shell commands in the session's folder, with their output as it comes."""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import Process

from . import protocol
from .stage import Stage

KEPT = 100_000
"""Characters of output that are kept; the beginning is cut off when there are more."""
INTERVAL = 0.03
"""Seconds between two looks at the output, so that a talkative command makes few updates."""


async def shell(stage: Stage, command: str, title: str = "", *, asks: bool = True) -> int:
    """Run `command` with /bin/sh, after a question if it `asks`. Returns the exit code; 128 + n for signal n."""
    first_line, *_ = command.split("\n")
    title = title or f"Run {first_line[:60]}"
    id = await stage.begin("execute", title, {"command": command})
    if asks:
        question = {"title": title, "kind": "execute", "rawInput": {"command": command, "commands": [command]}}
        await stage.ask(id, ("execute", command), question)
    output = Output()
    async with running(command, stage.session.cwd) as process:
        await _follow(stage, id, process, output)
        code = await process.wait()
    code = 128 - code if code < 0 else code
    text = f"{output.text}<shellId: 0 completed with exit code {code}>"
    exit = {"type": "shell_exit", "shellId": "0", "exitCode": code, "outputPreview": output.text[:1000]}
    raw_output = {"content": text, "contents": [exit]}
    await stage.change(id, status="completed", content=protocol.content(text), rawOutput=raw_output)
    return code


class Output:
    """The text that came out of a command so far."""

    def __init__(self) -> None:
        self.text = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, data: bytes) -> str:
        """More of it; characters may be cut anywhere. Returns what is new."""
        piece = self._decode(data)
        self.text += piece
        if len(self.text) > KEPT:
            self.text = "[the beginning is cut off]\n" + self.text[-KEPT // 2 :]
        return piece


@asynccontextmanager
async def running(command: str, cwd: Path) -> AsyncIterator[Process]:
    """A command in a process group of its own, which is killed on the way out, whatever the way."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    process = await anyio.open_process(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.move_on_after(2, shield=True):
            await process.aclose()


async def _follow(stage: Stage, id: str, process: Process, output: Output) -> None:
    assert process.stdout is not None
    with suppress(anyio.EndOfStream):
        while True:
            await anyio.sleep(INTERVAL)
            output.feed(await process.stdout.receive(KEPT))
            await stage.change(id, content=protocol.content(output.text))
