"""One kernel for a long time: a turn a second with 1 % faults, and many turns as fast as they go."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from statistics import linear_regression

from .chaos import FAULTS, faulty, first_turn, more
from .report import Report
from .trial import Notebook, Project, Trial

SECONDS, TURNS = 3600, 5000
LONG = 1800
"""Seconds from which on the slope means something: before that, caches fill."""
FAULT_SHARE = 0.01
WARM_UP = 0.1
"""The share of the samples that the slope leaves out: caches fill, modules are imported."""
SAMPLES = 120
MAX_SLOPE = 2.0
"""MB an hour."""
MB = 1_000_000
WORK = {"say {tag} 4": 6, "call 2\nsay {tag} 4": 2, "read notes.txt\nsay {tag} 4": 1, "ask\nsay {tag} 4": 1}
"""What a turn does, and how often."""
EDIT = "edit notes.txt {tag}\nsay {tag} 4"


def run(scale: float, seed: int) -> Report:
    """At `scale` 1, an hour and 5,000 turns."""
    seconds, turns = max(10, round(SECONDS * scale)), max(10, round(TURNS * scale))
    report = Report("soak", f"{seconds} s at a turn a second, then {turns} turns in one session; seed {seed}")
    add(report, "a turn a second", 3600, "MB/h", MAX_SLOPE if seconds >= LONG else None, *soak(seconds, seed, 1.0))
    add(report, "one session", 1000, "MB / 1,000 turns", None, *soak(turns, seed, 0.0))
    return report


def soak(turns: int, seed: int, pace: float) -> tuple[Trial, list[tuple[float, int]]]:
    """So many turns, `pace` seconds apart, with faults if that is not 0; and the memory at turns."""
    trial, samples = Trial(seed), list[tuple[float, int]]()
    with tempfile.TemporaryDirectory(prefix="ck-") as folder:
        project = Project(Path(folder), ("alone",))
        (notebook,) = project.notebooks
        before, began = first_turn(trial, notebook, 1), time.monotonic()
        for number, chance in trial.rounds("soak", turns):
            time.sleep(max(0.0, began + number * pace - time.monotonic()))
            _turn(trial, notebook, number, chance, FAULT_SHARE * (pace > 0))
            if number % max(1, turns // SAMPLES) == 0:
                samples.append((number, notebook.probe()["bytes"]))
        trial.check(0, "end", more(before, notebook), notebook.close(), project.orphans())
    return trial, samples[int(len(samples) * WARM_UP) :]


def _turn(trial: Trial, notebook: Notebook, number: int, chance: random.Random, fault_share: float) -> None:
    if chance.random() < fault_share:
        fault = chance.choice(list(FAULTS))
        trial.ends[fault] += 1
        faulty(trial, notebook, fault, f"t{number}")
        return
    work = EDIT if number % 20 == 19 else chance.choices(list(WORK), list(WORK.values()))[0]
    cell = notebook.begin(work, f"t{number}")
    if work.startswith(("ask", "edit")):
        cell.press()
    trial.check(cell.end(), work, cell.wrong("", 4), cell.lost())


def add(
    report: Report,
    name: str,
    unit: float,
    per: str,
    bound: float | None,
    trial: Trial,
    samples: list[tuple[float, int]],
) -> None:
    """What was found; invariants that broke are printed."""
    for line in trial.broken:
        print(f"soak, {name}: {line}", flush=True)
    report.add(f"{name}: invariants broken", len(trial.broken), "", 0)
    report.add(f"{name}: turns with a fault", trial.ends.total(), "")
    report.add(f"{name}: memory at the end", samples[-1][1] / MB, "MB")
    slope = linear_regression([at / unit for at, _ in samples], [size / MB for _, size in samples]).slope
    report.add(f"{name}: … slope", slope, per, bound)
