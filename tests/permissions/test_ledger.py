"""The log of all decisions, and answers in words."""

from typing import Any

import pytest
from copilot_kernel.acp.messages import Location, PermissionOption
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.ledger import MAX_LEDGER_ENTRIES, Ledger, LedgerEntry, subject_of
from copilot_kernel.permissions.question import PermissionAnswer

CALL = ToolCall(3, 2, "t", "Run it", kind="execute", raw_input={"command": "ls"})


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("allow_always", "allowed"),
        ("reject_always", "denied"),
        ("unheard_of", "answered"),
        (None, "cancelled"),
    ],
)
def test_an_answer_is_logged_as_what_it_was(kind: str | None, outcome: str) -> None:
    option = PermissionOption("o", "Name", kind) if kind else None
    kept = Ledger().answered(CALL, PermissionAnswer(option, "rule", "why", "Bash(ls)")).kept
    assert kept == (LedgerEntry(1, 2, "$ ls", outcome, "rule", "Bash(ls)", "why"),)  # type: ignore[arg-type]


def test_what_was_done_without_a_question_was_decided_by_none() -> None:
    kept = Ledger().acted(CALL, "not asked", "why").kept
    assert kept == (LedgerEntry(1, 2, "$ ls", "not asked", "none", "", "why"),)


def test_of_very_many_the_newest_are_kept_and_all_are_counted() -> None:
    log = Ledger()
    for _ in range(MAX_LEDGER_ENTRIES + 5):
        log = log.acted(CALL, "covered", "")
    kept = log.kept
    assert (len(kept), kept[0].number, kept[-1].number, log.count) == (
        MAX_LEDGER_ENTRIES,
        6,
        *[MAX_LEDGER_ENTRIES + 5] * 2,
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"title": "Prose", "raw_input": {"command": "ls -l"}}, "$ ls -l"),
        ({"title": "Edit file", "raw_input": {"fileName": "/p/a.py"}}, "Edit file · /p/a.py"),
        ({"title": "Edit /p/a.py", "locations": (Location("/p/a.py"),)}, "Edit /p/a.py"),
        ({"title": "echo", "fuller_title": "lab-echo"}, "lab-echo"),
        ({"title": "{}", "name": "mcp__lab__echo", "raw_input": {"command": "ls"}}, "lab · echo · {}"),
        ({"title": "Edit", "fuller_title": "Edit /p/a.py", "locations": (Location("/p/a.py"),)}, "Edit /p/a.py"),
        ({"name": "grep"}, "grep"),
        ({}, "edit"),
        ({"title": "x" * 500}, "x" * 299 + "…"),
    ],
)
def test_a_decision_says_what_it_was_about(fields: dict[str, Any], words: str) -> None:
    assert subject_of(ToolCall(0, 1, "t", kind="edit", **fields)) == words


# -- answers ----------------------------------------------------------------------------------------------------------


def option(kind: str, name: str = "The\n option") -> PermissionOption:
    return PermissionOption("1", name, kind)


@pytest.mark.parametrize(
    ("answer", "allows", "words"),
    [
        (PermissionAnswer(option("allow_once"), "you"), True, "allowed by you"),
        (PermissionAnswer(option("allow_always"), "you"), True, "allowed by you (“The option”)"),
        (PermissionAnswer(option("allow_once"), "rule", "rule `Bash`", "Bash"), True, "allowed by rule `Bash`"),
        (PermissionAnswer(option("reject_once"), "mode", "“Plan only” mode"), False, "denied by “Plan only” mode"),
        (PermissionAnswer(option("reject_always"), "none", "no cell"), False, "denied: no cell"),
        (PermissionAnswer(option("allow_for_an_hour"), "you"), False, "answered by you (“The option”)"),
        (
            PermissionAnswer(option("allow_once"), "you", rule="Edit"),
            True,
            "allowed by you; rule `Edit` added for this session",
        ),
        (
            PermissionAnswer(option("allow_once"), "you", "", "Edit", "settings"),
            True,
            "allowed by you; rule `Edit` added in your settings",
        ),
        (PermissionAnswer(option("reject_once"), "you", feedback="Not\n this."), False, "denied by you: “Not this.”"),
        (
            PermissionAnswer(option("reject_always"), "you", feedback="No"),
            False,
            "denied by you (“The option”): “No”",
        ),
        (PermissionAnswer(None, "cancel"), False, "not run (no answer)"),
        (PermissionAnswer(None, "cancel", "withdrawn"), False, "not run (withdrawn)"),
    ],
)
def test_an_answer_in_words(answer: PermissionAnswer, allows: bool, words: str) -> None:
    assert answer.allows == allows
    assert answer.words(tuple(filter(None, [answer.option]))) == words


def test_one_of_several_answers_of_a_kind_is_named() -> None:
    options = (option("allow_once", "Red"), option("allow_once", "Blue"), option("reject_once"))
    answers = [PermissionAnswer(each, "you").words(options) for each in options]
    assert answers == ["allowed by you (“Red”)", "allowed by you (“Blue”)", "denied by you"]
