"""What agents do without asking: labels that must not accuse the innocent."""

from collections.abc import Sequence

import pytest
from copilot_kernel.acp.messages import Diff
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions.ledger import ONCE, unasked_action, why_covered
from copilot_kernel.permissions.policy import PolicyContext, judge
from copilot_kernel.permissions.request import PolicyRequest

from .making import ROOT, around, at, delete, edit, fetch, make, move, run, tool, view

LINKS = {f"{ROOT}/link": "/etc/passwd", f"{ROOT}/unknown": ""}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (make("execute"), "not asked"),
        (edit("a"), "not asked"),
        (delete("a"), "not asked"),
        (move("a", "b"), "not asked"),
        (make("other", {"command": "ls"}), "not asked"),
        (make("read", {"path": at("a")}, content=(Diff(at("a"), "a", "b"),)), "not asked"),
        (view("/etc/passwd"), "not asked, outside the project: /etc/passwd"),
        (view("link"), f"not asked, outside the project: {ROOT}/link"),
        (make("read", {"path": "~/x"}), "not asked, outside the project: ~/x"),
        (make("search", {"path": "/etc"}), "not asked, outside the project: /etc"),
    ],
)
def test_what_should_have_been_asked_about(call: ToolCall, words: str) -> None:
    assert unasked_action(PolicyRequest(call, around(call, links=LINKS))) == (words or None)


READS = (make("read"), make("read", {"path": ROOT}), make("read", {"path": "src/../a"}), view("a"), view("unknown"))
OTHERS = (make("think", {"thought": "x"}), make("other", {"todos": ["x"]}), fetch("https://example.com"))


@pytest.mark.parametrize("call", [*READS, make("search", {"pattern": "/api/v1"}), *OTHERS])
def test_what_need_not_be_asked_about(call: ToolCall) -> None:
    assert unasked_action(PolicyRequest(call, around(call, links=LINKS))) is None


@pytest.mark.parametrize(
    ("call", "allow", "mode", "words"),
    [
        (run("git status"), "Bash(git *)", "default", "covered by rule `Bash(git *)`"),
        (edit("a"), "", "acceptEdits", "covered by “Edit freely” mode"),
        (run("ls"), "", "bypassPermissions", "covered by “Allow everything” mode"),
        (run("ls"), "Bash(git *)", "default", ""),
        (run("ls"), "Bash", "plan", ""),
        (edit("copilot_kernel.json"), "", "bypassPermissions", ""),
    ],
)
def test_covered_by_the_users_own_rules_and_mode(call: ToolCall, allow: str, mode: str, words: str) -> None:
    assert covered(call, (), around(call, allow, mode=mode)) == (words or None)


def test_what_is_denied_is_covered_by_no_answer() -> None:
    assert covered(run("ls"), [run("ls")], around(run("ls"), deny="Bash(ls)")) is None


def covered(call: ToolCall, standing: Sequence[ToolCall], context: PolicyContext) -> str | None:
    request = PolicyRequest(call, context)
    return why_covered(request, judge(request, ONCE), standing)


COMMAND = "covered by your earlier answer to the same command"
TOOL = "covered by your earlier answer to the same tool"
EDIT = "covered by your earlier answer to an edit, which holds for later ones"


@pytest.mark.parametrize(
    ("call", "earlier", "words"),
    [
        (run("ls"), run("ls"), COMMAND),
        (run("ls", description="x"), run("ls", commands=["ls"]), COMMAND),
        (run("ls", cwd="src"), run("ls"), ""),
        (make("execute"), make("execute"), ""),
        (run("ls"), edit("a"), ""),
        (edit("b"), edit("a"), EDIT),
        (edit("/etc/x"), edit("a"), ""),
        (make("edit"), edit("a"), ""),
        (edit("copilot_kernel.json"), edit("a"), ""),
        (delete("b"), delete("b"), "covered by your earlier answer to the same paths"),
        (view("/etc/x"), view("/etc/y"), ""),
        (view("/tmp/x"), view("/tmp/x", "Access paths outside trusted directories"), ""),
        (tool("mcp__a__b", {"x": 1}), tool("mcp__a__b"), TOOL),
        (tool("mcp__a__c"), tool("mcp__a__b"), ""),
        (make("other", {"command": "ls"}, "x"), make("other", {"command": "rm"}, "x"), ""),
        (make("other"), make("other"), ""),
    ],
)
def test_covered_by_an_earlier_always(call: ToolCall, earlier: ToolCall, words: str) -> None:
    assert covered(call, [run("other"), earlier], around(call, links=LINKS)) == (words or None)
