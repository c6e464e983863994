"""Reading and changing real files, only inside the session's folder."""

from __future__ import annotations

import difflib
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import protocol
from .stage import Stage


class Outside(ValueError):
    """The path leads out of the session's folder."""


def inside(folder: Path, name: str) -> Path:
    """The absolute path of `name` in `folder`, links followed. Raises Outside."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise Outside(f"{name} is outside the session's folder")
    return path


async def read(stage: Stage, name: str) -> None:
    """Read a file, without a question."""
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
    """Delete a file, after a question."""
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
    shown = protocol.diff(str(path), _present(path) if old is None else old, new)
    id = await stage.begin("edit", f"{verb} {name}", {"path": str(path)}, content=shown, **where)
    try:
        path = inside(stage.session.cwd, name)
        before = path.read_text() if path.exists() else ""
        after = new if old is None else _replaced(before, old, new)
        raw_input = {"fileName": str(path), "diff": _unified(name, before, after)}
        await stage.ask(id, ("edit", ""), {"title": f"{verb} file", "kind": "edit", "rawInput": raw_input, **where})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after)
    except (OSError, ValueError) as error:
        return await _fail(stage, id, error, name)
    await stage.change(id, status="completed", content=shown, rawOutput={"content": f"{name} is changed."})


def _present(path: Path) -> str | None:
    """What a file that is about to be written holds; None when it is new, or cannot be read."""
    with suppress(OSError, ValueError):
        return path.read_text()
    return None


def _replaced(text: str, old: str, new: str) -> str:
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
    await stage.change(id, status="failed", content=protocol.content(reason))
