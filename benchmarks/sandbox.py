"""What the sandbox costs at the start of an agent: putting it together, and starting a program in it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from copilot_kernel.config import Settings
from copilot_kernel.sandbox import raise_sandbox
from copilot_kernel.sandbox.probe import try_bubblewrap

from .report import Report
from .undo import project

PROGRAM = ("/bin/true",)
FILES = 3_000


def run(scale: float = 1.0) -> Report:
    """Each round starts the program with and without, so that a busy machine slows both."""
    rounds, costs, makings = max(5, round(30 * scale)), list[float](), list[float]()
    report = Report("sandbox", f"a program in the sandbox of a project of {FILES:,} files, {rounds} starts")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as handover:
        root = project(Path(folder) / "project", FILES, 0)
        settings = Settings(cwd=str(root), state=str(Path(folder, "state")), sandbox="required")
        for _ in range(rounds):
            try_bubblewrap.cache_clear()  # as the first time in a process
            began = time.perf_counter()
            sandbox = raise_sandbox(settings, [PROGRAM], Path(handover))
            made = time.perf_counter()
            _run(sandbox.command(PROGRAM, str(root)), root, sandbox.environment())
            ended = time.perf_counter()
            _run(PROGRAM, root, dict(os.environ))
            makings.append((made - began) * 1000)
            costs.append((ended - began - (time.perf_counter() - ended)) * 1000)
    report.add("put the sandbox together and try bubblewrap, median", median(makings), "ms")
    report.add("cost at the start, median", median(costs), "ms", 50)
    return report


def _run(command: tuple[str, ...], cwd: Path, environ: dict[str, str]) -> None:
    subprocess.run(command, cwd=cwd, env=environ, check=True)
