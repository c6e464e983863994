"""Tool calls: upserts by id, questions, answers, and what agents forget to say or say too late."""

import json
from dataclasses import replace
from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, Location, Terminal, Text, ToolCallUpdate
from copilot_kernel.conversation.model import Conversation, Notice, Standing, ToolCall
from copilot_kernel.conversation.reduce import ask, changed, decide, end_turn, reduce

from .playing import ASK, BEGIN, call, calls, notices, play, status, turn

# -- upserts -------------------------------------------------------------------------------------------------


def test_a_call_begins_with_what_is_known_of_it() -> None:
    assert call(play(BEGIN)) == ToolCall(1, 1, "t", "Run", "", "execute", raw_input={"command": "ls"})
    assert call(play(ToolCallUpdate("t", begins=True))) == ToolCall(1, 1, "t")


def test_an_update_for_an_unknown_id_begins_a_call() -> None:
    assert call(play(status("in_progress", title="Late"))) == ToolCall(
        1, 1, "t", "Late", status="in_progress", standing=Standing("in_progress")
    )


def test_replay_may_begin_with_a_finished_call() -> None:
    begun = replace(BEGIN, status="completed")
    assert call(play(begun, start=Conversation())) == ToolCall(
        0, 0, "t", "Run", "", "execute", "completed", raw_input={"command": "ls"}, standing=Standing("completed")
    )


def test_none_is_unchanged_and_content_replaces() -> None:
    full = ToolCallUpdate(
        "t", True, "Run", "bash", "execute", "pending", (Text("a"),), (Location("/a"),), {"x": 1}, {"y": 1}, {"z": 1}
    )
    after = play(full, ToolCallUpdate("t", content=(Text("ab"),), meta={"w": 2}), ToolCallUpdate("t", content=()))
    assert call(after) == ToolCall(
        1, 1, "t", "Run", "bash", "execute", "pending", (), (Location("/a"),), {"x": 1}, {"y": 1}, {"z": 1, "w": 2}
    )


def test_a_growing_input_and_a_changing_title_are_taken() -> None:
    after = play(BEGIN, ToolCallUpdate("t", title="Run ls", raw_input={"command": "ls -l"}))
    assert (call(after).title, call(after).raw_input) == ("Run ls", {"command": "ls -l"})


DIFF = "--- a/project/new.py\n+++ b/project/new.py\n@@ -0,0 +1 @@\n+print('new')"
TITLES = [
    # Copilot CLI: the tool call, and the permission request about it
    (
        "Creating /project/new.py",
        "Create file",
        {"fileName": "/project/new.py", "diff": DIFF},
        "Creating /project/new.py",
    ),
    ("lab-echo", "echo", {"text": "echo"}, "lab-echo"),
    ("Run `npm test`", "Run a command", {"command": "npm test"}, "Run `npm test`"),
    ("Run ls", "Run it", {"command": "ls"}, "Run ls"),
    # other agents: what comes later says more, or neither says anything
    ("Write", "Write new.py", {"file_path": "/project/new.py"}, "Write new.py"),
    ("bash", "echo counted; exit 3", {"command": "echo counted; exit 3"}, "echo counted; exit 3"),
    ("Editing /project/new.py", "Editing new.py and more", {"path": "/project/new.py"}, "Editing new.py and more"),
    ("Terminal", "Run it", {"command": "ls"}, "Run it"),
    ("read", "Read the whole file", {"mode": "file"}, "Read the whole file"),
    # what the earlier title names is not what the call is about any more
    ("Editing /project/old.py", "Edit file", {"fileName": "/project/new.py"}, "Edit file"),
]


@pytest.mark.parametrize(("earlier", "later", "raw_input", "shown"), TITLES)
def test_a_title_that_names_the_subject_stays_to_be_shown(
    earlier: str, later: str, raw_input: dict[str, str], shown: str
) -> None:
    begun = ToolCallUpdate("t", begins=True, title=earlier, raw_input={"path": "/project/old.py"})
    about = ToolCallUpdate("t", title=later, raw_input=raw_input)
    for after in (play(begun, about), ask(play(begun), about)[0]):
        assert (call(after).best_title, call(after).title) == (shown, later)


def test_the_title_of_another_subject_is_not_kept_for_ever() -> None:
    begun = ToolCallUpdate("t", begins=True, title="Editing a.py", raw_input={"path": "/p/a.py"})
    generic, moved = ToolCallUpdate("t", title="Edit"), ToolCallUpdate("t", raw_input={"path": "/p/b.py"})
    assert call(play(begun, generic, status("in_progress"))).best_title == "Editing a.py"
    assert call(play(begun, generic, moved)).best_title == "Edit"


