"""What a call says that it will do, in the shapes of real agents and in hostile ones."""

from typing import Any

import pytest
from copilot_kernel.acp.messages import Diff, Location
from copilot_kernel.conversation.model import ToolCall
from copilot_kernel.permissions import call_input

from .making import ROOT, judged, make, run

NOTES = f"{ROOT}/notes.txt"
PATCH = f"*** Begin Patch\n*** Update File: {NOTES}\n*** Move to: b.txt\n@@\n-a\n+b\n*** Add File: c\n+x\n*** End Patch"


@pytest.mark.parametrize(
    ("raw", "commands"),
    [
        ({"command": "ls -l"}, ["ls -l"]),
        ({"command": "ls", "commands": ["ls"]}, ["ls"]),
        ({"commands": ["ls", "pwd"]}, ["ls", "pwd"]),
        ({"cmd": ["ls", "a b"]}, ["ls 'a b'"]),
        ({"argv": ["bash", "-lc", "ls | wc"]}, ["ls | wc"]),
        ({"command": ["bash", "x.sh"]}, ["bash x.sh"]),
        ({"command": ["ls", 5, None]}, ["ls 5 None"]),
        ("ls", []),
    ],
)
def test_commands(raw: Any, commands: list[str]) -> None:
    assert list(call_input.read(make("execute", raw)).commands) == commands


@pytest.mark.parametrize(
    ("call", "paths"),
    [
        (make("edit", {"fileName": NOTES, "diff": "x"}), {NOTES}),
        (make("read", {"filePath": NOTES}, locations=(Location(NOTES, 2), Location("b"))), {NOTES, "b"}),
        (make("edit", None, content=(Diff("a", None, "x"),)), {"a"}),
        (make("edit", PATCH), {NOTES, "b.txt", "c"}),
        (make("edit", {"input": PATCH}), {NOTES, "b.txt", "c"}),
        (make("move", {"source": "a", "destination": "b"}), {"a", "b"}),
        (make("edit", {"changes": {"/a": {"content": "/b"}}}), {"/a"}),
        (make("edit", {"path": "a", "changes": {"b.py": {"new_text": "x"}}}), {"a", "b.py"}),
        (make("edit", {"path": "a", "files": {"LICENSE": "x"}}), {"a", "LICENSE"}),
        (make("edit", {"path": "a", "edits": [{"name": "b.py", "new_text": "x"}]}), {"a", "b.py"}),
        (make("edit", {"path": "a", "name": "a name"}), {"a"}),
        (make("read", {"path": "a", "name": ".env"}), {"a", ".env"}),
        (make("read", {"path": "a", "targets": [".env"]}), {"a", ".env"}),
        (make("edit", {"input": PATCH.replace("*** Move", " \t*** Move")}), {NOTES, "b.txt", "c"}),
        (make("edit", {"path": "a", "new_str": "/etc/passwd"}), {"a"}),
        (
            make("edit", {"path": "a", "x": [{"y": "~/b"}], "z": "../c", "u": "file:///d"}),
            set(["a", "~/b", "../c", "file:///d"]),
        ),
        (make("execute", {"command": "/bin/ls /etc"}), set()),
        (make("search", {"pattern": "a.*b", "path": "src"}), {"src"}),
    ],
)
def test_paths_are_all_found(call: ToolCall, paths: set[str]) -> None:
    assert set(call_input.read(call).paths) == paths


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (make("other", {}, "x", meta={"claudeCode": {"toolName": "mcp__a__b"}}), "mcp__a__b"),
        (
            make("other", {"text": "hey"}, '{"text":"hey"}', meta={"toolName": "mcp__a__b", "provenance": "mcp"}),
            "mcp__a__b",
        ),
        (make("other", {}, "x", meta={"server": "a", "tool": "b"}), "mcp__a__b"),
        (make("other", {}, "b", fuller_title="a-b"), "mcp__a__b"),
        (make("other", {"command": "ls"}, "b", fuller_title="a-b"), ""),
        (make("execute", {}, "b", fuller_title="a-b"), ""),
        (make("other", {}, "b", fuller_title="Say a-b"), ""),
        (make("other", {}, "x", meta={"claudeCode": {"toolName": "Bash"}}), ""),
        (make("other", {}, "x", meta={"a": None, "b": ["toolName"]}), ""),
        (make("other", {}, "x", name="mcp__a__b"), "mcp__a__b"),
        (make("other", {"server": "a", "tool": "b"}, "Tool: a/b"), "mcp__a__b"),
        (make("other", {"server": "a", "tool": "b"}, "a/b"), "mcp__a__b"),
        (make("other", {"server": "a", "tool": "b"}, "c"), ""),
        (make("other", {"server": "a", "tool": ["b", "c"]}, "a/b"), ""),
        (make("other", {}, "mcp__a__b"), ""),
    ],
)
def test_a_tool_has_its_name_from_where_no_model_writes(call: ToolCall, name: str) -> None:
    assert call_input.read(call).tool == (name or None)


@pytest.mark.parametrize(
    ("call", "aside"),
    [
        (run("ls", args=["a"]), "args"),
        (run("ls", env={"A": "b"}), "env"),
        (run("ls", more=[{"cmd": "rm"}]), "more"),
        (run("ls", timeout=5, description="x"), ""),
        (run("ls", Timeout=5), "Timeout"),
        (run("ls", cwd="/a", workdir="/b"), "cwd"),
        (run(["ls", 5]), "command"),
    ],
)
def test_what_stands_beside_a_command(call: ToolCall, aside: str) -> None:
    assert call_input.read(call).unknown_member == (aside or None)


def test_json_as_deep_as_can_be_read_is_no_trouble() -> None:
    deep: Any = "/etc/passwd"
    for _ in range(50_000):
        deep = {"a": [deep]}
    seen = call_input.read(make("edit", {"path": NOTES, "x": deep}))
    assert seen.is_too_large
    assert judged(make("edit", {"path": NOTES, "x": deep}), allow="Edit").outcome == "ask"


def test_what_a_diff_renames_is_another_file() -> None:
    diff = f"diff --git a/notes.txt b/setup.py\nrename from notes.txt\nrename to {ROOT}/setup.py\n"
    same, other = make("edit", {"path": NOTES, "diff": "x"}), make("edit", {"path": NOTES, "diff": diff})
    assert judged(same, allow="Edit").outcome == "allow"
    assert "setup.py" in judged(other, allow="Edit").reason
