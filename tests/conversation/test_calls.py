"""Tool calls: upserts by id, questions, answers, and what agents forget to say or say too late."""

import json
from typing import Any

import pytest
from copilot_kernel.acp.messages import Location, TextBlock, ToolCallUpdate
from copilot_kernel.conversation.calls import went_on
from copilot_kernel.conversation.model import CallOutcome, Notice, ToolCall, Unasked
from copilot_kernel.conversation.reduce import COMPLETED_ANYWAY, ask, changed, decide, end_turn, mark, reduce
from msgspec.structs import replace

from .playing import ASK, BEGIN, call, calls, notices, play, status, turn

# -- upserts -------------------------------------------------------------------------------------------------


def test_a_call_begins_with_what_is_known_of_it() -> None:
    assert call(play(BEGIN)) == ToolCall(1, 1, "t", "Run", "", "execute", raw_input={"command": "ls"})
    assert call(play(ToolCallUpdate("t", begins=True))) == ToolCall(1, 1, "t")


def test_none_is_unchanged_and_content_replaces() -> None:
    full = ToolCallUpdate(
        "t",
        True,
        "Run",
        "bash",
        "execute",
        "pending",
        (TextBlock("a"),),
        (Location("/a"),),
        {"x": 1},
        {"y": 1},
        {"z": 1},
    )
    after = play(full, ToolCallUpdate("t", content=(TextBlock("ab"),), meta={"w": 2}), ToolCallUpdate("t", content=()))
    assert call(after) == ToolCall(
        1, 1, "t", "Run", "bash", "execute", "pending", (), (Location("/a"),), {"x": 1}, {"y": 1}, {"z": 1, "w": 2}
    )


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
    # other agents: what comes later says more, or neither says anything
    ("Write", "Write new.py", {"file_path": "/project/new.py"}, "Write new.py"),
    ("Editing /project/new.py", "Editing new.py and more", {"path": "/project/new.py"}, "Editing new.py and more"),
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


# -- a status never goes backwards ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "shown"),
    [
        (["in_progress", "pending"], "in_progress"),
        (["completed", "in_progress"], "completed"),
        (["completed", "failed"], "completed"),
        (["failed", "completed"], "failed"),
    ],
)
def test_a_status_never_goes_backwards(statuses: list[str], shown: str) -> None:
    assert call(play(*map(status, statuses))).status == shown


# -- turns ---------------------------------------------------------------------------------------------------


def test_a_late_update_is_drawn_in_its_own_turn() -> None:
    """A cancelled command may keep running and report into the next turn."""
    second = turn(end_turn(play(BEGIN, status("in_progress")), "end_turn"))
    after = reduce(second, status("completed", content=(TextBlock("done"),)))
    assert changed(second, after) == [call(after)]
    assert (call(after).turn, call(after).status, call(after).content) == (1, "completed", (TextBlock("done"),))


def test_an_id_that_begins_again_in_a_later_turn_is_another_call() -> None:
    second = turn(end_turn(play(BEGIN, status("completed")), "end_turn"))
    after = play(BEGIN, status("failed"), start=second)
    assert [(entry.id, entry.turn, entry.status) for entry in calls(after)] == [(1, 1, "completed"), (3, 2, "failed")]


@pytest.mark.parametrize("reason", ["end_turn", "cancelled", "something new"])
@pytest.mark.parametrize("reported", ["pending", "in_progress"])
def test_calls_are_closed_with_the_turn_since_many_agents_do_not(reported: str, reason: str) -> None:
    after = end_turn(play(BEGIN, status(reported)), reason)
    assert call(after).status == "cancelled"


def test_a_call_closed_only_by_the_turns_end_takes_a_later_fact() -> None:
    ended = end_turn(play(BEGIN), "end_turn")
    assert [
        call(play(status(reported), start=ended)).status for reported in ("in_progress", "completed", "failed")
    ] == (["cancelled", "completed", "failed"])
    assert notices(play(status("completed"), start=ended)) == []


def test_a_cancelled_call_stays_cancelled_but_what_it_did_is_told() -> None:
    ended = end_turn(play(BEGIN, status("in_progress")), "cancelled")
    failed = play(status("failed", raw_output="killed"), start=ended)
    assert (call(failed).status, call(failed).raw_output, notices(failed)) == ("cancelled", "killed", [])
    ran = play(status("completed"), status("completed"), start=ended)
    assert call(ran).status == "cancelled"
    assert notices(ran) == [Notice(2, 1, "warning", COMPLETED_ANYWAY.format("cancelled", "Run"), about="refused 1")]