@pytest.mark.parametrize("raw_input", [None, 3, [], {"a": {"b": "c.d"}}, {"paths": ["/p/a.py", 3, None]}, {"": "/"}])
def test_a_title_is_compared_with_input_of_any_form(raw_input: Any) -> None:
    begun = ToolCallUpdate("t", begins=True, title="Editing a.py", raw_input=raw_input)
    named = isinstance(raw_input, dict) and "paths" in raw_input
    after = play(begun, ToolCallUpdate("t", title="Edit"))
    assert call(after).best_title == ("Editing a.py" if named else "Edit")


def test_calls_without_an_id_are_each_their_own() -> None:
    after = play(ToolCallUpdate("", title="one"), ToolCallUpdate("", title="two"))
    assert [entry.title for entry in calls(after)] == ["one", "two"]


def test_interleaved_calls_are_told_apart() -> None:
    after = play(BEGIN, replace(BEGIN, id="u"), status("completed"), ToolCallUpdate("u", status="failed"))
    assert [(entry.call_id, entry.status) for entry in calls(after)] == [("t", "completed"), ("u", "failed")]


# -- a status never goes backwards ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (["pending", "in_progress", "completed"], "completed"),
        (["in_progress", "pending"], "in_progress"),
        (["completed", "in_progress"], "completed"),
        (["completed", "failed"], "completed"),
        (["failed", "completed"], "failed"),
        (["cancelled", "completed"], "cancelled"),
        (["pending"], "pending"),
    ],
)
def test_a_status_never_goes_backwards(told: list[str], shown: str) -> None:
    assert call(play(*map(status, told))).status == shown


def test_cline_begins_a_call_after_it_has_run() -> None:
    """update(pending), question, update(in_progress), tool_call(pending), completed."""
    asked, entry = ask(play(status("pending", title="Edit")), ASK)
    after = play(status("in_progress"), BEGIN, start=decide(asked, entry, True, "Allowed"))
    assert call(after).status == "in_progress"
    assert call(play(status("completed"), start=after)).status == "completed"


def test_a_late_update_is_taken_without_waking_what_is_over() -> None:
    after = play(BEGIN, status("completed"), status("in_progress", content=(Text("x"),), raw_output={"exit_code": 3}))
    assert (call(after).status, call(after).content, call(after).raw_output) == (
        ("completed", (Text("x"),), {"exit_code": 3})
    )


# -- turns ---------------------------------------------------------------------------------------------------


def test_a_late_update_is_drawn_in_its_own_turn() -> None:
    """A cancelled command may keep running and report into the next turn."""
    second = turn(end_turn(play(BEGIN, status("in_progress")), "end_turn"))
    after = reduce(second, status("completed", content=(Text("done"),)))
    assert changed(second, after) == [call(after)]
    assert (call(after).turn, call(after).status, call(after).content) == (1, "completed", (Text("done"),))


def test_an_id_that_begins_again_in_a_later_turn_is_another_call() -> None:
    second = turn(end_turn(play(BEGIN, status("completed")), "end_turn"))
    after = play(BEGIN, status("failed"), start=second)
    assert [(entry.id, entry.turn, entry.status) for entry in calls(after)] == [(1, 1, "completed"), (3, 2, "failed")]


def test_an_id_that_begins_twice_in_one_turn_is_the_same_call() -> None:
    assert call(play(BEGIN, status("completed"), BEGIN)).status == "completed"


@pytest.mark.parametrize("reason", ["end_turn", "cancelled", "refusal", "error", "something new"])
@pytest.mark.parametrize("told", ["pending", "in_progress"])
def test_calls_are_closed_with_the_turn_since_many_agents_do_not(told: str, reason: str) -> None:
    after = end_turn(play(BEGIN, status(told)), reason)
    assert call(after).status == "cancelled"


@pytest.mark.parametrize("told", ["completed", "failed", "cancelled"])
def test_a_call_that_is_over_stays_so_at_the_end_of_the_turn(told: str) -> None:
    before = play(BEGIN, status(told))
    assert changed(before, end_turn(before, "cancelled")) == []


def test_a_call_closed_only_by_the_turns_end_takes_a_later_fact() -> None:
    ended = end_turn(play(BEGIN), "end_turn")
    assert [call(play(status(told), start=ended)).status for told in ("in_progress", "completed", "failed")] == (
        ["cancelled", "completed", "failed"]
    )
    assert notices(play(status("completed"), start=ended)) == []


def test_a_cancelled_call_stays_cancelled_but_what_it_did_is_told() -> None:
    ended = end_turn(play(BEGIN, status("in_progress")), "cancelled")
    failed = play(status("failed", raw_output="killed"), start=ended)
    assert (call(failed).status, call(failed).raw_output, notices(failed)) == ("cancelled", "killed", [])
    ran = play(status("completed"), status("completed"), start=ended)
    assert call(ran).status == "cancelled"
    assert notices(ran) == [
        Notice(2, 1, "warning", "The agent reports as completed what was cancelled: Run", about="refused 1")
    ]


