"""What the sandbox costs: at the start of an agent, beside bubblewrap alone with the same mounts, and after a turn."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from copilot_kernel.config import Settings
from copilot_kernel.sandbox import create_sandbox
from copilot_kernel.sandbox.probe import try_bubblewrap

from tests.agent.command import COMMAND

from .report import Report
from .undo import project

FILES = 2_000
INITIALIZE = b"""\
{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}}
"""


def run(scale: float = 1.0) -> Report:
    """Each round starts the scripted agent in both ways, so that a busy machine slows both."""
    rounds, ours, bare, comparisons = max(5, round(30 * scale)), list[float](), list[float](), list[float]()
    report = Report("sandbox", f"the scripted agent in a project of {FILES:,} files, {rounds} starts")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as handover:
        root = project(Path(folder) / "project", FILES, 0)
        settings = Settings(cwd=str(root), state=str(Path(folder, "state")), sandbox="required")
        environ = settings.agent_environ
        for _ in range(rounds):
            try_bubblewrap.cache_clear()  # as the first time in a process
            began = time.perf_counter()
            sandbox = create_sandbox(settings, [COMMAND], Path(handover))
            made = time.perf_counter()
            started = _initialized(sandbox.command(COMMAND, str(root), environ), sandbox.environment(environ))
            ours.append(made - began + started)
            bare.append(_initialized(sandbox.command(COMMAND, str(root), environ), sandbox.environment(environ)))
            began = time.perf_counter()
            sandbox.comparison.compare()
            comparisons.append(time.perf_counter() - began)
    for name, seconds in (("our sandbox", ours), ("bubblewrap with the same mounts", bare)):
        report.add(f"start to the answer of initialize, {name}, median", median(seconds) * 1000, "ms")
    report.add(
        "the first ÷ the second, median", median(one / other for one, other in zip(ours, bare, strict=True)), "", 1.3
    )
    report.add("compare the protected files after a turn, median", median(comparisons) * 1000, "ms")
    return report


def _initialized(command: tuple[str, ...], environ: Mapping[str, str]) -> float:
    """Seconds from the start of an agent until it has answered."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, bufsize=0, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(INITIALIZE)
        answer = json.loads(agent.stdout.readline())
        seconds = time.perf_counter() - began
        agent.kill()
    assert answer["id"] == 0, answer
    return seconds
