"""Damaged logs and rewinds: what can be read is read, the rest is counted, and nothing is ever changed."""

import pytest
from copilot_kernel.errors import CopilotError
from copilot_kernel.store import log as log_module
from copilot_kernel.store.log import ReadStats
from copilot_kernel.store.turns import turns

from .writing import answered, asked, line, shown, write

GOOD = [asked("one"), answered("two")]


@pytest.mark.parametrize("damage", [
    b"no JSON\n",
    b'"text"\n',
    b'{"type": "user.message", "data": []}\n',
    b'{"type": "system.message", "data": {"content": "quiet, and cut o\n',
    b'{"type": "user.message", "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    b"\x00\x00\x00\n",
], ids=lambda damage: repr(damage[:40]))  # fmt: skip
def test_a_damaged_line_costs_itself_alone(tmp_path, damage):
    path, tally = write(tmp_path / "log", [GOOD[0], damage, GOOD[1]]), ReadStats()
    [past] = turns(path, tally)
    assert (past.prompt, shown(past), tally) == ("one", ["two"], ReadStats(3, 1))


ONE, TWO = line(0, GOOD[0]), line(1, GOOD[1])


@pytest.mark.parametrize(("log", "tally"), [
    ([ONE, TWO[:-9]], ReadStats(2, 1)),
    ([ONE, TWO.rstrip()], ReadStats(2, 0)),
    ([b"\n", TWO, b" \r\n", ONE], ReadStats(2, 0)),
    ([b'{"data": {"content": "one"}, "id": "x", "type": "user.message"}\n'], ReadStats(1, 0)),
    ([answered("x" * 500), ONE], ReadStats(2, 1)),
    ([answered("x" * 500), ONE.rstrip()], ReadStats(2, 1)),
])  # fmt: skip
def test_a_line_counts_unless_it_is_cut_off_empty_or_too_long(tmp_path, monkeypatch, log, tally):
    monkeypatch.setattr(log_module, "MAX_LOG_LINE_BYTES", max(len(ONE), len(TWO)))
    stats = ReadStats()
    assert ([past.prompt for past in turns(write(tmp_path / "log", log), stats)], stats) == (["one"], tally)


def test_a_log_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(CopilotError, match="cannot be read: No such file"):
        list(turns(tmp_path / "missing"))


# -- rewinds --------------------------------------------------------------------------------------------------------


TALK = [asked("one"), answered("1"), asked("two"), answered("2"), asked("three"), answered("3")]
"""Their ids are e0 to e5."""
WHOLE = [("one", ["1"]), ("two", ["2"]), ("three", ["3"])]


def rewind(first, *listed):
    return "session.snapshot_rewind", {"upToEventId": first, "eventsRemoved": 1} | (
        {"eventIds": [*listed]} if listed else {}
    )


@pytest.mark.parametrize(("rewinds", "expected"), [
    ([rewind("e4")], [("one", ["1"]), ("two", ["2"])]),
    ([rewind("e2", "e2", "e3")], [("one", ["1"]), ("three", ["3"])]),
    ([rewind("e4"), rewind("e2")], [("one", ["1"])]),
    ([rewind("e2"), asked("again"), answered("4")], [("one", ["1"]), ("again", ["4"])]),
    ([asked("what is session.snapshot_rewind?")], [*WHOLE, ("what is session.snapshot_rewind?", [])]),
    ([rewind("e4"), b'{"data": {"upToEventId": "e2"}, "type": "system.message"}\n'], [("one", ["1"]), ("two", ["2"])]),
    ([rewind("unknown")], WHOLE),
    ([("session.snapshot_rewind", {"upToEventId": "e2", "eventIds": "e3"})], [("one", ["1"])]),
])  # fmt: skip
def test_a_rewind_takes_back_what_it_names(tmp_path, rewinds, expected):
    path = write(tmp_path / "log", [*TALK, *rewinds])
    assert [(past.prompt, shown(past)) for past in turns(path)] == expected
