"""Faults at random moments: nothing may hang, stay unanswered, be left behind or be lost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from queue import Empty

from . import chaos_kernel, chaos_sharing, chaos_turns
from .report import Report
from .trial import Trial

SCENARIOS: dict[str, tuple[int, Callable[[Trial, int], None]]] = {
    "kills": (500, chaos_turns.kills),
    "hangs": (200, chaos_turns.hangs),
    "interrupts": (2000, chaos_turns.interrupts),
    "races": (1000, chaos_turns.races),
    "openings": (20, chaos_kernel.openings),
    "resumes": (100, chaos_kernel.resumes),
    "full": (20, chaos_kernel.full),
    "read-only": (5, chaos_kernel.read_only),
    "clock": (50, chaos_kernel.clock),
    "shared-kills": (500, chaos_sharing.kills),
    "shared-hangs": (100, chaos_sharing.hangs),
    "shared-resumes": (100, chaos_sharing.resumes),
}
"""By name, the number of rounds at scale 1, and what plays them."""


def run(scale: float, seed: int, only: str = "") -> Report:
    """All scenarios, or `only` one."""
    report = Report("chaos", f"faults at random moments, seed {seed}")
    for name, (rounds, play) in SCENARIOS.items():
        if only in ("", name):
            trial = Trial(partial(_chance, seed, name))
            count, began = max(1, round(rounds * scale)), time.monotonic()
            try:
                play(trial, count)
            except (AssertionError, Empty) as error:  # what was awaited has not come; the kernel is of no more use
                trial.check(0, "given up", [str(error) or "no message"])
            tell(report, name, trial, count, time.monotonic() - began)
            for line in trial.broken:
                print(f"chaos {name}: {line}   (repeat: --seed {seed} --only {name} --scale {scale:g})", flush=True)
    return report


def tell(report: Report, name: str, trial: Trial, count: int, seconds: float) -> None:
    """The invariants, the slowest reply and the time taken."""
    if trial.skipped:
        print(f"chaos {name}: skipped, {trial.skipped}", flush=True)
        return
    report.add(f"{name}: invariants broken in {count:,} rounds", len(trial.broken), "", 0)
    for end, rounds in sorted(trial.ends.items()):
        report.add(f"{name}: … of which ended with {end}", rounds, "")
    report.add(f"{name}: slowest reply after its fault", trial.slowest, "s")
    report.add(f"{name}: time", seconds, "s")


def _chance(seed: int, name: str, number: int) -> random.Random:
    return random.Random(f"{seed} {name} {number}")
