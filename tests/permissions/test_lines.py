"""The table of command lines: what must be allowed, must ask, must be denied."""

from __future__ import annotations

import pytest
from copilot_kernel.permissions.commands import Verdict, judge
from copilot_kernel.permissions.patterns import Pattern, compile_pattern

from .lines import MUST_ALLOW, MUST_DENY, Row
from .lines_asked import MUST_ASK


def compiled(rules: str) -> list[Pattern]:
    return [compile_pattern(rule) for rule in rules.split("; ") if rule]


def judged(row: Row, *, denies: bool = False) -> Verdict:
    limits = compiled(row.limits)
    return judge(row.line, compiled(row.rules), () if denies else limits, limits if denies else ())


def name(row: Row) -> str:
    return f"{row.line[:40].encode('unicode_escape').decode()} ({row.why})"


@pytest.mark.parametrize("row", MUST_ALLOW, ids=name)
def test_ordinary_work_is_allowed(row: Row) -> None:
    assert judged(row) == Verdict("allow", *_allowed_by(row))


def _allowed_by(row: Row) -> tuple[str, tuple[str, ...]]:
    """The reason names the rules, and all of them are the row's."""
    verdict = judged(row)
    assert set(verdict.rules) <= set(row.rules.split("; "))
    return "allowed by " + ", ".join(f"Bash({rule})" for rule in verdict.rules), verdict.rules


@pytest.mark.parametrize("row", MUST_ASK, ids=name)
def test_whatever_is_more_than_that_is_asked_about(row: Row) -> None:
    verdict = judged(row)
    assert verdict.outcome == "ask"
    assert verdict.reason


@pytest.mark.parametrize("row", MUST_DENY, ids=name)
def test_what_is_denied_is_denied_in_every_form(row: Row) -> None:
    assert judged(row, denies=True).outcome == "deny"


@pytest.mark.parametrize("row", MUST_DENY, ids=name)
def test_the_same_rules_ask_where_they_are_rules_to_ask(row: Row) -> None:
    assert judged(row).outcome == "ask"


def test_no_row_stands_twice_and_the_table_is_as_large_as_it_says() -> None:
    rows = [*MUST_ALLOW, *MUST_ASK, *MUST_DENY]
    assert len({row[:2] + row[3:] for row in rows}) == len(rows)
    assert (len(MUST_ALLOW) >= 110, len(rows) >= 300) == (True, True)
