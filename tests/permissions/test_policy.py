"""What is allowed without a question: little, and only what is clear."""

from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, Location, Option, Text
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import decide, problems, reject, rules_for
from copilot_kernel.permissions.question import Answer

ONCE = Option("1", "Allow once", "allow_once")
ALWAYS = Option("2", "Always allow", "allow_always")
NO = Option("3", "Deny", "reject_once")
NEVER = Option("4", "Never", "reject_always")
ODD = Option("allow_once", "Allow once", "allow_for_an_hour")
OPTIONS = (ALWAYS, ONCE, NO)
ROOT = "/home/me/project"


def call(kind: str, raw_input: Any = None, **more: Any) -> ToolCall:
    return ToolCall(0, 1, "t", kind=kind, raw_input=raw_input, **more)


def is_allowed(call: ToolCall, *allow: str, root: str = ROOT) -> bool:
    return decide(call, OPTIONS, "default", allow, root) is not None


SHELL = call("execute", {"command": "rm -rf /"})
READ = call("read", {"path": f"{ROOT}/a.txt"})
EDIT = call("edit", {"path": f"{ROOT}/a.txt", "old_str": "/x", "new_str": "../y"})


def test_nothing_is_allowed_by_default() -> None:
    assert [decide(one, OPTIONS, "default", (), ROOT) for one in (SHELL, READ, EDIT)] == [None, None, None]


def test_an_answer_names_its_rule_and_takes_the_option_for_once() -> None:
    assert decide(SHELL, OPTIONS, "default", ["Bash"], ROOT) == Answer(ONCE, "rule", "allowed by the rule Bash")
    assert decide(EDIT, OPTIONS, "default", ["Read", "Edit"], ROOT) == Answer(ONCE, "rule", "allowed by the rule Edit")


@pytest.mark.parametrize("one", [SHELL, READ, EDIT, call("other"), call("switch_mode")])
def test_bypass_permissions_allows_everything_once(one: ToolCall) -> None:
    reason = "allowed by the mode bypassPermissions"
    assert decide(one, OPTIONS, "bypassPermissions", (), ROOT) == Answer(ONCE, "mode", reason)


@pytest.mark.parametrize("mode", ["bypassPermissions", "default"])
@pytest.mark.parametrize("options", [(), (ALWAYS, NO), (ODD,), (ODD, ALWAYS, NO, NEVER)])
def test_no_standing_or_unknown_option_is_ever_chosen(mode: str, options: tuple[Option, ...]) -> None:
    assert decide(SHELL, options, mode, ["Bash"], ROOT) is None


def test_of_two_options_for_once_the_first_is_taken() -> None:
    second = Option("9", "Allow once, really", "allow_once")
    answer = decide(SHELL, (ALWAYS, second, ONCE), "default", ["Bash"], ROOT)
    assert answer == Answer(second, "rule", "allowed by the rule Bash")


@pytest.mark.parametrize("mode", ["plan", "acceptEdits", "bypasspermissions", "", "yolo"])
def test_an_unknown_mode_is_the_default_one(mode: str) -> None:
    assert decide(SHELL, OPTIONS, mode, (), ROOT) is None
    assert decide(SHELL, OPTIONS, mode, ["Bash"], ROOT) is not None


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [("Read", {"read"}), ("Edit", {"edit", "delete", "move"}), ("Bash", {"execute"})],
)
def test_a_rule_allows_its_kinds_and_no_other(rule: str, kinds: set[str]) -> None:
    every = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other", "browse"]
    assert {kind for kind in every if is_allowed(call(kind, {"path": f"{ROOT}/a"}), rule)} == kinds


@pytest.mark.parametrize("rule", ["Bash(git *)", "Bash(*)", "read", "READ", "*", "", "Write", "Read(/**)", "Edit "])
def test_what_is_no_bare_name_allows_nothing(rule: str) -> None:
    assert [is_allowed(one, rule) for one in (SHELL, READ, EDIT)] == [False, False, False]
    assert problems([rule]) == [f"allow: {rule!r} allows nothing; the rules are Read, Edit, Bash"]


@pytest.mark.parametrize(
    ("one", "rules"),
    [
        (SHELL, ("Bash",)),
        (READ, ("Read",)),
        (EDIT, ("Edit",)),
        (call("edit", {"path": "/etc/x"}), ()),
        (call("other"), ()),
    ],
)
def test_what_would_allow_a_call_is_told_by_name(one: ToolCall, rules: tuple[str, ...]) -> None:
    assert rules_for(one, OPTIONS, ROOT) == rules


def test_bare_names_are_no_problem() -> None:
    assert problems(["Read", "Edit", "Bash"]) == []


