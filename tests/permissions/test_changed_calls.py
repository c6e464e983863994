"""What was allowed and then turned into something else is told; what real agents add to a call while it runs is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.acp.messages import Diff, Location
from copilot_kernel.conversation.model import Conversation, ToolCall
from copilot_kernel.permissions.request import is_another

from .making import ROOT, at, claude_edit, edit, make, run
from .recorded import TRANSCRIPTS, played


def diff(path: str) -> tuple[Diff, ...]:
    return (Diff(path, "one", "two"),)


@pytest.mark.parametrize(
    ("allowed", "now"),
    [
        (run("make test"), run("make clean")),
        (run("make test"), make("other", {"command": "make clean"})),
        (run("make test"), run("make test", cwd="/tmp")),
        (run("make test", cwd="/tmp"), run("make test", cwd="/etc")),
        (edit("a.py"), edit("b.py")),
        (edit("a.py"), make("edit", {"paths": [at("a.py"), at("b.py")]})),
        (edit("a.py"), replace(edit("a.py"), content=diff(at("b.py")))),
        (edit("a.py"), replace(edit("a.py"), locations=(Location("/etc/passwd"),))),
        (make("delete", {"path": "a.py"}), make("delete", {"path": "../a.py"})),
        (make("other", {"path": "a.py"}), make("delete", {"path": "b.py"})),
    ],
)
def test_something_else_than_was_allowed(allowed: ToolCall, now: ToolCall) -> None:
    assert is_another(now, allowed, ROOT)


@pytest.mark.parametrize(
    ("allowed", "now"),
    [
        (run("make test"), run("make test")),
        (run("make test"), run("make test", cwd=ROOT)),
        (run("make test", cwd="."), run("make test", cwd=ROOT)),
        (run("make test"), make("execute", None)),
        (edit("a.py"), replace(edit("a.py"), content=diff("a.py"))),
        (edit("a.py"), make("edit", {"path": "a.py", "note": "see ../b.py and /etc/passwd"})),
        (claude_edit("a.py"), edit("a.py")),
        (make("edit", None), edit("a.py")),
        (make("read", {"path": "a.py"}), make("read", {"path": "b.py"})),
        (run("make test"), replace(run("make test"), locations=(Location(at("Makefile")),))),
    ],
)
def test_the_same_told_again_in_other_words_or_with_more(allowed: ToolCall, now: ToolCall) -> None:
    assert not is_another(now, allowed, ROOT)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_what_recorded_agents_tell_of_a_call_after_its_question_is_the_same(path: Path) -> None:
    asked = dict[int, ToolCall]()
    for _, now, number in played(path):
        if number is not None:
            asked[number] = _call(now, number)
        for each, call in asked.items():
            assert not is_another(_call(now, each), call, "/project"), now.entries[each]


def _call(conversation: Conversation, number: int) -> ToolCall:
    call = conversation.entries[number]
    assert isinstance(call, ToolCall)
    return call
