"""Every update and every block, and any other JSON in their place, becomes a value."""

from typing import Any

import pytest
from copilot_kernel.acp.messages import (
    AudioBlock,
    AvailableCommand,
    Chunk,
    CommandsUpdate,
    CompactionChunk,
    CompactionUpdate,
    ConfigUpdate,
    Diff,
    EmbeddedResource,
    ImageBlock,
    InfoUpdate,
    Location,
    ModeUpdate,
    NoticeUpdate,
    PlanEntry,
    PlanUpdate,
    ResourceLink,
    TerminalContent,
    TextBlock,
    ToolCallUpdate,
    UnknownBlock,
    UnknownUpdate,
    UsageUpdate,
)
from copilot_kernel.acp.parse import parse_block, parse_update

OPTIONS = [{"type": "boolean", "id": "fast", "name": "Fast", "currentValue": True}]

UPDATES: list[tuple[dict[str, Any], Any]] = [
    (
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}, "messageId": "m"},
        Chunk("agent", TextBlock("Hi"), "m"),
    ),
    (
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "image", "data": "aA==", "mimeType": "image/png"}},
        Chunk("thought", ImageBlock("aA==", "image/png")),
    ),
    (
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Read",
            "name": "view",
            "kind": "read",
            "status": "in_progress",
            "content": [],
            "locations": [{"path": "/a", "line": 3}, {"path": "/b"}, {"line": 1}, 7],
            "rawInput": {"path": "/a"},
            "rawOutput": "x",
            "_meta": {"k": 1},
        },
        ToolCallUpdate(
            "t",
            True,
            "Read",
            "view",
            "read",
            "in_progress",
            (),
            (Location("/a", 3), Location("/b")),
            {"path": "/a"},
            "x",
            {"k": 1},
        ),
    ),
    ({"sessionUpdate": "tool_call_update", "toolCallId": 7}, ToolCallUpdate("7")),
    ({"sessionUpdate": "tool_call", "title": "No id"}, ToolCallUpdate("", True, "No id")),
    (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "title": None,
            "kind": "browse",
            "status": "paused",
            "content": None,
            "_meta": {"k": 1},
        },
        ToolCallUpdate("t", kind="other", meta={"k": 1, "unread": {"kind": "browse", "status": "paused"}}),
    ),
    (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "content": [
                {"type": "content", "content": {"type": "text", "text": "wrapped"}},
                "naked",
                {"type": "hologram", "x": 1},
                {"type": "diff", "path": "/new", "oldText": None, "newText": "x"},
                {"type": "diff", "path": "/gone", "oldText": "x"},
                {"type": "diff", "path": "/a"},
                {"type": "diff", "newText": "x"},
                {"type": "terminal", "terminalId": "1"},
                {"type": "terminal"},
                None,
            ],
        },
        ToolCallUpdate(
            "t",
            content=(
                TextBlock("wrapped"),
                TextBlock("naked"),
                UnknownBlock({"type": "hologram", "x": 1}),
                Diff("/new", None, "x"),
                Diff("/gone", "x", ""),
                UnknownBlock({"type": "diff", "path": "/a"}),
                UnknownBlock({"type": "diff", "newText": "x"}),
                TerminalContent("1"),
                UnknownBlock({"type": "terminal"}),
                UnknownBlock(None),
            ),
        ),
    ),
    (
        {
            "sessionUpdate": "plan",
            "entries": [{"content": "a", "priority": "high", "status": "completed"}, {"content": "b"}],
        },
        PlanUpdate((PlanEntry("a", "high", "completed"), PlanEntry("b", "medium", "pending"))),
    ),
    (
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": [{"content": "a"}]}},
        PlanUpdate((PlanEntry("a"),)),
    ),
    (
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": "memory show", "description": "Show it", "input": None},
                {"name": "$go", "input": {"hint": "where"}},
                {"description": "nameless"},
                "odd",
            ],
        },
        CommandsUpdate((AvailableCommand("memory show", "Show it"), AvailableCommand("$go", "", "where"))),
    ),
    ({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}, ModeUpdate("plan")),
    ({"sessionUpdate": "current_mode_update", "modeId": "plan"}, ModeUpdate("plan")),
    ({"sessionUpdate": "config_option_update", "configOptions": [*OPTIONS, "odd"]}, ConfigUpdate(tuple(OPTIONS))),
    (
        {"sessionUpdate": "session_info_update", "title": "T", "updatedAt": "2026-01-01T00:00:00Z"},
        InfoUpdate(
            "T",
            {"sessionUpdate": "session_info_update", "title": "T", "updatedAt": "2026-01-01T00:00:00Z"},
        ),
    ),
    (
        {"sessionUpdate": "usage_update", "used": 5, "size": 10.0, "cost": {"amount": 0.1, "currency": "USD"}},
        UsageUpdate(5, 10, {"amount": 0.1, "currency": "USD"}),
    ),
    (
        {"sessionUpdate": "notice", "severity": "warning", "title": "Slow", "description": "very"},
        NoticeUpdate("warning", "Slow", "very"),
    ),
    (
        {
            "sessionUpdate": "compaction_update",
            "compactionId": "c",
            "status": "failed",
            "summary": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "error": {"message": "too long"},
        },
        CompactionUpdate("c", "failed", "ab", "too long"),
    ),
    (
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": {"type": "text", "text": "a"}},
        CompactionChunk("c", "a"),
    ),
]

