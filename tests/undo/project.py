"""A project on the disk, what an agent does in it, and what is there."""

import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from unittest.mock import patch

from copilot_kernel.acp.messages import Diff, Location, ToolCallUpdate
from copilot_kernel.conversation.calls import merged, with_answer, with_question
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.host import disk_stage
from copilot_kernel.notebook.live import OpenDocuments
from copilot_kernel.undo.history import READING, Outcome, UndoHistory, UndoPlan
from msgspec.structs import replace

Tree = dict[str, tuple[str, int, bytes]]

FILES = {"a.txt": b"one\ntwo\n", "b.txt": b"\xff\x00\r\n", "src/c.py": b"c = 1\r\n", "src/deep/d.py": b""}


def make(root: Path, **more: bytes) -> None:
    for name, data in (FILES | more).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (root / "link").symlink_to("a.txt")
    (root / "src" / "c.py").chmod(0o755)


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=u", "-c", "user.email=u@localhost", "-c", "init.defaultBranch=main")
    subprocess.run(("git", *identity, *arguments), cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "init")
    git(root, "add", "-A")
    git(root, "commit", "-m", "first")


def files_in(root: Path) -> Tree:
    """Every file and link but git's own, with its rights and its content."""
    found: Tree = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*names, *(each for each in folders if os.path.islink(os.path.join(folder, each)))):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            is_link = stat.S_ISLNK(mode)
            data = os.fsencode(os.readlink(path)) if is_link else Path(path).read_bytes()
            found[os.path.relpath(path, root)] = ("link", 0, data) if is_link else ("file", stat.S_IMODE(mode), data)
    return found


def remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


NOBODY = 65534


@contextmanager
def unprivileged(*folders: Path) -> Iterator[None]:
    """Without the rights of root, who can read everything. Who runs this owns `folders`; the first is the home."""
    if os.geteuid() != 0:
        yield
        return
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.lchown(path, NOBODY, -1)
    os.seteuid(NOBODY)
    try:
        with patch.dict(os.environ, HOME=str(folders[0])):
            yield
    finally:
        os.seteuid(0)


class Agent:
    """Does things in one turn after the other, and reports them as calls."""

    def __init__(self, root: Path, state: Path, notebook: str = "") -> None:
        self.root, self.undo = root, UndoHistory(str(root), state, notebook)
        self._ids, self.number = count(), 0

    async def __aenter__(self) -> "Agent":
        await self.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def begin(self) -> None:
        self.number += 1
        self.recording = self.undo.begin()
        await self.recording.begun()

    async def end(self) -> None:
        await self.undo.end(self.recording, self.number)

    def observe(self, call: ToolCall) -> None:
        """Tell of a call, and wait until its files were read, as an agent does that asks."""
        self.recording.add(call)
        for thread in threading.enumerate():
            if thread.name == READING:
                thread.join(disk_stage.LOOKUP_SECONDS)

    def _new(self, kind: str, *paths: str, **more: object) -> ToolCall:
        call = ToolCall(next(self._ids), self.number, "id", title=f"{kind} {' '.join(paths)}", kind=kind)
        return replace(call, locations=tuple(Location(str(self.root / path)) for path in paths), **more)

    def call(self, kind: str, work: Callable[[], object], *paths: str, **more: object) -> None:
        """`work`, reported by a call that names `paths`."""
        call = self._new(kind, *paths, **more)
        self.observe(call)
        work()
        self.observe(merged(call, ToolCallUpdate("id", status="completed")))

    def command(self, work: Callable[[], object]) -> None:
        self.call("execute", work)

    def write(self, path: str, text: str, old: str | None = None) -> None:
        diff = Diff(str(self.root / path), old, text)
        self.call("edit", lambda: (self.root / path).write_text(text), path, content=(diff,))

    def report(self, kind: str, *paths: str, **more: object) -> None:
        """A call that is reported only when it is done."""
        self.observe(merged(self._new(kind, *paths, **more), ToolCallUpdate("id", status="completed")))

    def ask(self, path: str, *diffs: Diff) -> ToolCall:
        """An edit that waits for its answer."""
        call = with_question(self._new("edit", path, content=diffs))
        self.observe(call)
        return call

    def answer(self, call: ToolCall, allowed: bool | None, work: Callable[[], object] = lambda: None) -> None:
        """The answer to it, and what the agent does then."""
        call = with_answer(call, allowed, "")
        self.observe(call)
        if allowed:
            work()
            self.observe(merged(call, ToolCallUpdate("id", status="completed")))

    def plan(self) -> UndoPlan:
        return self.undo.plan(self.number, OpenDocuments())


def restore(agent: Agent, *, uncertain: bool = False) -> Outcome:
    plan = agent.plan()
    return agent.undo.restore(plan, plan.uncertain if uncertain else plan.certain)


CLOSED = ("new/secret", "empty/secret", "src/deep", "mine")


def close(root: Path, mode: int) -> None:
    for path in CLOSED:
        (root / path).chmod(mode)
