"""Tool calls that do real work in the session's folder: files are read and changed, commands are run."""

from __future__ import annotations

import codecs
import difflib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio

from ..system.processes import SHELL, PipeReader, ProcessTree, start
from .demo_session import Json
from .stage import Stage, content

MAX_OUTPUT = 100_000
"""Characters of a command's output that are kept; the beginning is cut off when there are more."""
OUTPUT_SECONDS = 0.03
"""Seconds between two looks at the output, so that a talkative command makes few updates."""
OUTSIDE = "{} is outside the session's folder"
CUT = "[the beginning is cut off]\n"


def inside(folder: Path, name: str) -> Path:
    """The absolute path of `name` in `folder`, with links resolved. Raises ValueError if it leads out of the folder."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(OUTSIDE.format(name))
    return path


async def read(stage: Stage, name: str) -> None:
    """Read a file, without a question."""
    path = str(stage.session.cwd / name)
    id = await stage.begin("read", f"Read {name}", {"path": path}, locations=[{"path": path}])
    async with failing(stage, id, name):
        text = inside(stage.session.cwd, name).read_text(errors="replace")
        await stage.change(id, status="completed", rawOutput={"content": text})


async def edit(stage: Stage, name: str, old: str, new: str) -> None:
    """Replace the first `old` in a file by `new`, after a question. The diff holds these fragments only."""
    path = stage.session.cwd / name
    where: Json = {"locations": [{"path": str(path)}]}
    diff = [{"type": "diff", "path": str(path), "oldText": old, "newText": new}]
    id = await stage.begin("edit", f"Edit {name}", {"path": str(path)}, content=diff, **where)
    async with failing(stage, id, name):
        path = inside(stage.session.cwd, name)
        before = path.read_text()
        if old not in before:
            raise ValueError(f"the text to replace is not in the file: {old!r}")
        after = before.replace(old, new, 1)
        raw_input = {"fileName": str(path), "diff": unified(name, before, after)}
        await stage.ask(id, ("edit", ""), {"title": "Edit file", "kind": "edit", "rawInput": raw_input, **where})
        path.write_text(after)
        await stage.change(id, status="completed", content=diff, rawOutput={"content": f"{name} is changed."})


def unified(name: str, before: str, after: str) -> str:
    """The whole change of a file as a unified diff."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
    return "\n".join(lines) + "\n"


@asynccontextmanager
async def failing(stage: Stage, id: str, name: str) -> AsyncIterator[None]:
    """Report a failure with the file `name` as the end of the tool call `id`, not of the turn."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = f"{name}: {error.strerror}" if isinstance(error, OSError) else str(error)
        await stage.change(id, status="failed", content=content(reason))


# -- commands -------------------------------------------------------------------------------------------------------


async def run(stage: Stage, command: str, title: str = "") -> None:
    """Run a command with a shell, after a question."""
    title = title or f"Run {command.splitlines()[0][:60]}"
    id = await stage.begin("execute", title, {"command": command})
    question = {"title": title, "kind": "execute", "rawInput": {"command": command, "commands": [command]}}
    await stage.ask(id, ("execute", command), question)
    async with running(command, stage.session.cwd) as (process, pipe):
        output = await _follow(stage, id, pipe)
        await process.wait()
    code = process.returncode or 0
    code = 128 - code if code < 0 else code
    text = f"{output}<shellId: 0 completed with exit code {code}>"
    exit = {"type": "shell_exit", "shellId": "0", "exitCode": code, "outputPreview": output[:1000]}
    raw_output = {"content": text, "contents": [exit]}
    await stage.change(id, status="completed", content=content(text), rawOutput=raw_output)


async def _follow(stage: Stage, id: str, pipe: PipeReader) -> str:
    """Show the output as it comes; all of it, or its end if it is very long."""
    decode, text = codecs.getincrementaldecoder("utf-8")("replace").decode, ""
    await anyio.sleep(OUTPUT_SECONDS)
    while data := await pipe.receive():
        text += decode(data)
        if len(text) > MAX_OUTPUT:
            text = CUT + text[-MAX_OUTPUT // 2 :]
        await stage.change(id, content=content(text))
        await anyio.sleep(OUTPUT_SECONDS)
    return text


@asynccontextmanager
async def running(command: str, cwd: Path) -> AsyncIterator[tuple[ProcessTree, PipeReader]]:
    """Run a command; yield its processes and its output. At the exit, all of them are killed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    env = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
    reading, writing = os.pipe()
    with closing(PipeReader(reading)) as pipe:
        try:
            process = await start((*SHELL, command), (subprocess.DEVNULL, writing, writing), cwd=cwd, env=env)
        finally:
            os.close(writing)
        try:
            yield process, pipe
        finally:
            process.kill()
            with anyio.move_on_after(2, shield=True):
                await process.wait()
            process.release()
