"""Turns out of logs: the recording of a real session, and what the recording does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from copilot_kernel.acp.messages import Image, Resource, ResourceLink
from copilot_kernel.conversation.model import Attachment
from copilot_kernel.store import past
from copilot_kernel.store.lines import Tally
from copilot_kernel.store.past import turns

from .writing import answered, asked, line, shown, write

RECORDING = Path(__file__).with_name("data") / "events.jsonl"

THOUGHT = ["Thinking:\n  I look at the question first.", "There are **three lines** of notes."]
EDIT = [
    "I read.",
    "✓ Viewing /project/notes.txt · done\n  one\n  two\n  three",
    "✓ Editing /project/notes.txt · done · Allowed (you)\n  --- /project/notes.txt\n  +++ /project/notes.txt\n"
    "  @@ -1,4 +1,4 @@\n   one\n  -two\n  +TWO\n   three\n   ",
    "Changed.",
]
CREATE = [
    "✓ Creating /project/new.txt · done · Allowed (you)\n  (new file, +1)\n  --- /dev/null\n  +++ /project/new.txt\n"
    "  @@ -0,0 +1 @@\n  +hello",
    "Created.",
]
SHELL = ["✗ Run a command · done with exit code 3 · Allowed (you)\n  $ echo counted; exit 3\n  counted", "It ended."]
REJECTED = [
    "⊘ Editing /project/notes.txt · Rejected (you)\n  (line numbers count within what was sent)\n"
    "  --- /project/notes.txt\n  +++ /project/notes.txt\n  @@ -1 +1 @@\n  -three\n  +THREE"
]


def test_a_recorded_session_reads_as_it_was():
    tally = Tally()
    told = [*turns(RECORDING, tally)]
    assert tally.damaged == 0
    assert [shown(past) for past in told[:7]] == [
        THOUGHT, EDIT, CREATE, SHELL, REJECTED, ["[image/png, 70 bytes]", "A red dot."], ["In plan mode."],
    ]  # fmt: skip
    assert [shown(past) for past in told[8:]] == [["✗ error: 400 refused by the script"], [], ["I am here again."]]


def test_a_sub_agent_s_words_are_thoughts_and_what_it_did_stands_beside_them():
    handed, task, *own, done, compacted = shown([*turns(RECORDING)][7])
    assert (handed, done) == ("I hand it over.", "It is done.")
    assert task.startswith("✓ Look at the notes · done\n")
    assert task.endswith("\n  Three lines.")
    assert own == [
        "Thinking:\n  I look.",
        "✓ Viewing /project/notes.txt · done\n  one\n  TWO\n  three",
        "Thinking:\n  Three lines.",
    ]
    assert compacted.startswith("ℹ Context compacted\n")


def test_how_the_turns_of_the_recording_ended_and_how_the_session_was_set():
    told = [*turns(RECORDING)]
    assert [past.stop_reason for past in told] == ["end_turn"] * 9 + ["cancelled", "end_turn"]
    assert [past.state.mode for past in told] == [None] * 6 + ["plan"] * 5
    assert {past.state.model for past in told} == {"scripted"}
    assert {past.state.id for past in told} == {"00000000-0000-4000-8000-000000000001"}
    assert [past.conversation.turn for past in told] == [*range(1, 12)]
    assert {past.time for past in told} == {"2026-01-01T00:00:00.000Z"}


def test_what_the_program_says_for_the_user_is_no_prompt(tmp_path):
    log = [
        asked("go"),
        asked("skill text", source="skill-pdf"),
        asked("go on", isAutopilotContinuation=True),
        line(9, asked("to the sub-agent"), agentId="a"),
        answered("Done."),
        asked("typed while it ran", delivery="steering", source="user"),
    ]
    told = [(past.prompt, shown(past)) for past in turns(write(tmp_path / "log", log))]
    assert told == [("go", ["Done."]), ("typed while it ran", [])]


def test_a_mode_that_the_agent_changes_in_a_turn_is_told_and_one_between_turns_is_not(tmp_path):
    def mode(old, new):
        return "session.mode_changed", {"previousMode": old, "newMode": new}

    log = [
        mode("interactive", "plan"), asked("a"), ("assistant.turn_start", {}), mode("plan", "interactive"),
        ("assistant.turn_end", {}), mode("interactive", "autopilot"), asked("b"),
    ]  # fmt: skip
    told = [(past.state.mode, shown(past)) for past in turns(write(tmp_path / "log", log))]
    assert told == [("agent", ["ℹ Mode: agent"]), ("autopilot", [])]


def test_a_model_that_changes_is_that_of_later_turns(tmp_path):
    log = [
        ("session.start", {"sessionId": "s", "selectedModel": "one"}), asked("a"), ("assistant.turn_end", {}),
        ("session.model_change", {"newModel": "two"}), asked("b"),
    ]  # fmt: skip
    assert [past.state.model for past in turns(write(tmp_path / "log", log))] == ["one", "two"]


def test_a_sub_agent_s_calls_are_not_mistaken_for_those_of_the_same_id(tmp_path):
    def call(output, **more):
        done = {"toolCallId": "c", "success": True, "result": {"content": output}}
        start = line(0, ("tool.execution_start", {"toolCallId": "c", "toolName": output}), **more)
        return [start, line(0, ("tool.execution_complete", done), **more)]

    log = [asked("go"), *call("one"), *call("two", agentId="a"), *call("three", agentId="b")]
    [told] = turns(write(tmp_path / "log", log))
    assert shown(told) == ["✓ one · done\n  one", "✓ two · done\n  two", "✓ three · done\n  three"]


def test_words_before_the_first_prompt_are_left_out_and_warnings_are_not(tmp_path):
    log = [("session.info", {"message": "hi"}), ("session.warning", {"message": "old"}), asked("go"), answered("Yes.")]
    [told] = turns(write(tmp_path / "log", log))
    assert [type(entry).__name__ for entry in told.conversation.entries] == ["Notice", "Message", "Message"]


def test_what_the_user_sent_along_comes_with_the_prompt(tmp_path):
    picture = {"type": "file", "path": "/tmp/a.png", "assetId": "sha", "mimeType": "image/png"}
    chosen = {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}}
    raw = [
        picture,
        {"type": "blob", "data": "AAAA", "mimeType": "image/gif"},
        {"type": "file", "path": "/p/x.py", "displayName": "x.py"},
        {"type": "selection", "filePath": "/p/y.py", "displayName": "y.py", "text": "a = 1", "selection": chosen},
        {"type": "github_reference", "url": "https://github.com/o/r/pull/1", "title": "A change"},
        "nonsense",
    ]
    asset = "session.binary_asset", {"assetId": "sha", "type": "image", "mimeType": "image/png", "data": "iVBO"}
    [told] = turns(write(tmp_path / "log", [asset, asked("look", attachments=raw)]))
    assert [entry.block for entry in told.conversation.entries if isinstance(entry, Attachment)] == [
        Image("iVBO", "image/png"),
        Image("AAAA", "image/gif"),
        ResourceLink("/p/x.py", "x.py"),
        Resource("/p/y.py#L2-L4", text="a = 1"),
        ResourceLink("https://github.com/o/r/pull/1", "A change"),
    ]


def test_a_session_taken_over_from_an_older_version_reads_like_any_other(tmp_path):
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages = [
        {"role": "system", "content": "You are"},
        {"role": "user", "content": [{"type": "text", "text": "List it"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [call, {"id": "d", "function": {"arguments": "{"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "a.txt"},
        {"role": "assistant", "content": "One file."},
        7,
    ]
    old = "session.import_legacy", {"legacySession": {"chatMessages": messages}, "sourceFile": "/s.json"}
    told = [
        (past.prompt, shown(past))
        for past in turns(write(tmp_path / "log", [old, asked("And now?"), answered("Two.")]))
    ]
    listing = ["I look.", "✓ bash · done\n  $ ls\n  a.txt", "■ other · cancelled\n  {", "One file."]
    assert told == [("List it", listing), ("And now?", ["Two."])]


def test_a_log_without_a_prompt_has_no_turns(tmp_path):
    assert [*turns(write(tmp_path / "log", [("session.start", {"sessionId": "s"}), answered("Alone.")]))] == []


def test_of_a_huge_output_both_ends_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(past, "LONG", 20)
    done = (
        "tool.execution_complete",
        {"toolCallId": "c", "success": True, "result": {"content": "a" * 1000 + "z" * 1000}},
    )
    log = [asked("go"), ("tool.execution_start", {"toolCallId": "c", "toolName": "x"}), done]
    [told] = turns(write(tmp_path / "log", log))
    kept = "a" * 10 + "\n  … 1,980 characters not shown …\n  " + "z" * 10
    assert shown(told) == [f"✓ x · done\n  {kept}"]


def test_a_turn_that_used_up_its_budget_keeps_less_and_the_next_one_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(past, "BUDGET", 500)
    monkeypatch.setattr(past, "SHORT", 10)
    long = "x" * 100
    log = [asked("a"), *(answered(long, f"m{number}") for number in range(5)), asked("b"), answered(long)]
    first, second = (shown(each) for each in turns(write(tmp_path / "log", log)))
    assert (first[0], first[-1], second) == (long, "xxxxx\n… 90 characters not shown …\nxxxxx", [long])


def test_entries_beyond_the_most_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(past, "MOST_ENTRIES", 3)
    calls = [
        event
        for name in "abcd"
        for event in (
            ("tool.execution_start", {"toolCallId": name, "toolName": name}),
            ("tool.execution_complete", {"toolCallId": name, "success": True, "result": {"content": name}}),
        )
    ]
    [told] = turns(write(tmp_path / "log", [asked("go"), *calls, answered("The end.")]))
    assert shown(told) == ["✓ a · done\n  a", "✓ b · done\n  b", "⚠ warning: 3 more entries of this turn are not shown"]


@pytest.mark.parametrize("raw", [None, 3, [1], {"a": [{"b": "c" * 50}] * 5}], ids=repr)
def test_small_values_are_kept_as_they_are(raw):
    assert past.trimmed(raw, 100) == raw


def test_pictures_are_kept_whole_or_not_at_all(monkeypatch):
    monkeypatch.setattr("copilot_kernel.store.trim.MOST_BINARY", 10)
    for data, kept in (("A" * 10, "A" * 10), ("A" * 11, "")):
        assert past.trimmed({"data": data, "mimeType": "image/png"}, 4) == {
            "data": kept,
            "mimeType": "im\n… 5 characters not shown …\nng",
        }
