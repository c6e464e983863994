"""`copilot-kernel sessions` as a user meets it, with stores in temporary folders and the demo agent."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ..store.writing import asked, write

DAY = 86_400.0
HEAD = ["ID", "Last", "used", "Where", "Folder", "Title"]


@pytest.fixture
def store(tmp_path: Path) -> dict[str, str]:
    """The environment of a store with a new session and one older by a day."""
    places = tmp_path / "copilot" / "session-state"
    start = {"context": {"cwd": str(tmp_path)}}
    new = write(
        places / "new-1" / "events.jsonl", [("session.start", start), asked("Fix\x1b]0;x\x07 \u202eit\nplease")]
    )
    old = write(
        places / "old-2" / "events.jsonl", [("session.start", {"context": {"cwd": "/elsewhere"}}), asked("x" * 100)]
    )
    os.utime(new, (10 * DAY, 10 * DAY))
    os.utime(old, (9 * DAY, 9 * DAY))
    return {
        "COPILOT_HOME": str(tmp_path / "copilot"),
        "COPILOT_KERNEL_DEMO_HOME": str(tmp_path / "demo"),
        "TZ": "UTC",
    }


def listed(done: Any) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_table_with_the_one_used_last_on_top(program, store, tmp_path):
    done = program("sessions", "--offline", **store)
    head, *rows = done.stdout.splitlines()
    assert (done.returncode, done.stderr, head.split()) == (0, "", HEAD)
    assert [row.split()[:4] for row in rows] == [
        ["new-1", "1970-01-11", "00:00", "disk"],
        ["old-2", "1970-01-10", "00:00", "disk"],
    ]
    assert rows[0].endswith("  Fix⟨U+001B⟩]0;x⟨U+0007⟩ ⟨U+202E⟩it")
    assert rows[1].split()[4:] == ["/elsewhere", "x" * 59 + "…"]


def test_json_is_one_object_and_nothing_else(program, store, tmp_path):
    places = tmp_path / "copilot" / "session-state"
    log = places / "new-1" / "events.jsonl"
    found = listed(program("sessions", "--offline", "--json", "--here", **store))
    assert found == {
        "sessions": [
            {
                "id": "new-1",
                "title": "Fix\x1b]0;x\x07 \u202eit",
                "cwd": str(tmp_path),
                "updated": "1970-01-11T00:00:00+00:00",
                "sources": ["disk"],
                "path": str(log),
                "size": log.stat().st_size,
            }
        ],
        "looked_in": [str(places)],
        "problem": "",
    }


def test_what_the_agent_lists_stands_beside_what_is_on_disk(program, converse, store, tmp_path):
    session = converse("demo: say Hello", **store)
    write(tmp_path / "copilot" / "session-state" / session / "events.jsonl", [asked("on disk, too")])
    sessions = listed(program("sessions", "--json", **store))["sessions"]
    assert [(each["id"], each["sources"]) for each in sessions] == [
        (session, ["disk", "agent"]),
        ("new-1", ["disk"]),
        ("old-2", ["disk"]),
    ]
    assert (sessions[0]["title"], sessions[0]["cwd"]) == ("Demo: demo: say Hello", str(tmp_path))
    assert datetime.fromisoformat(sessions[0]["updated"]).tzinfo == UTC


def test_sessions_of_this_folder_are_kept_apart_from_others(program, converse, store, tmp_path):
    (tmp_path / "other").mkdir()
    converse("demo: say Hello", **store)
    converse("demo: say Bye", COPILOT_KERNEL_CWD=str(tmp_path / "other"), **store)
    here = listed(program("sessions", "--json", "--here", **store))["sessions"]
    everywhere = listed(program("sessions", "--json", **store))["sessions"]
    assert [each["title"] for each in here] == ["Demo: demo: say Hello", "Fix\x1b]0;x\x07 \u202eit"]
    assert len(everywhere) == 4


def test_a_given_folder_is_the_only_one(program, store, tmp_path):
    write(tmp_path / "given" / "session-state" / "g" / "events.jsonl", [asked("hi")])
    found = listed(program("sessions", "--offline", "--json", "--config-dir", str(tmp_path / "given"), **store))
    assert ([each["id"] for each in found["sessions"]], found["looked_in"]) == (
        ["g"],
        [str(tmp_path / "given" / "session-state")],
    )


def test_an_agent_that_cannot_be_asked_does_not_hide_what_is_on_disk(program, store):
    done = program("sessions", "--agent", "no-such-agent", **store)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3)
    assert done.stderr.startswith(
        "copilot-kernel: The agent could not list its sessions: The agent's program no-such-agent was not found"
    )


def test_an_agent_that_is_silent_is_not_waited_for_longer_than_it_may_take_to_start(program, store):
    done = program("sessions", COPILOT_KERNEL_DEMO="never-answers", COPILOT_KERNEL_START_TIMEOUT="1", **store)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3)
    assert "The agent could not list its sessions" in done.stderr


def test_without_a_store_it_says_where_it_looked(program, tmp_path):
    nowhere = {"COPILOT_HOME": str(tmp_path / "none")}
    offline = program("sessions", "--offline", **nowhere)
    assert (offline.returncode, offline.stdout) == (0, "")
    assert offline.stderr == f"No sessions. Looked for {tmp_path / 'none' / 'session-state' / '*' / 'events.jsonl'}\n"
    assert program("sessions", "--agent", "no-such-agent", **nowhere).returncode == 1
