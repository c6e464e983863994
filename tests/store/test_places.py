"""Where sessions are looked for, and which ones are found."""

from __future__ import annotations

import os

import pytest
from copilot_kernel.store.places import folders, stored

from .writing import asked, write


@pytest.mark.parametrize(("environ", "given", "expected"), [
    ({"HOME": "/h"}, "", ["/h/.copilot/session-state"]),
    ({"HOME": "/h", "COPILOT_HOME": "/c"}, "", ["/c/session-state"]),
    ({"HOME": "/h", "XDG_STATE_HOME": "/s"}, "", ["/s/.copilot/session-state", "/h/.copilot/session-state"]),
    ({"HOME": "/h", "XDG_STATE_HOME": "/s", "COPILOT_HOME": "/c"}, "", ["/c/session-state"]),
    ({"HOME": "/h", "COPILOT_HOME": "/c"}, "/given", ["/given/session-state"]),
])  # fmt: skip
def test_the_places_follow_the_environment(environ, given, expected):
    assert [str(folder) for folder in folders(environ, given)] == expected


def test_both_layouts_are_found_and_the_one_that_changed_last_comes_first(tmp_path):
    old, new = write(tmp_path / "old.jsonl", [asked("a")]), write(tmp_path / "new" / "events.jsonl", [asked("b")])
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    found = [(log.id, log.path, log.modified, log.size) for log in stored([tmp_path])]
    assert found == [("new", new, 2000.0, new.stat().st_size), ("old", old, 1000.0, old.stat().st_size)]


def test_of_one_session_the_newer_layout_counts(tmp_path):
    legacy, today = write(tmp_path / "one.jsonl", [asked("a")]), write(tmp_path / "one" / "events.jsonl", [asked("b")])
    os.utime(today, (1000, 1000))
    os.utime(legacy, (2000, 2000))
    assert [log.path for log in stored([tmp_path])] == [today]


def test_one_session_in_two_places_is_one(tmp_path):
    first, second = (write(tmp_path / place / "one" / "events.jsonl", [asked("a")]) for place in "ab")
    os.utime(first, (1000, 1000))
    assert [log.path for log in stored([tmp_path / "a", tmp_path / "b"])] == [second]


def test_what_is_no_log_is_passed_over(tmp_path):
    write(tmp_path / ".session-operation-locks" / "events.jsonl", [asked("a")])
    write(tmp_path / "notes.txt", [asked("a")])
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert stored([tmp_path, tmp_path / "missing"]) == []
