"""Where sessions are looked for, which ones are found, and their summaries."""

import os

import pytest
from copilot_kernel.environment import environment_of
from copilot_kernel.store import session_logs
from copilot_kernel.store.session_logs import PROMPT, LogEvent, SessionSummary, folders, stored, summary

from .test_turns import RECORDING
from .writing import answered, asked, write


@pytest.mark.parametrize(("environ", "given", "expected"), [
    ({"HOME": "/h", "XDG_STATE_HOME": "/s"}, "", ["/s/.copilot/session-state", "/h/.copilot/session-state"]),
    ({"HOME": "/h", "XDG_STATE_HOME": "/s", "COPILOT_HOME": "/c"}, "", ["/c/session-state"]),
    ({"HOME": "/h", "COPILOT_HOME": "/c"}, "/given", ["/given/session-state"]),
])  # fmt: skip
def test_the_places_follow_the_environment(environ, given, expected, monkeypatch):
    for name in ("XDG_STATE_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert [str(folder) for folder in folders(environment_of("/"), given)] == expected


def test_the_log_that_changed_last_comes_first(tmp_path):
    old, new = (write(tmp_path / name / "events.jsonl", [asked("a")]) for name in ("old", "new"))
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    found = [(log.id, log.path, log.modified, log.size) for log in stored([tmp_path])]
    assert found == [("new", new, 2000.0, new.stat().st_size), ("old", old, 1000.0, old.stat().st_size)]


def test_one_session_in_two_places_is_one(tmp_path):
    first, second = (write(tmp_path / place / "one" / "events.jsonl", [asked("a")]) for place in "ab")
    os.utime(first, (1000, 1000))
    assert [log.path for log in stored([tmp_path / "a", tmp_path / "b"])] == [second]


def test_what_is_no_log_is_passed_over(tmp_path):
    write(tmp_path / ".session-operation-locks" / "events.jsonl", [asked("a")])
    write(tmp_path / "older-layout.jsonl", [asked("a")])
    (tmp_path / "folder" / "events.jsonl").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "events.jsonl")
    assert stored([tmp_path, tmp_path / "missing"]) == []


# -- summaries ------------------------------------------------------------------------------------------------------


def test_the_recording_has_a_folder_and_is_named_after_its_first_prompt():
    assert summary(RECORDING) == SessionSummary("/project", "Please follow the script.")


@pytest.mark.parametrize(
    "log", [[], [b"damaged\n"], [answered("Alone.")], [("session.start", {"context": 3})]], ids=repr
)
def test_where_nothing_can_be_read_it_is_empty(tmp_path, log):
    assert summary(write(tmp_path / "log", log)) == summary(tmp_path / "missing") == SessionSummary()


def test_only_the_beginning_is_read(tmp_path, monkeypatch):
    def endless(path):
        yield LogEvent(PROMPT, {"content": "first"})
        raise AssertionError("read on")

    monkeypatch.setattr(session_logs, "events", endless)
    assert summary(tmp_path / "log").title == "first"
