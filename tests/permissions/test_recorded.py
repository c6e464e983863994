"""Real agents' questions, as recorded, and calls that turned into something else after they were allowed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.acp.messages import Diff, Location
from copilot_kernel.acp.parse import parse_permission, parse_update
from copilot_kernel.conversation import reduce
from copilot_kernel.conversation.model import Conversation, ToolCall
from copilot_kernel.permissions.policy import PolicyContext, Rules, decide, paths
from copilot_kernel.permissions.request import is_another
from msgspec import structs

from .making import ROOT, at, claude_edit, edit, make, run

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts").glob("*.jsonl"))


def played(path: Path) -> Iterator[tuple[Conversation, Conversation, int | None]]:
    """The conversation before and after each message of the agent, and the number of the call that it asks about."""
    now = Conversation(turn=1, live=True)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        message, params = row["message"], row["message"].get("params", {})
        if row["from"] == "agent" and message.get("method") == "session/update":
            before, now = now, reduce.reduce(now, parse_update(params.get("update")))
            yield before, now, None
        elif row["from"] == "agent" and message.get("method") == "session/request_permission":
            before = now
            now, number = reduce.ask(now, parse_permission(params).tool_call)
            yield before, now, number


def _call(conversation: Conversation, number: int) -> ToolCall:
    call = conversation.entries[number]
    assert isinstance(call, ToolCall)
    return call


ALLOW = (
    "Bash(echo *)", "Bash(touch never)", "Bash(sleep 50)", "Bash(exit 3)", "Bash(python3 -c 'import nothing')", "Edit",
)  # fmt: skip


def _asked(path: Path) -> Iterator[tuple[ToolCall, ToolCall | None]]:
    """Each call that was asked about, with what was shown of it before."""
    for before, now, number in played(path):
        if number is not None:
            earlier = before.entries[number] if number < len(before.entries) else None
            yield _call(now, number), earlier if isinstance(earlier, ToolCall) else None


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_recorded_question_is_answered_by_the_rules_for_it(path: Path) -> None:
    rules, problems, _ = Rules.read(ALLOW)
    assert problems == ()
    for call, earlier in _asked(path):
        start = PolicyContext(rules=rules, root="/project", cwd="/project")
        known = replace(start, real={each: each for each in paths(call, start)})
        decision = decide(call, (), known, earlier)
        says_nothing = (call.kind == "execute" and call.raw_input is None) or call.kind in ("other", "switch_mode")
        expected = "does not offer to allow it only once" if not says_nothing else ""
        assert expected in decision.reason, (call, decision.reason)


def test_there_are_questions_of_every_kind() -> None:
    kinds = {(path.stem.split("-")[0], call.kind) for path in TRANSCRIPTS for call, _ in _asked(path)}
    assert {(agent, kind) for agent in ("copilot", "opencode", "gemini") for kind in ("edit", "execute")} <= kinds


# -- changed after it was allowed -----------------------------------------------------------------------------------


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
        (edit("a.py"), structs.replace(edit("a.py"), content=diff(at("b.py")))),
        (edit("a.py"), structs.replace(edit("a.py"), locations=(Location("/etc/passwd"),))),
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
        (edit("a.py"), structs.replace(edit("a.py"), content=diff("a.py"))),
        (edit("a.py"), make("edit", {"path": "a.py", "note": "see ../b.py and /etc/passwd"})),
        (claude_edit("a.py"), edit("a.py")),
        (make("edit", None), edit("a.py")),
        (make("read", {"path": "a.py"}), make("read", {"path": "b.py"})),
        (run("make test"), structs.replace(run("make test"), locations=(Location(at("Makefile")),))),
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