# -- questions -----------------------------------------------------------------------------------------------

ASKED, ENTRY = ask(play(BEGIN), ASK)


def test_a_question_waits_and_its_answer_lets_the_call_go_on() -> None:
    assert (ENTRY, call(ASKED).status) == (1, "waiting")
    allowed = decide(ASKED, ENTRY, True, "allowed by you")
    assert (call(allowed).status, call(allowed).decision) == ("pending", "allowed by you")
    assert call(play(status("completed"), start=allowed)).status == "completed"


def test_a_rejected_call_stays_rejected() -> None:
    rejected = decide(ASKED, ENTRY, False, "denied by you")
    assert call(rejected).status == "rejected"
    after = play(status("failed", raw_output={"code": "rejected"}), start=rejected)
    assert (call(after).status, call(after).raw_output) == ("rejected", {"code": "rejected"})
    assert call(end_turn(after, "end_turn")).status == "rejected"
    assert notices(after) == []


def test_a_call_that_was_rejected_and_ran_all_the_same_is_told() -> None:
    after = play(status("in_progress"), status("completed"), start=decide(ASKED, ENTRY, False, "Rejected"))
    assert call(after).status == "rejected"
    assert notices(after) == [Notice(2, 1, "warning", COMPLETED_ANYWAY.format("rejected", "Run"), about="refused 1")]


@pytest.mark.parametrize("reason", ["end_turn", "cancelled"])
def test_a_turn_that_ends_cancels_what_still_waits(reason: str) -> None:
    ended = end_turn(ASKED, reason)
    assert call(ended).outcome == CallOutcome("pending", 0, "open", "cancelled")
    assert call(decide(ended, ENTRY, None, "Cancelled")).status == "cancelled"


def test_an_end_that_is_told_while_the_question_is_open_is_the_end() -> None:
    """Another client of the same agent may have answered."""
    over = play(status("completed"), start=ASKED)
    assert call(over).status == "completed"
    assert call(decide(over, ENTRY, None, "Cancelled")).status == "completed"


def test_a_request_cannot_finish_the_call_that_it_asks_about() -> None:
    asked, _ = ask(play(BEGIN), status("completed"))
    assert call(asked).status == "waiting"


def test_two_questions_about_one_call_are_both_waited_for_and_both_told() -> None:
    """Copilot CLI asks first for the folder and then for the edit."""
    twice, same = ask(ASKED, ASK)
    assert same == ENTRY
    first = decide(twice, ENTRY, True, "allowed by you")
    assert call(first).status == "waiting"
    second = decide(first, ENTRY, False, "denied by you")
    assert (call(second).status, call(second).decision) == (("rejected", "allowed by you; denied by you"))


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
            outcome=CallOutcome(questions=1, asked="open"),
        )
        assert asked.entries[1] is before.entries[1]


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


# -- what was not asked about ------------------------------------------------------------------------------


def test_what_is_done_without_a_question_is_seen_when_it_is_completed() -> None:
    steps = [play(BEGIN), *(play(BEGIN, status(reported)) for reported in ("in_progress", "completed", "failed"))]
    assert [went_on(call(each)) for each in steps] == ["no", "perhaps", "unasked", "no"]


def test_what_is_completed_before_its_question_is_answered_was_done_without_one() -> None:
    assert went_on(call(play(status("completed"), start=ASKED))) == "unasked"


@pytest.mark.parametrize(
    ("allowed", "reported", "seen"),
    [
        (True, "in_progress", "no"),
        (True, "completed", "no"),
        (False, "in_progress", "no"),
        (False, "completed", "refused"),
        (False, "failed", "no"),
        (None, "completed", "refused"),
    ],
)
def test_what_was_asked_about_may_do_as_it_was_told(allowed: bool | None, reported: str, seen: str) -> None:
    asked, entry = ask(play(BEGIN, status("in_progress")), ASK)
    assert went_on(call(asked)) == "no"
    assert went_on(call(play(status(reported), start=decide(asked, entry, allowed, "…")))) == seen


def test_a_mark_is_put_once_and_a_question_takes_it_off() -> None:
    before = play(BEGIN, status("in_progress"))
    after = mark(before, 1, Unasked("not asked"))
    assert (call(after).unasked, mark(after, 1, Unasked("not asked")) is after) == (
        Unasked("not asked"),
        True,
    )
    assert call(ask(after, ASK)[0]).unasked is None
    assert mark(after, 0, Unasked("x")) is after