INSIDE: list[ToolCall] = [
    call("edit", {"path": f"{ROOT}/a.txt"}),
    call("edit", {"file_path": f"{ROOT}/deep/er/a.txt"}),
    call("edit", {"filePath": "a.txt"}),
    call("edit", {"fileName": f"{ROOT}//x/./a.txt"}),
    call("edit", {"path": ROOT}),
    call("edit", None, locations=(Location(f"{ROOT}/a", 3),)),
    call("edit", None, content=(Diff(f"{ROOT}/a", None, "x"), Text("/etc/passwd"))),
    call("edit", {"path": f"{ROOT}/a", "new_str": "// see /etc/passwd", "content": "../..", "diff": "--- /dev/null"}),
    call("edit", {"changes": {f"{ROOT}/a": {"content": "/x"}}}),
    call("edit", {"edits": [{"path": f"{ROOT}/a"}, {"path": f"{ROOT}/b"}]}),
    call("move", {"source": f"{ROOT}/a", "destination": f"{ROOT}/b"}),
    call("edit", {"path": f"{ROOT}/..a..txt"}, locations=(Location(f"{ROOT}/a"),)),
]

OUTSIDE: list[ToolCall] = [
    call("edit", {"path": "/etc/passwd"}),
    call("edit", {"path": f"{ROOT}-2/a"}),
    call("edit", {"path": "/home/me"}),
    call("edit", {"path": f"{ROOT}/../a"}),
    call("edit", {"path": f"{ROOT}/x/../a"}),
    call("edit", {"path": "../a"}),
    call("edit", {"path": "~/a"}),
    call("edit", {"path": "~root/a"}),
    call("edit", {"path": f"file://{ROOT}/a"}),
    call("edit", {"path": f"{ROOT}/a\0"}),
    call("edit", {"path": f"{ROOT}/a"}, locations=(Location("/etc/passwd"),)),
    call("edit", {"path": f"{ROOT}/a"}, content=(Diff("/etc/passwd", "a", "b"),)),
    call("edit", {"path": f"{ROOT}/a", "other": "/etc/passwd"}),
    call("edit", {"path": f"{ROOT}/a", "more": {"deep": [{"er": "/etc/passwd"}]}}),
    call("edit", {"changes": {f"{ROOT}/a": {}, "/etc/passwd": {}}}),
    call("edit", {"edits": [{"path": f"{ROOT}/a"}, {"path": "/etc/passwd"}]}),
    call("move", {"source": f"{ROOT}/a", "destination": "/tmp/b"}),
    call("move", {"from": f"{ROOT}/a", "to": "../b"}),
]

UNCLEAR: list[ToolCall] = [
    call("edit"),
    call("edit", {}),
    call("edit", {"note": "a.txt"}),
    call("edit", "a.txt"),
    call("edit", [1, 2]),
    call("edit", {"path": f"{ROOT}/a", "command": "rm a"}),
    call("edit", {"path": f"{ROOT}/a", "commands": ["rm a"]}),
    call("edit", {"path": ["/etc", 5, None]}),
]


@pytest.mark.parametrize("one", INSIDE)
def test_an_edit_inside_the_folder_is_covered(one: ToolCall) -> None:
    assert is_allowed(one, "Edit")


@pytest.mark.parametrize("one", OUTSIDE)
def test_an_edit_that_touches_anything_outside_asks(one: ToolCall) -> None:
    assert not is_allowed(one, "Edit")


@pytest.mark.parametrize("one", UNCLEAR)
def test_an_edit_of_which_the_path_is_not_clear_asks(one: ToolCall) -> None:
    assert not is_allowed(one, "Edit")


def test_without_a_folder_nothing_is_inside() -> None:
    assert not is_allowed(EDIT, "Edit", root="")
    assert is_allowed(EDIT, "Edit", root=f"{ROOT}/./x/..")


GATE = {"path": "/tmp/other/new.py"}


@pytest.mark.parametrize(
    "one",
    [
        call("read", GATE, title="Access paths outside trusted directories"),
        call("read", {"path": f"{ROOT}/a"}, title="Access paths outside trusted directories"),
        call("read", GATE),
        call("read", {"path": f"{ROOT}/a"}, content=(Diff(f"{ROOT}/a", None, "x"),)),
        call("read", {"path": f"{ROOT}/a", "command": "cat a"}),
        call("read", {"path": f"{ROOT}/a"}, locations=(Location("/etc/passwd"),)),
        call("read"),
    ],
)
def test_a_read_that_may_be_the_gate_to_something_else_asks(one: ToolCall) -> None:
    """Copilot CLI asks with kind `read` to leave the folder, even when it is about to write there."""
    assert not is_allowed(one, "Read", "Edit")


def test_json_as_deep_as_can_be_read_is_no_trouble() -> None:
    deep: Any = "/etc/passwd"
    for _ in range(50_000):
        deep = {"a": [deep]}
    assert not is_allowed(call("edit", {"path": f"{ROOT}/a", "x": deep}), "Edit")


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ((ONCE, NEVER, NO), NO),
        ((ONCE, NEVER), NEVER),
        ((ONCE, ALWAYS), None),
        ((Option("reject_once", "Reject", "refuse"),), None),
        ((), None),
    ],
)
def test_where_nobody_can_answer_the_mildest_no_is_said(options: tuple[Option, ...], option: Option | None) -> None:
    assert reject(options) == option
