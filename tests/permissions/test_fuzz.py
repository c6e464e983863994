"""The property test against real bash, and that it would see a bad policy."""

from __future__ import annotations

import fnmatch
import re
import shlex
import shutil

import pytest
from copilot_kernel.permissions.commands import Verdict, judge
from copilot_kernel.permissions.patterns import compile_pattern

from .fuzz import LEAST_SHARE, PROGRAMS, RULES, our_policy, run, violations
from .grammar import PLAIN
from .sandbox import sandbox

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="these are facts about bash")


SEED = 1954203231
"""The same lines each time, so that a change is blamed for what it did; new lines are for `python -m
tests.permissions.fuzz`, whose seed is another one each time."""


def test_nothing_that_is_approved_runs_or_writes_what_no_rule_allows(record_testsuite_property) -> None:
    report = run(5_000, seed=SEED)
    record_testsuite_property("permissions_fuzz", str(report))
    print(report)
    assert report.violations == [], str(report)
    assert report.share >= LEAST_SHARE


def by_text(line: str) -> Verdict:
    """What is often done: the line as one text, with a pattern."""
    return Verdict("allow" if any(fnmatch.fnmatchcase(line, rule) for rule in RULES) else "ask", "")


def by_pieces(line: str) -> Verdict:
    """A little better: cut at the separators, and each piece as a text."""
    pieces = [piece.strip() for piece in re.split(r"&&|\|\||;|\||\n", line)]
    return Verdict("allow" if all(by_text(piece).outcome == "allow" for piece in pieces) else "ask", "")


def by_shlex(line: str) -> Verdict:
    """The library's lexer, and the rules on words, but nothing about what options do."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return Verdict("ask", "")
    return by_text(" ".join(words)) if not any(set(word) <= set(";&|<>()") for word in words) else by_pieces(line)


@pytest.mark.parametrize("policy", [by_text, by_pieces, by_shlex])
def test_the_runner_catches_policies_that_match_text(policy) -> None:
    report = run(3_000, seed=7, policy=policy, most=3)
    assert len(report.violations) >= 3
    assert not report.is_good


def test_the_runner_catches_a_policy_that_knows_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilot_kernel.permissions.commands.hidden", lambda *_: "")
    report = run(3_000, seed=7, most=3)
    assert len(report.violations) >= 3


def test_a_run_that_approves_too_little_fails() -> None:
    report = run(50, seed=1, policy=lambda _: Verdict("ask", ""))
    assert (report.violations, report.is_good) == ([], False)


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("git status; evil", "ran ['evil']"),
        ("ls $(./evil)", "ran ['./evil']"),
        ("./src/evil &>/dev/null &", "ran ['./src/evil']"),
        ("ls; nothing-of-this-name", "command not found"),
        ("npm test -- more", "ran ['npm'"),
        ("echo > new.txt", "changed ['new.txt']"),
        (": > a.txt", "changed ['a.txt']"),
        ("echo more >> notes.md &", "changed ['notes.md']"),
        ("git -c core.pager=evil log", "may start another program"),
        ("find . -delete", "may start another program"),
        ("ls {a,b}", "was not judged"),
    ],
)
def test_the_runner_sees_each_kind_of_harm(line: str, sign: str) -> None:
    with sandbox(PROGRAMS) as room:
        assert any(sign in wrong for wrong in violations(line, Verdict("allow", ""), room))


def test_ordinary_commands_are_approved_and_do_no_harm() -> None:
    with sandbox(PROGRAMS) as room:
        for line in PLAIN:
            verdict = our_policy(line)
            assert (line, verdict.outcome, violations(line, verdict, room)) == (line, "allow", [])


def test_the_same_seed_makes_the_same_run() -> None:
    rules = [compile_pattern(rule) for rule in RULES]
    reports = [run(200, seed=3, policy=lambda line: judge(line, rules)) for _ in range(2)]
    assert reports[0].approved == reports[1].approved > 0
