"""How long until a kernel answers, beside the least kernel that there is, and until the first prompt is sent.

`python -m benchmarks.startup ROUNDS FOLDER` measures the first prompt to Copilot CLI inside a namespace, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.real import model, namespace
from tests.real.agents import COPILOT

from .kernels import OURS, PLAIN, kernel, tapped, times
from .report import Report
from .undo import FILES, project

OPEN_SECONDS = 3.0
"""How long the notebook has been open."""
BOUND_MS = 100.0

Seconds = dict[str, list[tuple[float, float]]]
"""By the setting `warm_start`: until the prompt is sent, and how much of that the agent takes for `session/new`."""


def run(scale: float = 1.0) -> Report:
    """In turns, so that a busy machine slows both. Copilot CLI, where it can run without a network."""
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
    _add(report, "demo agent", _first_prompts(_demo, max(3, rounds // 2)))
    if COPILOT.find() is not None and not namespace.unavailable():
        _add(report, "Copilot CLI", _offline(max(3, rounds // 2)))
    return report


def _add(report: Report, agent: str, found: Seconds) -> None:
    cold, warm = (median(total for total, _ in found[setting]) for setting in ("off", "on"))
    report.add(f"{agent}: first prompt → session/prompt, cold, median", cold * 1000, "ms")
    report.add(f"{agent}: … warm, median", warm * 1000, "ms", BOUND_MS)
    report.add(f"{agent}: … warm, of which session/new, median", median(new for _, new in found["on"]) * 1000, "ms")


def _first_prompts(agent: Callable[[Path], dict[str, str]], rounds: int) -> Seconds:
    """In turns. `agent` makes the settings of a kernel whose agent is behind a tap with this log."""
    seconds: Seconds = {"off": [], "on": []}
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        root = project(Path(folder) / "project", FILES)
        for number in range(rounds):
            for setting, found in seconds.items():
                log = Path(folder) / f"{number}-{setting}.jsonl"
                found.append(_first_prompt(root, log, agent(log), setting))
    return seconds


def _first_prompt(root: Path, log: Path, agent: dict[str, str], setting: str) -> tuple[float, float]:
    with kernel(OURS, cwd=root, **agent, COPILOT_KERNEL_WARM_START=setting) as (client, _):
        time.sleep(OPEN_SECONDS)
        asked = time.monotonic()
        client.run("demo: say Hello")
    new, prompt = (times(log, "client", f'"session/{method}"')[0] for method in ("new", "prompt"))
    return prompt - asked, times(log, "agent", '"id":1,"result"')[0] - new


def _demo(log: Path) -> dict[str, str]:
    return {"COPILOT_KERNEL_DEMO_COMMAND": tapped(log)}


def _copilot(log: Path) -> dict[str, str]:
    """A script of that name, by which the kernel knows Copilot CLI."""
    script = log.with_suffix("") / "copilot"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {tapped(log, (str(COPILOT.find()),))} "$@"\n')
    script.chmod(0o755)
    return {"COPILOT_KERNEL_AGENT": str(script)}


def _offline(rounds: int) -> Seconds:
    """Copilot CLI in a network namespace, with a scripted model."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        environment = namespace.environment(Path(folder), Path(folder) / "cache")
        command = [sys.executable, "-m", "benchmarks.startup", str(rounds), folder]
        done = namespace.run(command, environment, seconds=60 + 30 * rounds)
        if done.returncode:
            raise RuntimeError(done.stderr)
    found: Seconds = json.loads(done.stdout)
    return found


def main(rounds: str, home: str) -> None:
    """Inside the namespace. The first start of Copilot CLI, which unpacks it, does not count."""
    with model.running() as scripted:
        os.environ.update(COPILOT.configure(Path(home), scripted.url))
        _first_prompts(_copilot, 1)
        print(json.dumps(_first_prompts(_copilot, int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
