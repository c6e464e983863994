"""The property test against real bash, and that it would catch a bad policy."""

from __future__ import annotations

import fnmatch
import re
import shutil

import pytest

from .fuzz import LEAST_SHARE, PROGRAMS, RULES, our_policy, run, violations
from .grammar import PLAIN
from .sandbox import sandbox

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="these are facts about bash")

SEED = 1954203231  # other lines each time: python -m tests.permissions.fuzz --count 5000


def test_no_allowed_line_runs_a_program_that_no_rule_or_filter_names() -> None:
    report = run(500, seed=SEED)
    assert report.violations == [], str(report)
    assert report.share >= LEAST_SHARE


def by_text(line: str) -> bool:
    """What is often done: the line as one text, with a pattern."""
    return any(fnmatch.fnmatchcase(line, rule) for rule in RULES)


def by_pieces(line: str) -> bool:
    """A little better: cut at the separators, and each piece as a text."""
    return all(by_text(piece.strip()) for piece in re.split(r"&&|\|\||;|\||\n", line))


@pytest.mark.parametrize("policy", [by_text, by_pieces])
def test_policies_that_match_text_are_caught(policy) -> None:
    assert len(run(2_000, seed=7, policy=policy, most=3).violations) >= 3


def test_a_run_that_allows_too_little_fails() -> None:
    report = run(50, seed=1, policy=lambda _: False)
    assert (report.violations, report.is_good) == ([], False)


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("git status; evil", "ran ['evil']"),
        ("ls $(./evil)", "ran ['./evil']"),
        ("ls | tail -f", "ran ['tail'"),
        ("ls; nothing-of-this-name", "command not found"),
        ("npm test -- more", "ran ['npm'"),
        ("eval ': > a.txt'", "changed ['a.txt'"),
        ("ls {a,b}", "was not judged"),
    ],
)
def test_each_kind_of_harm_is_seen(line: str, sign: str) -> None:
    with sandbox(PROGRAMS) as room:
        assert any(sign in wrong for wrong in violations(line, room)), violations(line, room)


def test_ordinary_lines_are_allowed_and_do_no_harm() -> None:
    with sandbox(PROGRAMS) as room:
        for line in PLAIN:
            is_alone = line.split()[0] in ("echo", "pwd", "true")
            assert (line, our_policy(line), violations(line, room)) == (line, not is_alone, [])
