"""Short forms of `python -m benchmarks` with faults and load: each exits with 1 if one is broken."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SEED = ("--seed", "20261124")
SCALES = {
    "kills": 0.016,
    "hangs": 0.01,
    "interrupts": 0.01,
    "races": 0.015,
    "openings": 0.25,
    "resumes": 0.02,
    "full": 0.05,
    "read-only": 0.2,
    "clock": 0.08,
    "shared-kills": 0.008,
    "shared-hangs": 0.04,
    "shared-resumes": 0.02,
}


def run(*arguments: str) -> None:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("name", SCALES)
def test_no_fault_hangs_a_cell_leaves_a_process_or_loses_anything(name: str) -> None:
    run("chaos", "--only", name, "--scale", str(SCALES[name]), *SEED)


def test_turns_with_faults_leave_no_task_thread_or_descriptor() -> None:
    run("soak", "--scale", "0.002", *SEED)


def test_a_shared_agent_under_load_loses_and_delays_nothing_for_those_who_read() -> None:
    run("sharing-load", "--scale", "0.05")


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports one."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: import_module(f"benchmarks.{name}")


@pytest.mark.parametrize(
    ("change", "is_good"),
    [
        ({}, True),
        ({"sent": [40, 41]}, False),
        ({"sent": [40, 39]}, False),
        ({"late": [[0.01] * 40, [0.01] * 35 + [1] * 5]}, False),
        ({"late": [[0.01] * 40, [0.01] * 39 + [6]]}, False),
        ({"all_sent": 1_800}, False),
        ({"memory": 300}, False),
    ],
)
def test_what_is_lost_late_or_slow_under_load_misses_its_bound(
    benchmarks: Callable[[str], Any], change: dict[str, Any], is_good: bool
) -> None:
    load, report = benchmarks("sharing_load"), benchmarks("report").Report("load", "")
    good = load.Arrivals(late=[[0.01] * 40] * 2, sent=[40, 40], all_sent=2_000, memory=60)
    load.judge(report, replace(good, **change), 1.0)
    assert report.holds is is_good
