"""How long prompts and edits wait until what may change is saved for undo."""

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
from copilot_kernel.undo.history import UndoHistory

from .report import Report

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
    undo = UndoHistory(str(root), folder / "state")
    first, *waits = [await _prompt(undo) for _ in range(rounds + 1)]
    report.add("the first prompt waits", first, "ms", 1000)
    report.add("a later prompt waits, median", median(waits), "ms", 200)
    undo.begin()
    await undo.begun()
    edits = []
    for number in range(EDITS):
        began, path = time.perf_counter(), str(_file(root, number))
        undo.observe(ToolCall(number, 1, str(number), kind="edit", content=(Diff(path, "old", "new"),)))
        edits.append(_since(began))
    report.add("an edit waits for its file, median", median(edits), "ms", 5)
    began = time.perf_counter()
    await undo.end(1)
    report.add(f"the end of a turn of {EDITS} edits waits", _since(began), "ms", 500)
    undo.close()


async def _largest(report: Report, folder: Path) -> None:
    """What is not saved within a second is not saved before this prompt: the next one goes on from there."""
    undo = UndoHistory(str(project(folder / "largest", LARGEST)), folder / "state")
    waits = [await _prompt(undo) for _ in range(5)]
    report.add("the largest project: a prompt waits at most", max(waits), "ms", 1500)
    undo.close()


async def _prompt(undo: UndoHistory) -> float:
    began = time.perf_counter()
    undo.begin()
    await undo.begun()
    return _since(began)


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
