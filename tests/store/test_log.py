"""Damaged logs: what can be read is read, the reader of the notebook sees where a line is missing."""

import pytest
from copilot_kernel.errors import CopilotError
from copilot_kernel.store.turns import LINE_DAMAGED, turns

from .writing import answered, asked, line, shown, write

GOOD = [asked("one"), answered("two")]
MISSING = f"⚠ warning: {LINE_DAMAGED}"


@pytest.mark.parametrize("damage", [
    b"no JSON\n",
    b'"text"\n',
    b'{"type": "user.message", "data": []}\n',
    b'{"type": "system.message", "data": {"content": "quiet, and cut o\n',
    b'{"type": "user.message", "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    b"\x00\x00\x00\n",
], ids=lambda damage: repr(damage[:40]))  # fmt: skip
def test_a_damaged_line_costs_itself_alone(tmp_path, damage):
    [past] = turns(write(tmp_path / "log", [GOOD[0], damage, GOOD[1]]))
    assert (past.prompt, shown(past)) == ("one", [MISSING, "two"])


ONE, TWO = line(0, GOOD[0]), line(1, GOOD[1])


@pytest.mark.parametrize(("log", "expected"), [
    ([ONE, TWO[:-9]], [MISSING]),
    ([ONE, TWO.rstrip()], ["two"]),
    ([b"\n", ONE, b" \r\n", TWO], ["two"]),
    ([b'{"data": {"content": "one"}, "id": "x", "type": "user.message"}\n'], []),
])  # fmt: skip
def test_a_line_counts_unless_it_is_cut_off_or_empty(tmp_path, log, expected):
    assert [(past.prompt, shown(past)) for past in turns(write(tmp_path / "log", log))] == [("one", expected)]


def test_a_log_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(CopilotError, match="cannot be read: No such file"):
        list(turns(tmp_path / "missing"))
