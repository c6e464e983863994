"""What is in force, and how it is changed."""

from __future__ import annotations

import pytest
from copilot_kernel.config import PERMISSION_MODES, Settings
from copilot_kernel.errors import UsageError
from copilot_kernel.permissions.rulebook import Rulebook, StatedRule, check

SETTINGS = Settings(
    permission_mode="acceptEdits",
    allow=("Read", "Bash(ls)"),
    deny=("Bash(rm *)",),
    origins={"permission_mode": "environment", "allow": "/a.json", "deny": "/b.json"},
)
BOOK = Rulebook.of(SETTINGS)


def test_the_settings_are_what_it_begins_with() -> None:
    assert (BOOK.mode, BOOK.mode_origin) == ("acceptEdits", "environment")
    assert BOOK.stated == (
        StatedRule("allow", "Read", "/a.json"),
        StatedRule("allow", "Bash(ls)", "/a.json"),
        StatedRule("deny", "Bash(rm *)", "/b.json"),
    )
    assert [rule.text for rule in BOOK.rules.allow] == ["Read", "Bash(ls)"]
    assert [rule.text for rule in BOOK.rules.deny] == ["Bash(rm *)"]


def test_what_is_no_rule_matches_nothing_and_is_told() -> None:
    book = Rulebook.of(Settings(allow=("Foo", "Bash(npx *)", "")))
    assert [rule.text for rule in book.rules.allow] == ["Bash(npx *)"]
    assert (len(book.problems), len(book.warnings)) == (2, 1)


def test_a_rule_stands_in_its_list_once() -> None:
    after = BOOK.adding("deny", "Read").adding("allow", "Read", "/c.json")
    assert [each for each in after.stated if each.text == "Read"] == [
        StatedRule("deny", "Read"),
        StatedRule("allow", "Read", "/c.json"),
    ]
    assert after.texts("allow") == ("Bash(ls)", "Read")


@pytest.mark.parametrize("text", ["", " ", "Foo", "Bash()", "Bash(", "Read(../x)", "bash(ls)", "Bash(a; b)", "Edit(a"])
def test_what_is_no_rule_cannot_be_added(text: str) -> None:
    with pytest.raises(UsageError) as error:
        BOOK.adding("allow", text)
    assert error.value.hint


def test_a_rule_is_taken_out_of_all_lists() -> None:
    assert BOOK.adding("ask", "Read").without("Read").stated == BOOK.stated[1:]
    with pytest.raises(UsageError, match=r"No such rule: Read\(x\)") as error:
        BOOK.without("Read(x)")
    assert error.value.hint == "Rules in force: Read, Bash(ls), Bash(rm *)."
    with pytest.raises(UsageError) as error:
        Rulebook().without("Read")
    assert error.value.hint == "No rule is set."


@pytest.mark.parametrize("mode", PERMISSION_MODES)
def test_a_mode_is_one_of_those_that_there_are(mode: str) -> None:
    assert (BOOK.in_mode(mode).mode, BOOK.in_mode(mode).mode_origin) == (mode, "this conversation")
    with pytest.raises(UsageError, match="Unknown permission mode"):
        BOOK.in_mode(mode.upper())


def test_a_rule_that_means_everything_is_warned_of() -> None:
    assert (check("Bash(git status)"), check("Bash")) == (None, "This rule allows every command.")
