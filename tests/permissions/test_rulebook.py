"""What is in force, how it is changed, and a rule that a person writes while a call waits."""

import pytest
from copilot_kernel.acp.messages import Location, PermissionOption
from copilot_kernel.config import PERMISSION_MODES, Settings
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.errors import UsageError
from copilot_kernel.permissions.offers import rule_problem
from copilot_kernel.permissions.policy import rule_doubt
from copilot_kernel.permissions.question import Question, RuleOffer
from copilot_kernel.permissions.rulebook import EVERY_COMMAND, Rulebook, StatedRule, check

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
    assert (check("Bash(git status)"), check("Bash")) == (None, EVERY_COMMAND)


# -- a rule for a waiting call --------------------------------------------------------------------------------------

ROOT = "/project"
OPTIONS = (PermissionOption("yes", "Yes", "allow_once"), PermissionOption("no", "No", "reject_once"))
COMMAND = ToolCall(1, 1, "x", "List", kind="execute", raw_input={"command": "ls -l src"})
EDIT = ToolCall(1, 1, "x", "Edit", kind="edit", locations=(Location("/project/src/a.py"),))


def question_about(call: ToolCall, offered: str = "", *rules: str) -> Question:
    return Question(call, OPTIONS, offers=(RuleOffer("", offered),), rules=rules)


def test_what_is_not_a_rule_is_a_problem() -> None:
    assert rule_problem("Bash(")
    assert rule_problem("Bash(ls *)") is None


@pytest.mark.parametrize(
    ("call", "rule", "words"),
    [
        (COMMAND, "Bash(cat *)", "By itself this rule does not allow this call: "),
        (COMMAND, "Bash(ls *)", ""),
        (EDIT, "Edit(src/**)", ""),
        (EDIT, "Edit(docs/**)", "By itself this rule does not allow this call: "),
        (COMMAND, "Bash", EVERY_COMMAND),
        (EDIT, "Edit(//**)", "This rule allows every file."),
    ],
)
def test_a_rule_that_is_too_narrow_or_too_wide_is_doubted(call: ToolCall, rule: str, words: str) -> None:
    doubt = rule_doubt(rule, question_about(call), ROOT) or ""
    assert (doubt.startswith(words), bool(doubt)) == (True, bool(words))


def test_what_we_suggest_is_taken_together_with_the_other_rules() -> None:
    together = ToolCall(1, 1, "x", "Both", kind="execute", raw_input={"command": "ls && cat a"})
    assert rule_doubt("Bash(cat a)", question_about(together), ROOT)
    assert rule_doubt("Bash(cat a)", question_about(together, "Bash(cat a)"), ROOT) is None
    assert rule_doubt("Bash(cat a)", question_about(together, "", "Bash(cat a)"), ROOT) is None
