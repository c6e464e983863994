"""The log of all decisions."""

from __future__ import annotations

from typing import Any

import pytest
from copilot_kernel.acp.messages import Location, Option
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.ledger import MAX_ENTRIES, Decided, Ledger, what
from copilot_kernel.permissions.question import Answer

CALL = ToolCall(3, 2, "t", "Run it", kind="execute", raw_input={"command": "ls"})


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("allow_once", "allowed"),
        ("allow_always", "allowed"),
        ("reject_once", "rejected"),
        ("reject_always", "rejected"),
        ("unheard_of", "answered"),
        (None, "cancelled"),
    ],
)
def test_an_answer_is_logged_as_what_it_was(kind: str | None, outcome: str) -> None:
    option = Option("o", "Name", kind) if kind else None
    kept = Ledger().answered(CALL, Answer(option, "rule", "why"), "Bash(ls)").kept
    assert kept == (Decided(1, 2, "$ ls", outcome, "rule", "Bash(ls)", "why"),)  # type: ignore[arg-type]


def test_what_was_done_without_a_question_was_decided_by_nobody() -> None:
    kept = Ledger().acted(CALL, "ran without asking", "why").kept
    assert kept == (Decided(1, 2, "$ ls", "ran without asking", "nobody", "", "why"),)


def test_of_very_many_the_newest_are_kept_and_all_are_counted() -> None:
    log = Ledger()
    for _ in range(MAX_ENTRIES + 5):
        log = log.acted(CALL, "covered", "")
    assert (len(log.kept), log.kept[0].number, log.kept[-1].number, log.count) == (
        MAX_ENTRIES,
        6,
        MAX_ENTRIES + 5,
        MAX_ENTRIES + 5,
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"title": "Prose", "raw_input": {"command": "ls -l"}}, "$ ls -l"),
        ({"title": "Edit file", "raw_input": {"fileName": "/p/a.py"}}, "Edit file · /p/a.py"),
        ({"title": "Edit /p/a.py", "locations": (Location("/p/a.py"),)}, "Edit /p/a.py"),
        ({"title": "echo", "fuller_title": "lab-echo"}, "lab-echo"),
        ({"title": "Edit", "fuller_title": "Edit /p/a.py", "locations": (Location("/p/a.py"),)}, "Edit /p/a.py"),
        ({"name": "grep"}, "grep"),
        ({}, "edit"),
        ({"title": "x" * 500}, "x" * 299 + "…"),
    ],
)
def test_a_decision_says_what_it_was_about(fields: dict[str, Any], words: str) -> None:
    assert what(ToolCall(0, 1, "t", kind="edit", **fields)) == words