def test_an_update_that_begins_a_call_between_turns_is_closed_with_the_next_one() -> None:
    after = end_turn(turn(play(BEGIN, start=end_turn(turn(), "end_turn"))), "end_turn")
    assert call(after).status == "cancelled"


# -- questions -----------------------------------------------------------------------------------------------


def test_a_question_waits_and_its_answer_lets_the_call_go_on() -> None:
    asked, entry = ask(play(BEGIN), ASK)
    assert (entry, call(asked).status) == (1, "waiting")
    allowed = decide(asked, entry, True, "Allowed: Allow once (you)")
    assert (call(allowed).status, call(allowed).decision) == ("pending", "Allowed: Allow once (you)")
    assert call(play(status("completed"), start=allowed)).status == "completed"


def test_a_question_may_be_the_only_introduction_of_a_call() -> None:
    request = ToolCallUpdate("t", title="touch x", kind="execute", status="pending", content=(Terminal("1"),))
    asked, entry = ask(turn(), request)
    assert asked.entries[entry] == ToolCall(
        1, 1, "t", "touch x", "", "execute", "waiting", (Terminal("1"),), standing=Standing(questions=1, asked="open")
    )


def test_a_question_may_tell_only_the_id_and_loses_nothing() -> None:
    known = replace(BEGIN, content=(Diff("/a", "x", "y"),), locations=(Location("/a"),))
    asked, _ = ask(play(known), ASK)
    assert call(asked) == replace(call(play(known)), status="waiting", standing=Standing(questions=1, asked="open"))


def test_a_question_may_know_better_than_the_call() -> None:
    asked, _ = ask(play(BEGIN), ToolCallUpdate("t", title="Edit file", kind="edit", raw_input={"fileName": "/a"}))
    assert (call(asked).title, call(asked).kind, call(asked).raw_input) == ("Edit file", "edit", {"fileName": "/a"})


def test_a_rejected_call_stays_rejected() -> None:
    asked, entry = ask(play(BEGIN), ASK)
    rejected = decide(asked, entry, False, "Rejected: Deny (you)")
    assert call(rejected).status == "rejected"
    after = play(status("failed", raw_output={"code": "rejected"}), start=rejected)
    assert (call(after).status, call(after).raw_output) == ("rejected", {"code": "rejected"})
    assert call(end_turn(after, "end_turn")).status == "rejected"
    assert notices(after) == []


def test_a_call_that_was_rejected_and_ran_all_the_same_is_told() -> None:
    asked, entry = ask(play(BEGIN), ASK)
    after = play(status("in_progress"), status("completed"), start=decide(asked, entry, False, "Rejected"))
    assert call(after).status == "rejected"
    assert notices(after) == [
        Notice(2, 1, "warning", "The agent reports as completed what was rejected: Run", about="refused 1")
    ]


def test_the_notice_names_the_server_where_the_newest_title_does_not() -> None:
    asked, entry = ask(play(replace(BEGIN, title="lab-echo", raw_input=None)), ToolCallUpdate("t", title="echo"))
    after = play(status("completed"), start=decide(asked, entry, False, "Rejected"))
    assert [notice.title for notice in notices(after)] == ["The agent reports as completed what was rejected: lab-echo"]


def test_a_withdrawn_question_cancels_the_call() -> None:
    asked, entry = ask(play(BEGIN), ASK)
    after = decide(asked, entry, None, "Cancelled: the turn was cancelled")
    assert (call(after).status, call(after).decision) == ("cancelled", "Cancelled: the turn was cancelled")


@pytest.mark.parametrize("reason", ["end_turn", "cancelled"])
def test_a_turn_that_ends_cancels_what_still_waits(reason: str) -> None:
    asked, entry = ask(play(BEGIN), ASK)
    ended = end_turn(asked, reason)
    assert call(ended).standing == Standing("pending", 0, "open", "cancelled")
    assert call(decide(ended, entry, None, "Cancelled")).status == "cancelled"


def test_progress_that_is_told_too_early_does_not_hide_the_question() -> None:
    asked, entry = ask(play(BEGIN), ASK)
    early = play(status("in_progress"), start=asked)
    assert call(early).status == "waiting"
    assert call(decide(early, entry, True, "Allowed")).status == "in_progress"


def test_an_end_that_is_told_while_the_question_is_open_is_the_end() -> None:
    """Another client of the same agent may have answered."""
    asked, entry = ask(play(BEGIN), ASK)
    over = play(status("completed"), start=asked)
    assert call(over).status == "completed"
    assert call(decide(over, entry, None, "Cancelled")).status == "completed"


