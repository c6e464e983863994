"""What was allowed and then turned into something else is told; what real agents add to a call while it runs is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.acp.calls import parse_permission
from copilot_kernel.acp.messages import Diff, Location
from copilot_kernel.acp.parse import parse_update
from copilot_kernel.conversation import reduce
from copilot_kernel.conversation.model import Conversation, ToolCall
from copilot_kernel.permissions.contradictions import is_another

from .making import ROOT, at, claude_edit, edit, make, run

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))


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
    now, asked = Conversation(turn=1, live=True), dict[int, ToolCall]()
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        message, params = row["message"], row["message"].get("params", {})
        if row["from"] == "agent" and message.get("method") == "session/update":
            now = reduce.reduce(now, parse_update(params.get("update")))
        elif row["from"] == "agent" and message.get("method") == "session/request_permission":
            now, number = reduce.ask(now, parse_permission(params).tool_call)
            call = now.entries[number]
            assert isinstance(call, ToolCall)
            asked[number] = call
        for number, call in asked.items():
            current = now.entries[number]
            assert isinstance(current, ToolCall)
            assert not is_another(current, call, "/project"), current
