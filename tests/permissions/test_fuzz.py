"""The property test against real bash, and that it would catch a bad policy."""

import fnmatch
import re
import shutil

import pytest

from .fuzz import LEAST_SHARE, RULES, run

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="these are facts about bash")

SEED = 1954203231


@pytest.mark.parametrize("count", [500, pytest.param(5_000, marks=pytest.mark.long)])
def test_no_allowed_line_runs_a_program_that_no_rule_or_filter_names(count: int) -> None:
    report = run(count, seed=SEED + count)
    assert report.violations == []
    assert report.share >= LEAST_SHARE


def by_pieces(line: str) -> bool:
    """A policy as it is often written: cut at the separators, and each piece compared as a text."""
    pieces = re.split(r"&&|\|\||;|\||\n", line)
    return all(any(fnmatch.fnmatchcase(piece.strip(), rule) for rule in RULES) for piece in pieces)


def test_a_policy_that_matches_text_is_caught() -> None:
    assert len(run(2_000, seed=7, policy=by_pieces, most=3).violations) >= 3