UNREADABLE: list[tuple[Any, str]] = [
    ({"sessionUpdate": "plan_removed", "planId": "p"}, "plan_removed"),
    ({"sessionUpdate": "plan_update", "plan": {"type": "file", "planId": "p", "uri": "file:///p"}}, "plan_update"),
    ({"sessionUpdate": "agent_message_chunk"}, "agent_message_chunk"),
    ({"sessionUpdate": "tool_call_update", "status": "completed"}, "tool_call_update"),
    ({"sessionUpdate": "plan"}, "plan"),
    ({"sessionUpdate": "available_commands_update"}, "available_commands_update"),
    ({"sessionUpdate": "current_mode_update", "currentModeId": 1}, "current_mode_update"),
    ({"sessionUpdate": "config_option_update", "configOptions": {}}, "config_option_update"),
    ({"sessionUpdate": "usage_update", "used": None, "size": 1}, "usage_update"),
    ({"sessionUpdate": "notice", "severity": "info"}, "notice"),
    ({"sessionUpdate": "compaction_update"}, "compaction_update"),
    ({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c"}, "compaction_summary_chunk"),
    ({"sessionUpdate": ["tool_call"]}, ""),
    (None, ""),
]


@pytest.mark.parametrize(("raw", "value"), UPDATES)
def test_an_update_of_the_specification_becomes_its_value(raw: Any, value: Any) -> None:
    assert parse_update(raw) == value


@pytest.mark.parametrize(("raw", "kind"), UNREADABLE)
def test_an_update_that_cannot_be_read_keeps_its_json(raw: Any, kind: str) -> None:
    update = parse_update(raw)
    assert update == UnknownUpdate(kind, raw)
    assert isinstance(update, UnknownUpdate)
    assert update.raw is raw


BLOCKS: list[tuple[Any, Any]] = [
    ({"type": "text", "text": "a", "annotations": {"priority": 1}}, TextBlock("a")),
    ({"type": "audio", "data": "aA==", "mimeType": "audio/wav"}, AudioBlock("aA==", "audio/wav")),
    (
        {"type": "resource_link", "uri": "u", "name": "n", "description": "d", "mimeType": "m", "size": 3},
        ResourceLink("u", "n", "", "d", "m", 3),
    ),
    (
        {"type": "resource", "uri": "flat", "resource": {"uri": "u", "text": "t", "mimeType": "m"}},
        EmbeddedResource("u", "t", None, "m"),
    ),
    ({"type": "resource", "resource": {"uri": "u", "blob": "aA=="}}, EmbeddedResource("u", None, "aA==")),
    ("text alone", UnknownBlock("text alone")),
    ({"type": "text"}, UnknownBlock({"type": "text"})),
    ({"type": "image", "uri": "u"}, UnknownBlock({"type": "image", "uri": "u"})),
    ({"type": "resource", "text": "t"}, UnknownBlock({"type": "resource", "text": "t"})),
    (3, UnknownBlock(3)),
]


@pytest.mark.parametrize(("raw", "block"), BLOCKS)
def test_a_block_becomes_its_value(raw: Any, block: Any) -> None:
    assert parse_block(raw) == block


def test_a_member_of_the_specification_outranks_its_alias() -> None:
    raw = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "kind": "read",
        "toolKind": "edit",
        "rawInput": None,
        "input": {"x": 1},
        "content": [],
        "output": ["y"],
    }
    assert parse_update(raw) == ToolCallUpdate("t", kind="read", content=())
    assert parse_update({"sessionUpdate": "plan", "entries": [], "steps": ["x"], "plan": {}}) == PlanUpdate(())
    diff = {"type": "diff", "path": "/a", "oldText": None, "oldContent": "x", "newText": "n", "newContent": "y"}
    update = parse_update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [diff]})
    assert update == ToolCallUpdate("t", content=(Diff("/a", None, "n"),))
