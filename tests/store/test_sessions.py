"""Where sessions are looked for, which ones are found, and their summaries."""

import os

import pytest
from copilot_kernel.store import log
from copilot_kernel.store.sessions import SessionSummary, folders, stored, summary

from .test_turns import RECORDING
from .writing import answered, asked, line, write


@pytest.mark.parametrize(("environ", "given", "expected"), [
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


def test_one_session_in_two_places_or_layouts_is_one(tmp_path):
    first, second = (write(tmp_path / place / "one" / "events.jsonl", [asked("a")]) for place in "ab")
    os.utime(first, (1000, 1000))
    assert [log.path for log in stored([tmp_path / "a", tmp_path / "b"])] == [second]
    legacy = write(tmp_path / "a" / "one.jsonl", [asked("a")])
    os.utime(legacy, (2000, 2000))
    assert [log.path for log in stored([tmp_path / "a"])] == [first]


def test_what_is_no_log_is_passed_over(tmp_path):
    write(tmp_path / ".session-operation-locks" / "events.jsonl", [asked("a")])
    write(tmp_path / "notes.txt", [asked("a")])
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert stored([tmp_path, tmp_path / "missing"]) == []


# -- summaries ------------------------------------------------------------------------------------------------------


START = "session.start", {"sessionId": "s", "copilotVersion": "1.0.102", "context": {"cwd": "/p"}}


def test_the_recording_has_a_folder_and_is_named_after_its_first_prompt():
    assert summary(RECORDING) == SessionSummary("/project", "Please follow the script.")


@pytest.mark.parametrize(("notes", "title"), [
    ("name: Fix the bug\n", "Fix the bug"),
    ("name: |-\n  First line\n  second\nuser_named: false\n", "First line"),
    ("name: 'It is: quoted'", "It is: quoted"),
    ("name: |-", "hello"),
    ("nothing", "hello"),
    (b"name: \xff\xfe\n".decode("latin-1"), "ÿþ"),
])  # fmt: skip
def test_its_notes_name_it(tmp_path, notes, title):
    path = write(tmp_path / "s" / "events.jsonl", [START, asked("\n  hello \nworld")])
    (tmp_path / "s" / "workspace.yaml").write_text(notes)
    assert summary(path) == SessionSummary("/p", title)
    (tmp_path / "workspace.yaml").write_text("name: of something else\n")
    assert summary(write(tmp_path / "s.jsonl", [START, asked("hello")])).title == "hello"


@pytest.mark.parametrize(
    "log", [[], [b"damaged\n"], [answered("Alone.")], [("session.start", {"context": 3})]], ids=repr
)
def test_where_nothing_can_be_read_it_is_empty(tmp_path, log):
    assert summary(write(tmp_path / "log", log)) == summary(tmp_path / "missing") == SessionSummary()


def test_only_the_beginning_is_read(tmp_path, monkeypatch):
    def endless(path):
        yield line(0, asked("first"))
        raise AssertionError("read on")

    monkeypatch.setattr(log, "lines", endless)
    assert summary(tmp_path / "log").title == "first"