def test_a_request_cannot_finish_the_call_that_it_asks_about() -> None:
    asked, _ = ask(play(BEGIN), status("completed"))
    assert call(asked).status == "waiting"


def test_two_questions_about_one_call_are_both_waited_for_and_both_told() -> None:
    """Copilot CLI asks first for the folder and then for the edit."""
    once, entry = ask(play(BEGIN), ASK)
    twice, same = ask(once, ASK)
    assert same == entry
    first = decide(twice, entry, True, "Allowed: Allow once (you)")
    assert call(first).status == "waiting"
    second = decide(first, entry, False, "Rejected: Deny (you)")
    assert (call(second).status, call(second).decision) == (
        ("rejected", "Allowed: Allow once (you); Rejected: Deny (you)")
    )


def test_the_same_answer_twice_is_told_once() -> None:
    once, entry = ask(play(BEGIN), ASK)
    after = decide(ask(decide(once, entry, True, "Allowed"), ASK)[0], entry, True, "Allowed")
    assert (call(after).status, call(after).decision) == ("pending", "Allowed")


def test_questions_may_be_answered_in_any_order() -> None:
    one, first = ask(play(BEGIN, replace(BEGIN, id="u")), ASK)
    two, second = ask(one, ToolCallUpdate("u"))
    after = decide(decide(two, second, True, "Allowed"), first, False, "Rejected")
    assert [(entry.status, entry.decision) for entry in calls(after)] == [
        ("rejected", "Rejected"),
        ("pending", "Allowed"),
    ]


def test_a_question_about_a_call_that_is_over_is_about_another_one() -> None:
    """Ids repeat; a new card must not be born resolved."""
    finished = play(BEGIN, status("completed"))
    for before in (finished, turn(end_turn(finished, "end_turn")), turn(end_turn(play(BEGIN), "end_turn"))):
        asked, entry = ask(before, replace(ASK, title="Again"))
        assert asked.entries[entry] == ToolCall(
            len(before.entries),
            before.turn,
            "t",
            "Again",
            status="waiting",
            standing=Standing(questions=1, asked="open"),
        )
        assert asked.entries[1] is before.entries[1]


def test_requests_without_a_call_are_each_their_own() -> None:
    request = ToolCallUpdate("", title="Execute command", content=(Text("Run: npm test"),))
    one, first = ask(turn(), request)
    two, second = ask(one, request)
    assert (first, second, [entry.status for entry in calls(two)]) == (1, 2, ["waiting", "waiting"])


def test_an_answer_about_what_is_no_call_changes_nothing() -> None:
    before = turn()
    assert decide(before, 0, True, "Allowed") is before


# -- what agents send of a terminal --------------------------------------------------------------------------


def output(key: str, data: Any) -> ToolCallUpdate:
    return ToolCallUpdate("t", meta={key: data})


def test_a_terminals_output_grows_by_its_deltas() -> None:
    after = play(
        BEGIN,
        output("terminal_output_delta", {"terminal_id": "1", "data": "a"}),
        output("terminal_output_delta", {"terminal_id": "1", "data": "b"}),
        output("terminal_exit", {"terminal_id": "1", "exit_code": 3}),
    )
    assert call(after).meta == {
        "terminal_output": {"data": "ab"},
        "terminal_exit": {"terminal_id": "1", "exit_code": 3},
    }


def test_a_terminals_whole_output_replaces_what_was_there() -> None:
    after = play(
        output("terminal_output_delta", {"data": "old"}),
        output("terminal_output", {"terminal_id": "1", "data": "new"}),
        output("terminal_output_delta", {"data": "er"}),
    )
    assert call(after).meta == {"terminal_output": {"terminal_id": "1", "data": "newer"}}


@pytest.mark.parametrize("odd", [None, 5, [], {"data": 5}, {}])
def test_an_odd_delta_adds_nothing(odd: Any) -> None:
    after = play(output("terminal_output", {"data": "a"}), output("terminal_output_delta", odd))
    assert call(after).meta == {"terminal_output": {"data": "a"}}


def test_of_an_endless_output_the_end_is_kept() -> None:
    updates = [output("terminal_output_delta", {"data": f"{n:06}" * 10_000}) for n in range(5)]
    data = call(play(*updates)).meta["terminal_output"]["data"]
    assert (len(data), data[-6:]) == (200_000, "000004")


def test_json_as_deep_as_can_be_read_can_be_taken_twice() -> None:
    deep = [json.loads("[" * 900 + "]" * 900) for _ in range(2)]
    first = play(*(ToolCallUpdate("t", raw_output=value, meta={"x": value}) for value in deep))
    assert call(first).raw_output is deep[1] or call(first).raw_output is deep[0]
