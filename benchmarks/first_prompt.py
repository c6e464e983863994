"""How long the first prompt of a notebook takes to the agent's wire, with and without a warm start.

`python -m benchmarks.first_prompt ROUNDS FOLDER` measures Copilot CLI inside a namespace: seconds, as JSON.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from tests.agent.command import COMMAND
from tests.real import model, namespace
from tests.real.agents import COPILOT

from .kernels import TAP, kernel
from .report import Report, percentile
from .undo import FILES, project

OPEN_SECONDS = 3.0
"""How long the notebook has been open."""
BOUND_MS = 100.0

Seconds = dict[str, list[tuple[float, float]]]
"""By the setting `warm_start`: until the prompt is sent, and how much of that the agent takes for `session/new`."""
AgentBehindTap = Callable[[Path], dict[str, str]]
"""Settings of a kernel whose agent is behind a tap that writes to this file."""


def add_to(report: Report, scale: float) -> None:
    """The demo agent, and the real Copilot CLI where it is installed and can run without a network."""
    rounds = max(3, round(7 * scale))
    tell(report, "demo agent", measure(demo_behind_tap, rounds))
    if COPILOT.find() is not None and not namespace.unavailable():
        tell(report, "Copilot CLI", measure_offline(rounds))


def tell(report: Report, agent: str, found: Seconds) -> None:
    """Cold before warm."""
    cold, warm = ([total for total, _ in found[setting]] for setting in ("off", "on"))
    opening = [opening for _, opening in found["on"]]
    report.add(f"{agent}: first prompt → session/prompt, cold, median", median(cold) * 1000, "ms")
    report.add(f"{agent}: … warm, median", median(warm) * 1000, "ms", bound=BOUND_MS)
    report.add(f"{agent}: … warm, slowest", percentile(warm, 1) * 1000, "ms")
    report.add(f"{agent}: … warm, of which the agent's session/new, median", median(opening) * 1000, "ms")


def demo_behind_tap(log: Path) -> dict[str, str]:
    """The demo agent."""
    return {"agent": "demo", "COPILOT_KERNEL_DEMO_COMMAND": shlex.join([sys.executable, TAP, str(log), *COMMAND])}


def copilot_behind_tap(log: Path) -> dict[str, str]:
    """Copilot CLI, by a script of that name."""
    script = log.with_suffix("") / "copilot"
    script.parent.mkdir()
    command = shlex.join([sys.executable, TAP, str(log), str(COPILOT.find())])
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    script.chmod(0o755)
    return {"agent": str(script)}


def measure(agent: AgentBehindTap, rounds: int) -> Seconds:
    """In turns, so that a busy machine slows both."""
    seconds: Seconds = {"off": [], "on": []}
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        root = project(Path(folder) / "project", FILES)
        for number in range(rounds):
            for setting, times in seconds.items():
                times.append(_first_prompt(agent, root, Path(folder) / f"{number}-{setting}.jsonl", setting))
    return seconds


def _first_prompt(agent: AgentBehindTap, root: Path, log: Path, setting: str) -> tuple[float, float]:
    settings: dict[str, Any] = {"COPILOT_KERNEL_WARM_START": setting, **agent(log)}
    with kernel(cwd=root, **settings) as (client, _):
        time.sleep(OPEN_SECONDS)
        asked = time.monotonic()
        for _ in client.until_idle(client.execute("demo: say Hello")):
            pass
    notes = [json.loads(line) for line in log.read_text().splitlines()]
    new, answer, prompt = (
        next(note["at"] for note in notes if sign in note["line"])
        for sign in ('"session/new"', '"id":1,"result"', '"session/prompt"')
    )
    return prompt - asked, answer - new


def measure_offline(rounds: int) -> Seconds:
    """Copilot CLI in a network namespace, with a scripted model."""
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as folder:
        environment = namespace.environment(Path(folder), Path(folder) / "cache")
        command = [sys.executable, "-m", "benchmarks.first_prompt", str(rounds), folder]
        done = namespace.run(command, environment, seconds=60 + 30 * rounds)
        if done.returncode:
            raise RuntimeError(done.stderr)
    found: Seconds = json.loads(done.stdout)
    return found


def main() -> None:
    """Inside the namespace. The first start of Copilot CLI, which unpacks it, does not count."""
    rounds, home = int(sys.argv[1]), Path(sys.argv[2])
    with model.running() as scripted:
        os.environ.update(COPILOT.configure(home, f"http://127.0.0.1:{scripted.server_port}"))
        measure(copilot_behind_tap, 1)
        print(json.dumps(measure(copilot_behind_tap, rounds)))


if __name__ == "__main__":
    main()
