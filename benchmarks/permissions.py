"""How long the policy takes to decide, over the tests' tables and over slow inputs.

That it is never wrong is for `tests/permissions`, with random command lines in real bash.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import PolicyContext, decide

from tests.permissions import calls, calls_asked, test_commands
from tests.permissions.denied_lines import DENIED
from tests.permissions.making import OPTIONS, around, edit, fetch, make
from tests.permissions.making import run as command

from .report import Report, percentile

ROUNDS = 8

Case = tuple[ToolCall, PolicyContext, ToolCall | None]

_ALLOW = "Bash(git *); Bash(cat *); Edit(**/*.py); Edit(*a*a*a*b); Read(**/a/**/b); WebFetch(domain:*.example.com)"
_DENY = "Read(**/a/**/b); Edit(*a*a*b); Bash(rm *)"


def run(scale: float = 1.0) -> Report:
    """Each case once in each round."""
    usual, hostile = list(_usual()), list(_hostile())
    rounds = max(2, round(ROUNDS * scale))
    slow = [_seconds(*case) for _ in range(rounds) for case in hostile]
    ours = [*slow, *(_seconds(*case) for _ in range(rounds) for case in usual)]
    report = Report("permissions", f"{len(usual)} calls of the tables and {len(hostile)} hostile ones, {rounds} rounds")
    report.add("a decision, median", median(ours) * 1000, "ms", 0.2)
    report.add("a decision, p99", percentile(ours, 0.99) * 1000, "ms", 5)
    return report


def _usual() -> Iterator[Case]:
    for row in (*calls.MUST_ALLOW, *calls_asked.MUST_ASK, *calls.MUST_REJECT):
        yield row.call, around(row.call, row.allow, row.ask, row.deny, row.mode, row.links, row.cwd), row.earlier
    for rule, line in DENIED:
        for allow, mode in (("Bash", "default"), ("", "bypassPermissions")):
            yield command(line), around(command(line), allow, deny=rule, mode=mode), None
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


def _seconds(call: ToolCall, context: PolicyContext, earlier: ToolCall | None) -> float:
    """CPU time: a decision waits for nothing, and what else the machine does is no part of it."""
    start = time.thread_time()
    decide(call, OPTIONS, context, earlier)
    return time.thread_time() - start
