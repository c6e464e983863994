"""One session for a long time: a turn a second with 1 % faults, and many turns as fast as they go."""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.jupyter.front_end import FrontEnd, Outcome

from .faults import REPLY_LIMIT, forget, kernel, mark, orphans, probe, words
from .report import Report

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

FAULTS = ("die", "hang", "refuse", "garbage")
WORK = {"say {tag} 8": 6, "call 2\nsay {tag} 4": 2, "read notes.txt\nsay {tag} 4": 1, "ask\nsay {tag} 4": 1}
"""What a turn does, and how often."""
EDIT = "edit notes.txt {tag}\nsay {tag} 4"


@dataclass
class Run:
    """One kernel under turns: `broken` are the invariants that did not hold, `samples` what the kernel held when."""

    front_end: FrontEnd
    folder: Path
    chance: random.Random
    fault_share: float = FAULT_SHARE
    turns: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    samples: list[tuple[float, dict[str, int]]] = field(default_factory=list)

    def turn(self) -> None:
        """The next one, with its checks; each has a cell of its own."""
        self.turns += 1
        tag = f"t{self.turns}"
        try:
            if self.chance.random() < self.fault_share:
                self._faulty(tag, self.chance.choice(FAULTS))
            else:
                work = EDIT if self.turns % 20 == 0 else self.chance.choices(list(WORK), list(WORK.values()))[0]
                outcome = self._cell(work.format(tag=tag))
                self._check(outcome, outcome.status == "ok" and words(outcome.text, tag) >= 4, work)
        except AssertionError as error:
            self.broken.append(f"turn {self.turns}: {str(error)[:300]}")
        forget(self.front_end)

    def _faulty(self, tag: str, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1
        outcome = self._cell(f"say {tag} 3\n{fault}\nsay {tag}-after 1 20", interrupt=fault == "hang")
        wanted = "ok" if fault in ("refuse", "garbage") else "error"
        self._check(outcome, outcome.status == wanted and words(outcome.text, tag) == 3, fault)

    def _cell(self, script: str, *, interrupt: bool = False) -> Outcome:
        request = self.front_end.execute(script, cell_id=f"cell-{self.turns}")
        if script.startswith(("ask", "edit")):
            self.front_end.click(self.front_end.button("Allow once"))
        if interrupt:
            self.front_end.shows("w2", request)
            self.front_end.manager.interrupt_kernel()
        return self.front_end.finish(request, REPLY_LIMIT)

    def _check(self, outcome: Outcome, holds: bool, what: str) -> None:
        if not holds:
            self.broken.append(f"turn {self.turns} ({what!r}): {outcome.status}, {outcome.text[-300:]!r}")

    def sample(self, at: float) -> None:
        """What the kernel holds now."""
        self.samples.append((at, probe(self.front_end, self.folder)))
        forget(self.front_end)


def run(scale: float, seed: int) -> Report:
    """At `scale` 1, an hour and 5,000 turns."""
    seconds, turns = round(SECONDS * scale), round(TURNS * scale)
    report = Report("soak", f"{seconds} s at a turn a second, then {turns} turns in one session; seed {seed}")
    paced = _soak(lambda run: _paced(run, seconds), random.Random(f"{seed} paced"), FAULT_SHARE, report)
    tell(report, "a turn a second", paced, 3600, "MB/h", MAX_SLOPE if seconds >= LONG else None)
    quick = _soak(lambda run: _quick(run, turns), random.Random(f"{seed} quick"), 0, report)
    tell(report, "one session", quick, 1000, "MB / 1,000 turns")
    return report


def _paced(run: Run, seconds: int) -> None:
    began = time.monotonic()
    step = max(1, seconds // SAMPLES)
    for second in range(seconds):
        time.sleep(max(0.0, began + second - time.monotonic()))
        run.turn()
        if second % step == 0:
            run.sample(time.monotonic() - began)


def _quick(run: Run, turns: int) -> None:
    for number in range(turns):
        run.turn()
        if number % max(1, turns // SAMPLES) == 0:
            run.sample(number)


def _soak(work: Any, chance: random.Random, fault_share: float, report: Report) -> Run:
    environ = mark()
    with tempfile.TemporaryDirectory(prefix="copilot-kernel-benchmark-") as name:
        folder = Path(name)
        with kernel(folder, environ) as front_end:
            (folder / "work" / "notes.txt").write_text("nothing yet\n")
            run = Run(front_end, folder, chance, fault_share)
            work(run)
            run.broken += front_end.complaints()
            front_end.control("shutdown_request", {"restart": False})
            run.broken += [f"an orphan: {command}" for command in orphans(environ)]
    return run


def tell(report: Report, name: str, run: Run, unit: float, per: str, bound: float | None = None) -> None:
    """What was found; invariants that broke are printed at once, since a report holds numbers only."""
    for line in run.broken:
        print(f"soak, {name}: {line}", flush=True)
    report.add(f"{name}: invariants broken in {run.turns:,} turns", len(run.broken), "", 0)
    report.add(f"{name}: turns with a fault", sum(run.faults.values()), "")
    kept = run.samples[int(len(run.samples) * WARM_UP) :]
    first, last = kept[0][1], kept[-1][1]
    report.add(f"{name}: memory at the end", last["bytes"] / MB, "MB")
    report.add(f"{name}: … slope", slope([(at / unit, held["bytes"] / MB) for at, held in kept]), per, bound)
    for what in ("tasks", "threads", "descriptors"):
        report.add(f"{name}: more {what} than after the warm-up", last[what] - first[what], "", 2)


def slope(points: list[tuple[float, float]]) -> float:
    """By least squares."""
    middle_x, middle_y = fmean(x for x, _ in points), fmean(y for _, y in points)
    spread: float = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread
