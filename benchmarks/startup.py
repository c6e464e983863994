"""How long until a kernel answers, beside the least kernel that there is, and how long a first prompt takes."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from .kernels import OURS, PLAIN, kernel, tapped, times
from .report import Report
from .undo import FILES, project

OPEN_SECONDS = 3.0
"""How long the notebook has been open."""


def run(scale: float = 1.0) -> Report:
    """In turns, so that a busy machine slows both."""
    rounds = max(3, round(15 * scale))
    report = Report("startup", f"spawn → kernel_info_reply, {rounds} starts each; then the first prompt")
    ours, plain = list[float](), list[float]()
    for _ in range(rounds):
        for command, found in ((PLAIN, plain), (OURS, ours)):
            with kernel(command) as (_, seconds):
                found.append(seconds)
    report.add("minimal kernel, median", median(plain) * 1000, "ms")
    report.add("Copilot kernel, median", median(ours) * 1000, "ms")
    report.add("ratio of the medians", median(ours) / median(plain), "×", 1.1)
    cold, warm, shown = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        root, log = project(Path(folder) / "project", FILES), Path(folder) / "tap.jsonl"
        for _ in range(max(3, rounds // 2)):
            for setting, found in (("off", cold), ("on", warm)):
                sent, seen = _first_prompt(root, log, setting)
                found.append(sent)
                shown.append(seen)
    report.add("first prompt → first line in the cell, slowest", max(shown) * 1000, "ms", 500)
    report.add("first prompt → session/prompt, cold, median", median(cold) * 1000, "ms")
    report.add("first prompt → session/prompt, warm, median", median(warm) * 1000, "ms", 100)
    return report


def _first_prompt(root: Path, log: Path, setting: str) -> tuple[float, float]:
    """Seconds until the agent gets it, and until the cell shows something."""
    command = tapped(log)
    with kernel(cwd=root, COPILOT_KERNEL_DEMO_COMMAND=command, COPILOT_KERNEL_WARM_START=setting) as (client, _):
        time.sleep(OPEN_SECONDS)
        asked = time.monotonic()
        received = client.run("demo: say Hello")
    shown = next(at for message, _, at in received if message["msg_type"] == "display_data")
    return times(log, "client", '"session/prompt"')[-1] - asked, shown - asked
