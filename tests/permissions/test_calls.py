"""The table of calls: what must be allowed, asked about and rejected, each with its reason."""

import re

import pytest
from copilot_kernel.acp.messages import PermissionOption
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


@pytest.mark.parametrize(("row", "outcome", "option"), [
    *((row, "allow", ONCE) for row in MUST_ALLOW),
    *((row, "ask", None) for row in MUST_ASK),
    *((row, "reject", NO) for row in MUST_REJECT),
], ids=lambda value: _named(value) if isinstance(value, Row) else "")  # fmt: skip
def test_a_call_is_allowed_once_asked_about_or_rejected_for_a_reason_and_what_would_allow_it_does(
    row: Row, outcome: str, option: PermissionOption | None
) -> None:
    decision = _judged(row)
    assert (decision.outcome, decision.option) == (outcome, option), decision.reason
    assert re.match(r"[A-Z`].*\.$", decision.reason, re.DOTALL), "a sentence"
    for rule in (*decision.would, *(offer.rule for offer in decision.offers)):
        assert _judged(row._replace(allow="; ".join(filter(None, (row.allow, rule))))).outcome == "allow"
