"""Short forms of `python -m benchmarks chaos` and `soak`: each exits with 1 if an invariant is broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCALES = {
    "kills": 0.016,
    "hangs": 0.01,
    "interrupts": 0.01,
    "races": 0.015,
    "resumes": 0.02,
    "full": 0.05,
    "read-only": 0.2,
    "clock": 0.08,
}


def run(*arguments: str) -> None:
    command = [sys.executable, "-m", "benchmarks", *arguments, "--seed", "20261124"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("name", SCALES)
def test_no_fault_hangs_a_cell_leaves_a_process_or_loses_anything(name: str) -> None:
    run("chaos", "--only", name, "--scale", str(SCALES[name]))


def test_turns_with_faults_leave_no_task_thread_or_descriptor() -> None:
    run("soak", "--scale", "0.002")
