"""Tool calls that do real work in the session's folder: files are read and changed, commands are run."""

from __future__ import annotations

import codecs
import difflib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from .stage import Stage, content

MAX_OUTPUT = 100_000
"""Characters of a command's output that are kept; the beginning is cut off when there are more."""
OUTPUT_SECONDS = 0.03
"""Seconds between two looks at the output, so that a talkative command makes few updates."""


def inside(folder: Path, name: str) -> Path:
    """The absolute path of `name` in `folder`, with links resolved. Raises ValueError if it leads out of the folder."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{name} is outside the session's folder")
    return path


async def read(stage: Stage, name: str) -> None:
    """`read PATH`: reads a file, without a question."""
    path = stage.session.cwd / name
    id = await stage.begin("read", f"Read {name}", {"path": str(path)}, locations=[{"path": str(path)}])
    try:
        text = inside(stage.session.cwd, name).read_text(errors="replace")
    except (OSError, ValueError) as error:
        return await _fail(stage, id, error, name)
    await stage.change(id, status="completed", rawOutput={"content": text})


async def edit(stage: Stage, name: str, old: str, new: str) -> None:
    """Replace the first `old` in a file by `new`, after a question; the diff holds these fragments only."""
    await _change(stage, "Edit", name, old, new)


async def create(stage: Stage, name: str, text: str) -> None:
    """Write a new file, or replace a file, after a question."""
    await _change(stage, "Create", name, None, text)


async def delete(stage: Stage, name: str) -> None:
    """`delete PATH`: deletes a file, after a question."""
    path = stage.session.cwd / name
    where: dict[str, Any] = {"locations": [{"path": str(path)}]}
    id = await stage.begin("delete", f"Delete {name}", {"path": str(path)}, **where)
    await stage.ask(id, ("delete", str(path)), {"title": "Delete file", "kind": "delete", **where})
    try:
        inside(stage.session.cwd, name).unlink()
    except (OSError, ValueError) as error:
        return await _fail(stage, id, error, name)
    await stage.change(id, status="completed", rawOutput={"content": f"{name} is deleted."})


async def _change(stage: Stage, verb: str, name: str, old: str | None, new: str) -> None:
    path = stage.session.cwd / name
    where: dict[str, Any] = {"locations": [{"path": str(path)}]}
    before = _content(path)
    diff = [{"type": "diff", "path": str(path), "oldText": before if old is None else old, "newText": new}]
    id = await stage.begin("edit", f"{verb} {name}", {"path": str(path)}, content=diff, **where)
    try:
        path = inside(stage.session.cwd, name)
        after = new if old is None else _replace(before or "", old, new)
        raw_input = {"fileName": str(path), "diff": _unified(name, before or "", after)}
        await stage.ask(id, ("edit", ""), {"title": f"{verb} file", "kind": "edit", "rawInput": raw_input, **where})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after)
    except (OSError, ValueError) as error:
        return await _fail(stage, id, error, name)
    await stage.change(id, status="completed", content=diff, rawOutput={"content": f"{name} is changed."})


def _content(path: Path) -> str | None:
    """The content of a file that is about to be written; None if it is new, or cannot be read."""
    with suppress(OSError, ValueError):
        return path.read_text()
    return None


def _replace(text: str, old: str, new: str) -> str:
    if old not in text:
        raise ValueError(f"the text to replace is not in the file: {old!r}")
    return text.replace(old, new, 1)


def _unified(name: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"a/{name}" if before else "/dev/null", f"b/{name}", lineterm=""
    )
    return "\n".join(lines) + "\n"


async def _fail(stage: Stage, id: str, error: Exception, name: str) -> None:
    reason = f"{name}: {error.strerror}" if isinstance(error, OSError) else str(error)
    await stage.change(id, status="failed", content=content(reason))


# -- commands -------------------------------------------------------------------------------------------------------


async def shell(stage: Stage, command: str, title: str = "", *, asks: bool = True) -> int:
    """`shell CMD`: runs a command, after a question.

    With /bin/sh; without a question unless it `asks`. Returns the exit code; 128 + n for signal n.
    """
    first_line, *_ = command.split("\n")
    title = title or f"Run {first_line[:60]}"
    id = await stage.begin("execute", title, {"command": command})
    if asks:
        question = {"title": title, "kind": "execute", "rawInput": {"command": command, "commands": [command]}}
        await stage.ask(id, ("execute", command), question)
    async with running(command, stage.session.cwd) as process:
        output = await _follow(stage, id, process)
        code = await process.wait()
    code = 128 - code if code < 0 else code
    text = f"{output}<shellId: 0 completed with exit code {code}>"
    exit = {"type": "shell_exit", "shellId": "0", "exitCode": code, "outputPreview": output[:1000]}
    raw_output = {"content": text, "contents": [exit]}
    await stage.change(id, status="completed", content=content(text), rawOutput=raw_output)
    return code


async def _follow(stage: Stage, id: str, process: Process) -> str:
    """Show the output as it comes; all of it, or its end if it is very long."""
    assert process.stdout is not None
    decode, text = codecs.getincrementaldecoder("utf-8")("replace").decode, ""
    with suppress(anyio.EndOfStream):
        while True:
            await anyio.sleep(OUTPUT_SECONDS)
            text += decode(await process.stdout.receive(MAX_OUTPUT))
            if len(text) > MAX_OUTPUT:
                text = "[the beginning is cut off]\n" + text[-MAX_OUTPUT // 2 :]
            await stage.change(id, content=content(text))
    return text


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
