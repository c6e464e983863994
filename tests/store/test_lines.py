"""Damaged logs: what can be read is read, what cannot is counted, and nothing is ever changed."""

from __future__ import annotations

import pytest
from copilot_kernel.errors import CopilotError
from copilot_kernel.store import lines
from copilot_kernel.store.lines import Tally, events
from copilot_kernel.store.past import turns

from .writing import answered, asked, line, shown, write

GOOD = [asked("one"), answered("two")]


def kinds(path, tally=None):
    return [event.type for event in events(path, tally or Tally(), lambda kind: True)]


@pytest.mark.parametrize("damage", [
    b"no JSON\n",
    b'{"type": "user.message", "data": {"content": "\xff\xfe"}}\n',
    b"[]\n",
    b'"text"\n',
    b'{"type": "user.message"}\n',
    b'{"type": 7, "data": {}}\n',
    b'{"type": "user.message", "data": []}\n',
    b'{"type": "system.message", "data": {"content": "quiet, and cut o\n',
    b'{"type": "user.message", "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    b"\x00\x00\x00\n",
], ids=lambda damage: repr(damage[:40]))  # fmt: skip
def test_a_damaged_line_costs_itself_alone(tmp_path, damage):
    path, tally = write(tmp_path / "log", [GOOD[0], damage, GOOD[1]]), Tally()
    [past] = turns(path, tally)
    assert (past.prompt, shown(past), tally) == ("one", ["two"], Tally(3, 1))


def test_a_last_line_that_was_cut_off_costs_itself_alone(tmp_path):
    path, tally = write(tmp_path / "log", [*GOOD, line(2, answered("three"))[:-9]]), Tally()
    [past] = turns(path, tally)
    assert (shown(past), tally) == (["two"], Tally(3, 1))


def test_a_last_line_that_only_lacks_its_end_counts(tmp_path):
    path, tally = write(tmp_path / "log", [GOOD[0], line(1, GOOD[1]).rstrip()]), Tally()
    assert (kinds(path, tally), tally) == (["user.message", "assistant.message"], Tally(2, 0))


def test_a_line_beyond_the_limit_is_skipped_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1000)
    path, tally = write(tmp_path / "log", [GOOD[0], answered("x" * 5000), GOOD[1]]), Tally()
    assert (kinds(path, tally), tally) == (["user.message", "assistant.message"], Tally(3, 1))


def test_a_line_of_just_the_limit_is_read(tmp_path, monkeypatch):
    whole = line(0, asked("x" * 500))
    monkeypatch.setattr(lines, "LONGEST", len(whole))
    assert kinds(write(tmp_path / "log", [whole, GOOD[1]])) == ["user.message", "assistant.message"]
    assert kinds(write(tmp_path / "log", [GOOD[1], whole.rstrip()])) == ["assistant.message", "user.message"]


def test_empty_lines_are_no_lines(tmp_path):
    tally = Tally()
    assert (kinds(write(tmp_path / "log", [b"\n", GOOD[0], b" \r\n"]), tally), tally) == (["user.message"], Tally(1, 0))


def test_a_type_that_is_not_written_first_is_found(tmp_path):
    path = write(tmp_path / "log", [b'{"data": {"content": "hi"}, "id": "x", "type": "user.message"}\n'])
    assert [past.prompt for past in turns(path)] == ["hi"]


def test_a_log_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(CopilotError, match="cannot be read: No such file"):
        list(turns(tmp_path / "missing"))


def test_reading_changes_nothing(tmp_path):
    path = write(tmp_path / "log", [*GOOD, b"damaged\n", ("session.snapshot_rewind", {"upToEventId": "e1"})])
    before = path.read_bytes(), path.stat().st_mtime_ns, [*tmp_path.iterdir()]
    list(turns(path))
    assert (path.read_bytes(), path.stat().st_mtime_ns, [*tmp_path.iterdir()]) == before
