"""A rule that a person writes while a call waits: is it one, and does it do what they want?"""

from __future__ import annotations

import pytest
from copilot_kernel.acp.messages import Location, Option
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.policy import rule_doubt, rule_problem
from copilot_kernel.permissions.question import Question

ROOT = "/project"
OPTIONS = (Option("yes", "Yes", "allow_once"), Option("no", "No", "reject_once"))
COMMAND = ToolCall(1, 1, "x", "List", kind="execute", raw_input={"command": "ls -l src"})
EDIT = ToolCall(1, 1, "x", "Edit", kind="edit", locations=(Location("/project/src/a.py"),))


def asked(call: ToolCall, suggestion: str = "", *rules: str) -> Question:
    return Question(1, call, OPTIONS, suggestion=suggestion, rules=rules)


@pytest.mark.parametrize("text", ["", " ", "Bash(", "Bash()", "Shell(ls)", "allow everything", "Edit(a)\nBash"])
def test_what_is_no_rule_is_said_in_words(text: str) -> None:
    assert rule_problem(text)


@pytest.mark.parametrize("text", ["Bash(ls *)", "Edit(src/**)", "Read", "mcp__server__tool"])
def test_a_rule_is_no_problem(text: str) -> None:
    assert rule_problem(text) is None


@pytest.mark.parametrize(
    ("call", "rule"), [(COMMAND, "Bash(ls *)"), (COMMAND, "Bash(ls -l src)"), (EDIT, "Edit(src/**)"), (EDIT, "Edit")]
)
def test_a_rule_that_allows_the_call_is_not_doubted(call: ToolCall, rule: str) -> None:
    assert rule_doubt(rule, asked(call), ROOT) is None


@pytest.mark.parametrize(
    ("call", "rule", "words"),
    [
        (COMMAND, "Bash(cat *)", "By itself this rule does not allow this call: "),
        (COMMAND, "Edit", "By itself this rule does not allow this call: "),
        (EDIT, "Edit(docs/**)", "By itself this rule does not allow this call: "),
        (COMMAND, "Bash", "This rule allows every command."),
        (EDIT, "Edit(//**)", "This rule allows every file."),
    ],
)
def test_a_rule_that_is_too_narrow_or_too_wide_is_doubted(call: ToolCall, rule: str, words: str) -> None:
    assert (rule_doubt(rule, asked(call), ROOT) or "").startswith(words)


def test_what_we_suggest_is_taken_together_with_the_other_rules() -> None:
    together = ToolCall(1, 1, "x", "Both", kind="execute", raw_input={"command": "ls && cat a"})
    assert rule_doubt("Bash(cat a)", asked(together), ROOT)
    assert rule_doubt("Bash(cat a)", asked(together, "Bash(cat a)"), ROOT) is None
    assert rule_doubt("Bash(cat a)", asked(together, "", "Bash(cat a)"), ROOT) is None
