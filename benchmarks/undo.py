"""How long prompts and edits wait until what may change is saved for undo; also beside the same work by hand."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import anyio
from copilot_kernel.acp.messages import Diff
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.undo.history import Recording, UndoHistory
from copilot_kernel.undo.repository import Repository
from copilot_kernel.undo.tree import Tree

from .report import Report

SMALL, FILES, LARGEST = 200, 2_000, 20_000
FILE_BYTES = 9_000
ROUNDS, EDITS, CHANGED = 20, 200, 200
BOUND = 1.5


def run(scale: float = 1.0) -> Report:
    """A small project, a usual one, and a large one."""
    report = Report("undo", f"Git work trees of {SMALL}, {FILES:,} and {LARGEST:,} files of {FILE_BYTES // 1000} kB")
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        rounds = max(3, round(ROUNDS * scale))
        anyio.run(_small, report, Path(folder), rounds)
        anyio.run(_usual, report, Path(folder), rounds)
        _largest(report, Path(folder), max(3, rounds // 2))
    return report


class _ByHand:
    """The same Git commands, without anything around them: what the figures are compared with."""

    def __init__(self, root: Path, repository: Path) -> None:
        self._git = ("git", f"--git-dir={repository}", f"--work-tree={root}")
        self._root = root
        subprocess.run(("git", "init", "--quiet", "--bare", repository), check=True)
        (repository / "objects/info/alternates").write_text(f"{root}/.git/objects\n")
        self.snapshot()

    def snapshot(self) -> float:
        """Milliseconds."""
        began = time.perf_counter()
        changed = self._run("ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")
        self._run("update-index", "-z", "--add", "--remove", "--stdin", given=changed)
        self._run("write-tree")
        return _since(began)

    def _run(self, *arguments: str, given: bytes = b"") -> bytes:
        command = (*self._git, *arguments)
        return subprocess.run(command, cwd=self._root, input=given, check=True, capture_output=True).stdout


async def _small(report: Report, folder: Path, rounds: int) -> None:
    root = project(folder / "small", SMALL)
    undo, by_hand = UndoHistory(str(root), folder / "state"), _ByHand(root, folder / "small.git")
    await _prompt(undo)
    pairs = [(await _prompt(undo), by_hand.snapshot()) for _ in range(rounds)]
    undo.close()
    waits, others = (median(each) for each in zip(*pairs, strict=True))
    report.add(f"a prompt waits, {SMALL} files, median", waits, "ms", 200)
    report.add("÷ the same Git commands by hand", waits / others, "", BOUND)


async def _usual(report: Report, folder: Path, rounds: int) -> None:
    root = project(folder / "usual", FILES)
    undo = UndoHistory(str(root), folder / "state")
    first, *waits = [await _prompt(undo) for _ in range(rounds + 1)]
    report.add(f"the first prompt waits, {FILES:,} files", first, "ms", 1500)
    report.add("a later prompt waits, median", median(waits), "ms", 200)
    recording = await _begun(undo)
    edits = []
    for number in range(EDITS):
        began, path = time.perf_counter(), str(_file(root, number))
        recording.add(ToolCall(number, 1, str(number), kind="edit", content=(Diff(path, "old", "new"),)))
        await recording.settle(None)
        edits.append(_since(began))
    report.add("an edit waits for its file, median", median(edits), "ms", 5)
    began = time.perf_counter()
    await undo.end(recording, 1)
    report.add(f"the end of a turn of {EDITS} edits waits", _since(began), "ms", 500)
    undo.close()


def _largest(report: Report, folder: Path, rounds: int) -> None:
    root = project(folder / "largest", LARGEST)
    repository, by_hand = Repository(Tree(str(root)), folder / "state"), _ByHand(root, folder / "largest.git")
    report.add(f"the first snapshot, {LARGEST:,} files", _snapshot(repository), "ms")
    for changed in (0, CHANGED):
        pairs = []
        for number in range(rounds):
            for each in range(changed):
                _file(root, each * LARGEST // CHANGED).write_text(f"{number}")
            taken = (_snapshot(repository), by_hand.snapshot())
            pairs.append(taken)
        ours, others = (median(each) for each in zip(*pairs, strict=True))
        report.add(f"a later snapshot, {changed} files changed, median", ours, "ms", 2000)
        report.add("÷ the same Git commands by hand", ours / others, "", BOUND)
    repository.close()


def _snapshot(repository: Repository) -> float:
    began = time.perf_counter()
    assert not (problem := repository.snapshot(lambda: False).problem), problem
    return _since(began)


async def _prompt(undo: UndoHistory) -> float:
    began = time.perf_counter()
    await _begun(undo)
    return _since(began)


async def _begun(undo: UndoHistory) -> Recording:
    recording = undo.begin()
    assert recording is not None
    await recording.begun()
    return recording


def _since(began: float) -> float:
    """Milliseconds."""
    return (time.perf_counter() - began) * 1000


def project(root: Path, files: int, size: int = FILE_BYTES) -> Path:
    """A git work tree of so many files."""
    for number in range(files):
        path = _file(root, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))
    names = ("-c", "user.name=u", "-c", "user.email=u@localhost")
    for arguments in (("init",), ("add", "-A"), (*names, "commit", "-m", "first")):
        subprocess.run(("git", "-c", "maintenance.auto=false", *arguments), cwd=root, check=True, capture_output=True)
    return root


def _file(root: Path, number: int) -> Path:
    return root / f"d{number // 50:03}" / f"f{number}"
