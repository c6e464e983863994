"""How long prompts and edits wait until what may change is saved for undo.

The baseline is `git status` in the same work tree, which most tools run as often.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import anyio
from copilot_kernel.acp.messages import Diff
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.undo.history import UndoHistory

from .report import Report, percentile

FILES, LARGEST = 2_000, 20_000
FILE_BYTES = 9_000
ROUNDS, EDITS = 20, 200


def run(scale: float = 1.0) -> Report:
    """A usual project, and the largest that is saved."""
    report = Report("undo", f"git work trees of {FILES:,} and {LARGEST:,} files of {FILE_BYTES // 1000} kB")
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        anyio.run(_usual, report, Path(folder), max(3, round(ROUNDS * scale)))
        anyio.run(_largest, report, Path(folder))
    return report


async def _usual(report: Report, folder: Path, rounds: int) -> None:
    root = project(folder / "usual", FILES)
    status = [_timed(lambda: _git(root, "status", "--porcelain")) for _ in range(rounds)]
    undo = UndoHistory(str(root), folder / "state")
    first, *waits = [await _prompt(undo) for _ in range(rounds + 1)]
    report.add("git status, median", median(status) * 1000, "ms")
    report.add("the first prompt waits", first * 1000, "ms", bound=1000)
    report.add("a later prompt waits, median", median(waits) * 1000, "ms", bound=200)
    undo.begin()
    await undo.begun()
    edits = [_timed(partial(undo.observe, _edit(root, number))) for number in range(EDITS)]
    report.add("an edit waits for its file, median", median(edits) * 1000, "ms", bound=5)
    report.add("an edit waits for its file, p95", percentile(edits, 0.95) * 1000, "ms")
    ended = time.perf_counter()
    await undo.end(1)
    report.add(f"the end of a turn of {EDITS} edits waits", (time.perf_counter() - ended) * 1000, "ms", bound=500)
    undo.close()


async def _largest(report: Report, folder: Path) -> None:
    """What is not saved within a second is not saved before this prompt: the next one goes on from there."""
    undo = UndoHistory(str(project(folder / "largest", LARGEST)), folder / "state")
    waits = [await _prompt(undo) for _ in range(5)]
    report.add("the largest project: a prompt waits at most", max(waits), "s", bound=1.5)
    report.add("the largest project: the fifth prompt waits", waits[-1], "s")
    undo.close()


async def _prompt(undo: UndoHistory) -> float:
    began = time.perf_counter()
    undo.begin()
    await undo.begun()
    return time.perf_counter() - began


def _edit(root: Path, number: int) -> ToolCall:
    path = str(root / f"d{number // 50:03}" / f"f{number}")
    return ToolCall(number, 1, str(number), kind="edit", content=(Diff(path, "old", "new"),))


def project(root: Path, files: int) -> Path:
    """A git work tree of so many files."""
    shutil.rmtree(root, ignore_errors=True)
    for number in range(files):
        path = root / f"d{number // 50:03}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(FILE_BYTES))
    _git(root, "init")
    _git(root, "add", "-A")
    _git(root, "-c", "user.name=u", "-c", "user.email=u@localhost", "commit", "-m", "first")
    return root


def _git(root: Path, *arguments: str) -> None:
    quiet = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
    subprocess.run(("git", *quiet, *arguments), cwd=root, check=True, capture_output=True)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
