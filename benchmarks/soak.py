"""One kernel for a long time: a turn a second, 1 % of them with a fault."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from statistics import linear_regression

from .chaos import FAULTS, faulty, first_turn, more
from .report import Report
from .trial import Notebook, Project, Trial

TURNS = 3600
LONG = 1800
"""Turns from which on the slope means something: before that, caches fill."""
FAULT_SHARE = 0.01
WARM_UP = 0.1
"""The share of the samples that the slope leaves out: caches fill, modules are imported."""
SAMPLES = 120
MAX_SLOPE = 2.0
"""MB an hour."""
WORK = {"say {tag} 4": 6, "call 2\nsay {tag} 4": 2, "read notes.txt\nsay {tag} 4": 1, "ask\nsay {tag} 4": 1}
"""What a turn does, and how often."""
EDIT = "edit notes.txt {tag}\nsay {tag} 4"


def run(scale: float, seed: int) -> Report:
    """An hour at `scale` 1."""
    trial, samples, turns = Trial(seed), list[tuple[float, float]](), max(10, round(TURNS * scale))
    with tempfile.TemporaryDirectory(prefix="ck-") as folder:
        project = Project(Path(folder), ("alone",))
        (notebook,) = project.notebooks
        before, began = first_turn(trial, notebook, 1), time.monotonic()
        for number, chance in trial.rounds("soak", turns):
            time.sleep(max(0.0, began + number - time.monotonic()))
            _turn(trial, notebook, number, chance)
            if number % max(1, turns // SAMPLES) == 0:
                samples.append((number / 3600, notebook.probe()["bytes"] / 1_000_000))
        trial.check(0, "end", more(before, notebook), notebook.close(), project.orphans())
    for line in trial.broken:
        print(f"soak: {line}", flush=True)
    report = Report("soak", f"{turns} turns, one a second; seed {seed}")
    report.add("invariants broken", len(trial.broken), "", 0)
    report.add("turns with a fault", trial.ends.total(), "")
    report.add("memory at the end", samples[-1][1], "MB")
    hours, sizes = zip(*samples[int(len(samples) * WARM_UP) :], strict=True)
    slope = linear_regression(hours, sizes).slope
    report.add("… slope", slope, "MB/h", MAX_SLOPE if turns >= LONG else None)
    return report


def _turn(trial: Trial, notebook: Notebook, number: int, chance: random.Random) -> None:
    if chance.random() < FAULT_SHARE:
        fault = chance.choice(list(FAULTS))
        trial.ends[fault] += 1
        faulty(trial, notebook, fault, f"t{number}")
        return
    work = EDIT if number % 20 == 19 else chance.choices(list(WORK), list(WORK.values()))[0]
    cell = notebook.begin(work, f"t{number}")
    if work.startswith(("ask", "edit")):
        cell.press()
    trial.check(cell.end(), work, cell.wrong("", 4), cell.lost())
