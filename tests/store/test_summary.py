"""What a list says of a session."""

from __future__ import annotations

import pytest
from copilot_kernel.store import lines
from copilot_kernel.store import summary as summary_module
from copilot_kernel.store.summary import Summary, summary

from .test_past import RECORDING
from .writing import answered, asked, line, write

START = "session.start", {"sessionId": "s", "copilotVersion": "1.0.102", "context": {"cwd": "/p"}}


def test_the_recording_has_a_folder_and_is_named_after_its_first_prompt():
    assert summary(RECORDING) == Summary("/project", "Please follow the script.", "1.0.102")


@pytest.mark.parametrize(("notes", "title"), [
    ("name: Fix the bug\n", "Fix the bug"),
    ("id: s\nname: 'It is: quoted'\n", "It is: quoted"),
    ("name: |-\n  First line\n  second\nuser_named: false\n", "First line"),
    ("name: |-", "hello"),
    ("name:\n", "hello"),
    ("nothing", "hello"),
    (b"name: \xff\xfe\n".decode("latin-1"), "ÿþ"),
])  # fmt: skip
def test_its_notes_name_it(tmp_path, notes, title):
    path = write(tmp_path / "s" / "events.jsonl", [START, asked("\n  hello \nworld")])
    (tmp_path / "s" / "workspace.yaml").write_text(notes)
    assert summary(path) == Summary("/p", title, "1.0.102")


def test_a_legacy_log_has_no_notes(tmp_path):
    (tmp_path / "workspace.yaml").write_text("name: of something else\n")
    assert summary(write(tmp_path / "s.jsonl", [START, asked("hello")])).title == "hello"


@pytest.mark.parametrize(
    "log", [[], [b"damaged\n"], [answered("Alone.")], [("session.start", {"context": 3})]], ids=repr
)
def test_where_nothing_can_be_read_it_is_empty(tmp_path, log):
    assert summary(write(tmp_path / "log", log)) == summary(tmp_path / "missing") == Summary()


def test_only_the_beginning_is_read(tmp_path, monkeypatch):
    def endless(path):
        yield line(0, asked("first"))
        raise AssertionError("read on")

    monkeypatch.setattr(lines, "lines", endless)
    assert summary(tmp_path / "log").title == "first"


@pytest.mark.parametrize(("titles", "notes", "title"), [
    (["First", "Second"], "", "Second"),
    (["First", ""], "", "First"),
    (["First", 3], "", "First"),
    (["First"], "name: Of its notes\n", "Of its notes"),
    ([], "", "hello"),
])  # fmt: skip
def test_a_title_that_changed_names_it(tmp_path, titles, notes, title):
    changes = [("session.title_changed", {"title": each}) for each in titles]
    log = [START, asked("hello"), *changes[:1], answered("x" * summary_module.WINDOW * 3), *changes[1:]]
    path = write(tmp_path / "s" / "events.jsonl", log)
    (tmp_path / "s" / "workspace.yaml").write_text(notes)
    assert summary(path).title == title


def test_of_a_long_log_only_the_ends_are_searched_for_a_title(tmp_path):
    filler = answered("x" * summary_module.WINDOW)
    path = write(
        tmp_path / "log", [START, asked("hello"), filler, ("session.title_changed", {"title": "Lost"}), filler]
    )
    assert summary(path).title == "hello"


def test_a_title_that_somebody_talks_of_is_none(tmp_path):
    path = write(tmp_path / "log", [START, asked("hello"), answered("x", title="session.title_changed")])
    assert summary(path).title == "hello"
