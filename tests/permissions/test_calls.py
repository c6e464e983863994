"""The table of calls: what must be allowed, asked about and rejected, each with its reason."""

import re

import pytest
from copilot_kernel.permissions.policy import Decision

from .call_rows import Row
from .calls import MUST_ALLOW, MUST_REJECT
from .calls_asked import MUST_ASK
from .making import NO, ONCE, judged


def _judged(row: Row) -> Decision:
    call, _, *circumstances = row
    return judged(call, **dict(zip(Row._fields[2:], circumstances, strict=True)))


def _named(row: Row) -> str:
    return f"{row.why}: {str(row.call.raw_input)[:60]}"


@pytest.mark.parametrize("row", MUST_ALLOW, ids=_named)
def test_it_is_allowed_once(row: Row) -> None:
    decision = _judged(row)
    assert (decision.outcome, decision.option) == ("allow", ONCE), decision.reason


@pytest.mark.parametrize("row", MUST_ASK, ids=_named)
def test_it_is_asked_about(row: Row) -> None:
    decision = _judged(row)
    assert (decision.outcome, decision.option) == ("ask", None), decision.reason


@pytest.mark.parametrize("row", MUST_REJECT, ids=_named)
def test_it_is_rejected(row: Row) -> None:
    decision = _judged(row)
    assert (decision.outcome, decision.option) == ("reject", NO), decision.reason


@pytest.mark.parametrize("row", [*MUST_ALLOW, *MUST_ASK, *MUST_REJECT], ids=_named)
def test_the_reason_is_a_sentence_and_what_would_allow_it_does(row: Row) -> None:
    decision = _judged(row)
    assert re.match(r"[A-Z`]", decision.reason)
    assert decision.reason.endswith(".")
    assert decision.suggestion in (None, *decision.would)
    for rule in decision.would:
        assert _judged(row._replace(allow="; ".join(filter(None, (row.allow, rule))))).outcome == "allow"
