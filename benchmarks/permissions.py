"""How long the policy takes to decide, over the tests' tables and over slow inputs; and whether it is ever wrong.

The floor is a policy that compares texts: `fnmatch` of every rule with the command or path. Random command lines
that are allowed are run by bash (`tests/permissions/fuzz.py`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from statistics import median

from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import PolicyContext, decide

from tests.permissions import calls, calls_asked, test_commands
from tests.permissions.denied_lines import DENIED
from tests.permissions.fuzz import LEAST_SHARE
from tests.permissions.fuzz import run as fuzz
from tests.permissions.making import OPTIONS, around, edit, fetch, make
from tests.permissions.making import run as command

from .report import Report, percentile

ROUNDS = 8
FUZZED = 2_000

Case = tuple[ToolCall, PolicyContext, ToolCall | None]

_ALLOW = "Bash(git *); Bash(cat *); Edit(**/*.py); Edit(*a*a*a*b); Read(**/a/**/b); WebFetch(domain:*.example.com)"
_DENY = "Read(**/a/**/b); Edit(*a*a*b); Bash(rm *)"


def run(scale: float = 1.0) -> Report:
    """Each case once in each round; the bound is for all cases together, and told for the hostile ones alone."""
    usual, hostile = [*_calls(), *_lines()], list(_hostile())
    rounds = max(2, round(ROUNDS * scale))
    ours = [_timed(_decision(case)) for _ in range(rounds) for case in (*usual, *hostile)]
    slow = [_timed(_decision(case)) for _ in range(rounds) for case in hostile]
    floor = [_timed(_floor(case)) for _ in range(rounds) for case in usual]
    report = Report("permissions", f"{len(usual)} calls of the tables and {len(hostile)} hostile ones, {rounds} rounds")
    report.add("decisions per second", len(ours) / sum(ours), "/s")
    report.add("a decision, median", median(ours) * 1000, "ms", bound=0.2)
    report.add("a decision, p99", percentile(ours, 0.99) * 1000, "ms", bound=5)
    report.add("a decision about a hostile call, median", median(slow) * 1000, "ms")
    report.add("a decision about a hostile call, slowest", max(slow) * 1000, "ms")
    report.add("fnmatch over the same rules, median", median(floor) * 1000, "ms")
    report.add("ratio of the medians", median(ours) / median(floor), "×")
    _add_fuzz(report, max(50, round(FUZZED * scale)))
    return report


def _add_fuzz(report: Report, count: int) -> None:
    found = fuzz(count, random.SystemRandom().randrange(1 << 32))
    report.add(f"random command lines, seed {found.seed}", found.count, "lines")
    report.add("of them not approved", 100 * (1 - found.share), "%", bound=100 * (1 - LEAST_SHARE))
    report.add("approved ones that did what no rule allows, in real bash", len(found.violations), "", bound=0)


def _calls() -> Iterator[Case]:
    for row in (*calls.MUST_ALLOW, *calls_asked.MUST_ASK, *calls.MUST_REJECT):
        yield row.call, around(row.call, row.allow, row.ask, row.deny, row.mode, row.links, row.cwd), row.earlier
    for rule, line in DENIED:
        for allow, mode in (("Bash", "default"), ("", "bypassPermissions")):
            yield command(line), around(command(line), allow, deny=rule, mode=mode), None


def _lines() -> Iterator[Case]:
    for line in (*test_commands.LINES, *test_commands.split(test_commands.STARTS_PROGRAMS)):
        yield command(line), around(command(line), test_commands.EVERY, "", "Bash(dd *)"), None


def _hostile() -> Iterator[Case]:
    for call in (
        command("git status; " * 800),
        command("cat " + "a/" * 4_900),
        command("cat " + " ".join(f"a/{number}" for number in range(1_400))),
        command("x" * 1_000_000),
        command("git status", "a " * 100_000),
        make("edit", {"edits": [{"path": f"src/{number}.py"} for number in range(1_000)]}),
        make("edit", {"path": "a", "diff": "--- a\n" * 20_000}),
        make("edit", {"path": "a", "content": "x" * 5_000_000}),
        make("read", {"path": "a/" * 2_000}),
        make("read", {"a": ["x"] * 100_000}),
        edit("a" * 4_000),
        fetch("https://" + "a." * 4_000),
    ):
        yield call, around(call, _ALLOW, "", _DENY), None


def _decision(case: Case) -> Callable[[], object]:
    call, context, earlier = case
    return lambda: decide(call, OPTIONS, context, earlier)


def _floor(case: Case) -> Callable[[], object]:
    call, context, _ = case
    rules = context.rules
    patterns = [rule.text.partition("(")[2].rstrip(")") for rule in (*rules.deny, *rules.ask, *rules.allow)]
    text = str(call.raw_input)
    return lambda: [fnmatch(text, f"*{pattern}*") for pattern in patterns]


def _timed(act: Callable[[], object]) -> float:
    """Seconds of processor time: a decision waits for nothing, and what else the machine does is no part of it."""
    start = time.thread_time()
    act()
    return time.thread_time() - start
