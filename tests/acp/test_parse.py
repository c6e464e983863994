"""Every message an agent may send, and any other JSON, becomes a value."""

import json
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp.messages import (
    AgentInfo,
    Audio,
    AuthMethod,
    Chunk,
    Command,
    CommandsUpdate,
    CompactionChunk,
    CompactionUpdate,
    ConfigUpdate,
    Diff,
    Image,
    InfoUpdate,
    Location,
    Mode,
    ModeUpdate,
    NoticeUpdate,
    Option,
    PermissionRequest,
    PlanEntry,
    PlanUpdate,
    PromptResult,
    Resource,
    ResourceLink,
    SessionState,
    Terminal,
    Text,
    ToolCallUpdate,
    Unknown,
    UnknownBlock,
    UsageUpdate,
)
from copilot_kernel.acp.parse import (
    parse_block,
    parse_initialize,
    parse_permission,
    parse_prompt_result,
    parse_session,
    parse_update,
)

DATA = Path(__file__).parent / "data"
GUIDE, REFERENCE, EARLY = (
    json.loads((DATA / f"{name}.json").read_text("utf-8"))
    for name in ("copilot-guide", "acp-reference", "copilot-0.0.413")
)

OPTIONS = [{"type": "boolean", "id": "fast", "name": "Fast", "currentValue": True}]

UPDATES: list[tuple[dict[str, Any], Any]] = [
    (
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}, "messageId": "m"},
        Chunk("agent", Text("Hi"), "m"),
    ),
    (
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "image", "data": "aA==", "mimeType": "image/png"}},
        Chunk("thought", Image("aA==", "image/png")),
    ),
    (
        {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": ""}},
        Chunk("user", Text("")),
    ),
    (
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram", "x": 1}},
        Chunk("agent", UnknownBlock({"type": "hologram", "x": 1})),
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
    ({"sessionUpdate": "tool_call_update", "toolCallId": "t"}, ToolCallUpdate("t")),
    ({"sessionUpdate": "tool_call_update", "toolCallId": 7}, ToolCallUpdate("7")),
    ({"sessionUpdate": "tool_call", "title": "No id"}, ToolCallUpdate("", True, "No id")),
    (
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": None, "status": None, "content": None},
        ToolCallUpdate("t"),
    ),
    (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "kind": "browse",
            "status": "paused",
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
                {"type": "text", "text": "bare"},
                "naked",
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
                Text("wrapped"),
                Text("bare"),
                Text("naked"),
                Diff("/new", None, "x"),
                Diff("/gone", "x", ""),
                UnknownBlock({"type": "diff", "path": "/a"}),
                UnknownBlock({"type": "diff", "newText": "x"}),
                Terminal("1"),
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
    ({"sessionUpdate": "plan", "entries": []}, PlanUpdate(())),
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
        CommandsUpdate((Command("memory show", "Show it"), Command("$go", "", "where"))),
    ),
    ({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}, ModeUpdate("plan")),
    ({"sessionUpdate": "current_mode_update", "modeId": "plan"}, ModeUpdate("plan")),
    ({"sessionUpdate": "current_mode_update", "currentModeId": "a", "modeId": "b"}, ModeUpdate("a")),
    ({"sessionUpdate": "config_option_update", "configOptions": [*OPTIONS, "odd"]}, ConfigUpdate(tuple(OPTIONS))),
    (
        {"sessionUpdate": "session_info_update", "title": None},
        InfoUpdate(None, None, {"sessionUpdate": "session_info_update", "title": None}),
    ),
    (
        {"sessionUpdate": "session_info_update", "title": "T", "updatedAt": "2026-01-01T00:00:00Z"},
        InfoUpdate(
            "T",
            "2026-01-01T00:00:00Z",
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
    ({"sessionUpdate": "subagent_update", "sessionId": "x"}, "subagent_update"),
    ({"sessionUpdate": "session_message", "messageId": "m"}, "session_message"),
    ({"sessionUpdate": "session_message_chunk", "messageId": "m"}, "session_message_chunk"),
    ({"sessionUpdate": "_subagent_update"}, "_subagent_update"),
    ({"sessionUpdate": "agent_message_chunk"}, "agent_message_chunk"),
    ({"sessionUpdate": "tool_call"}, "tool_call"),
    ({"sessionUpdate": "tool_call_update", "status": "completed"}, "tool_call_update"),
    ({"sessionUpdate": "plan"}, "plan"),
    ({"sessionUpdate": "available_commands_update"}, "available_commands_update"),
    ({"sessionUpdate": "current_mode_update", "currentModeId": 1}, "current_mode_update"),
    ({"sessionUpdate": "config_option_update", "configOptions": {}}, "config_option_update"),
    ({"sessionUpdate": "usage_update", "used": float("nan"), "size": 1}, "usage_update"),
    ({"sessionUpdate": "notice", "severity": "info"}, "notice"),
    ({"sessionUpdate": "compaction_update"}, "compaction_update"),
    ({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c"}, "compaction_summary_chunk"),
    ({"sessionUpdate": ["tool_call"]}, ""),
    ({}, ""),
    ([], ""),
    (None, ""),
    ("tool_call", ""),
]


@pytest.mark.parametrize(("raw", "value"), UPDATES)
def test_an_update_of_the_specification_becomes_its_value(raw: Any, value: Any) -> None:
    assert parse_update(raw) == value


@pytest.mark.parametrize(("raw", "kind"), UNREADABLE)
def test_an_update_that_cannot_be_read_keeps_its_json(raw: Any, kind: str) -> None:
    update = parse_update(raw)
    assert update == Unknown(kind, raw)
    assert isinstance(update, Unknown)
    assert update.raw is raw


BLOCKS: list[tuple[Any, Any]] = [
    ({"type": "text", "text": "a", "annotations": {"priority": 1}}, Text("a")),
    ({"type": "image", "data": "aA==", "mimeType": "image/png", "uri": "u"}, Image("aA==", "image/png", "u")),
    ({"type": "audio", "data": "aA==", "mimeType": "audio/wav"}, Audio("aA==", "audio/wav")),
    (
        {
            "type": "resource_link",
            "uri": "u",
            "name": "n",
            "title": "t",
            "description": "d",
            "mimeType": "m",
            "size": 3,
        },
        ResourceLink("u", "n", "t", "d", "m", 3),
    ),
    ({"type": "resource_link", "uri": "u", "size": True}, ResourceLink("u")),
    (
        {"type": "resource", "resource": {"uri": "u", "text": "t", "mimeType": "m"}},
        Resource("u", "t", None, "m"),
    ),
    ({"type": "resource", "resource": {"uri": "u", "blob": "aA=="}}, Resource("u", None, "aA==")),
    ({"type": "resource", "uri": "flat", "resource": {"uri": "inner", "text": "t"}}, Resource("inner", "t")),
    ("text alone", Text("text alone")),
    ({"type": "text"}, UnknownBlock({"type": "text"})),
    ({"type": "image", "uri": "u"}, UnknownBlock({"type": "image", "uri": "u"})),
    ({"type": "resource"}, UnknownBlock({"type": "resource"})),
    ({"type": {}}, UnknownBlock({"type": {}})),
    (3, UnknownBlock(3)),
]


@pytest.mark.parametrize(("raw", "block"), BLOCKS)
def test_a_block_becomes_its_value(raw: Any, block: Any) -> None:
    assert parse_block(raw) == block


def test_half_an_emoji_cannot_break_what_is_encoded_later() -> None:
    assert parse_block({"type": "text", "text": "a\ud83d"}) == Text("a\ufffd")
    assert parse_block({"type": "text", "text": "a\U0001f600"}) == Text("a\U0001f600")


# -- the messages of the dialects, word for word -------------------------------------------------------------


def test_the_copilot_guides_updates_are_understood() -> None:
    assert [parse_update(raw) for raw in GUIDE["updates"]] == [
        Chunk("agent", Text("I'll fix the authentication...")),
        ToolCallUpdate(
            "tc_123", True, "Edit login.ts", None, "edit", "pending", raw_input={"path": "/path/to/login.ts"}
        ),
        ToolCallUpdate("tc_123", status="in_progress"),
        ToolCallUpdate("tc_123", status="completed", raw_output={"content": "file contents..."}),
        PlanUpdate(
            (
                PlanEntry("Analyze the bug", status="completed"),
                PlanEntry("Fix authentication logic", status="in_progress"),
                PlanEntry("Add error handling", status="pending"),
            )
        ),
    ]


def test_the_copilot_guides_permission_request_becomes_a_call_of_its_words() -> None:
    assert parse_permission(GUIDE["session/request_permission"]) == PermissionRequest(
        session_id=None,
        tool_call=ToolCallUpdate("", title="Execute command", content=(Text("Run: npm test"),)),
        options=(
            Option("allow_once", "Allow once", "allow_once"),
            Option("allow_always", "Always allow", "allow_always"),
            Option("reject_once", "Reject", "reject_once"),
            Option("reject_always", "Always reject", "reject_always"),
        ),
        complete=False,
    )


def test_the_copilot_guides_answers_are_understood() -> None:
    assert parse_initialize(GUIDE["initialize"]) == AgentInfo(
        1, "copilot", "GitHub Copilot", "1.0.0", load_session=True, raw=GUIDE["initialize"]
    )
    assert parse_session(GUIDE["session/new"]) == SessionState("sess_abc123def456", raw=GUIDE["session/new"])
    assert parse_session(GUIDE["session/load"]) == SessionState("")
    assert parse_prompt_result(GUIDE["session/prompt"]) == PromptResult("end_turn", raw=GUIDE["session/prompt"])


def test_the_acp_references_updates_are_understood() -> None:
    plan = PlanUpdate((PlanEntry("Read"), PlanEntry("Write")), "Make it work")
    assert [parse_update(raw) for raw in REFERENCE["updates"]] == [
        Chunk("user", Text("Hello")),
        Chunk("thought", Text("Hm")),
        ToolCallUpdate("t1", True, "Change main.go", None, "edit", "pending", raw_input={"path": "/p/main.go"}),
        ToolCallUpdate(
            "t1", status="completed", content=(Text("changed"), Diff("/p/main.go", "a", "b"), Terminal("term1"))
        ),
        ToolCallUpdate("t1", status="cancelled"),
        plan,
        plan,
    ]


def test_the_acp_references_permission_request_is_complete() -> None:
    assert parse_permission(REFERENCE["session/request_permission"]) == PermissionRequest(
        "s1", ToolCallUpdate("t1", title="Change main.go", kind="edit"), (Option("yes", "Yes", "allow_once"),)
    )


def test_the_acp_references_answers_and_blocks_are_understood() -> None:
    assert parse_initialize(REFERENCE["initialize"]) == AgentInfo(
        1,
        "agent",
        "Agent",
        "0.1",
        load_session=True,
        prompt=frozenset({"image", "embeddedContext"}),
        mcp=frozenset({"http"}),
        raw=REFERENCE["initialize"],
    )
    result = REFERENCE["session/prompt"]
    assert parse_prompt_result(result) == PromptResult("end_turn", messages=tuple(result["messages"]), raw=result)
    assert [parse_block(raw) for raw in REFERENCE["blocks"]] == [
        Text("plain"),
        Image("aGk=", "image/png"),
        Audio("aGk=", "audio/wav"),
        Resource("file:///p/a.txt", "inside"),
        ResourceLink("file:///p/b.txt", "b.txt", size=3),
    ]


def test_an_early_copilot_names_the_command_to_sign_in_with() -> None:
    raw = EARLY["initialize"]
    assert parse_initialize(raw) == AgentInfo(
        1,
        "Copilot",
        "Copilot",
        "0.0.413",
        load_session=True,
        prompt=frozenset({"image", "embeddedContext"}),
        session=frozenset({"list"}),
        auth_methods=(
            AuthMethod(
                "copilot-login",
                "Log in with Copilot CLI",
                "Run `copilot login` in the terminal",
                command=("/home/runner/.local/share/gh/copilot/copilot", "login"),
                raw=raw["authMethods"][0],
            ),
        ),
        raw=raw,
    )


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


# -- requests and answers ------------------------------------------------------------------------------------

REQUESTS: list[tuple[Any, PermissionRequest]] = [
    (
        {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []},
        PermissionRequest("s", ToolCallUpdate("t"), ()),
    ),
    ({"toolCall": {"toolCallId": "t"}}, PermissionRequest(None, ToolCallUpdate("t"), ())),
    (
        {"sessionId": "s", "title": "T", "subject": {"type": "command"}},
        PermissionRequest("s", ToolCallUpdate("", title="T"), ()),
    ),
    (
        {
            "sessionId": "s",
            "toolCall": None,
            "options": [
                {"optionId": "b", "name": "", "kind": "allow_forever"},
                {"optionId": "a"},
                {"optionId": 1, "name": "n"},
                {"name": "n"},
                "x",
            ],
        },
        PermissionRequest("s", ToolCallUpdate(""), (Option("b", "b", "allow_forever"), Option("a", "a", ""))),
    ),
    (None, PermissionRequest(None, ToolCallUpdate(""), (), complete=False)),
]


@pytest.mark.parametrize(("raw", "request_"), REQUESTS)
def test_a_permission_request_keeps_the_agents_options_in_their_order(raw: Any, request_: PermissionRequest) -> None:
    assert parse_permission(raw) == request_


@pytest.mark.parametrize(
    ("raw", "version"),
    [
        (1, 1),
        ("1", 1),
        (1.0, 1),
        (2, 2),
        ("2025-06-18", "2025-06-18"),
        (True, "true"),
        (None, None),
        ("9" * 50, "9" * 50),
    ],
)
def test_only_the_number_one_reads_as_one(raw: Any, version: Any) -> None:
    assert parse_initialize({"protocolVersion": raw}).protocol_version == version
    assert (parse_initialize({"protocolVersion": raw}).protocol_version == 1) == (version == 1)


def test_capabilities_are_marked_by_true_or_by_an_object() -> None:
    raw = {
        "agentCapabilities": {
            "loadSession": {},
            "promptCapabilities": {"image": {}, "audio": "yes", "embeddedContext": None, "text": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {"list": {}, "resume": None, "close": True, "_own": {}},
        }
    }
    assert parse_initialize(raw) == AgentInfo(
        None,
        load_session=True,
        prompt=frozenset({"image"}),
        mcp=frozenset({"http"}),
        session=frozenset({"list", "close"}),
        raw=raw,
    )


def test_a_terminal_sign_in_without_a_command_has_none() -> None:
    methods: list[Any] = [
        {"type": "terminal", "id": "t", "name": "Terminal", "args": ["--login"]},
        {"id": "odd", "_meta": {"terminal-auth": {"command": ["not", "text"]}}},
        "odd",
    ]
    assert parse_initialize({"authMethods": methods}).auth_methods == (
        AuthMethod("t", "Terminal", type="terminal", raw=methods[0]),
        AuthMethod("odd", "odd", raw=methods[1]),
    )


MODE = {
    "id": "how",
    "category": "mode",
    "type": "select",
    "currentValue": "https://agents.example/modes#plan",
    "options": [
        {"value": "https://agents.example/modes#plan", "name": "Plan", "description": "Only plan"},
        {"group": "g", "name": "G", "options": [{"value": "act", "name": "Act"}]},
        {"name": "no value"},
    ],
}
MODES = {"currentModeId": "old", "availableModes": [{"id": "old", "name": "Old"}]}
MODELS = {"currentModelId": "m-old", "availableModels": [{"modelId": "m-old", "name": "M"}]}

SESSIONS: list[tuple[Any, SessionState]] = [
    (
        {"sessionId": "s", "modes": MODES, "models": MODELS},
        SessionState("s", "old", (Mode("old", "Old"),), "m-old"),
    ),
    (
        {"sessionId": "s", "modes": {"modeId": "old"}},
        SessionState("s", "old"),
    ),
    (
        {"sessionId": "s", "modes": MODES, "models": MODELS, "configOptions": [MODE]},
        SessionState(
            "s",
            "https://agents.example/modes#plan",
            (Mode("https://agents.example/modes#plan", "Plan", "Only plan"), Mode("act", "Act")),
            "m-old",
            (MODE,),
        ),
    ),
    (
        {
            "sessionId": "s",
            "models": MODELS,
            "configOptions": [{"id": "model", "type": "select", "currentValue": "m2"}],
        },
        SessionState("s", model="m2", options=({"id": "model", "type": "select", "currentValue": "m2"},)),
    ),
    (
        {"sessionId": "s", "configOptions": [{"id": "mode", "type": "boolean", "currentValue": True}]},
        SessionState("s", options=({"id": "mode", "type": "boolean", "currentValue": True},)),
    ),
    ({"sessionId": 7, "modes": [], "models": 1, "configOptions": "x"}, SessionState("")),
    ([], SessionState("")),
]


@pytest.mark.parametrize(("raw", "state"), SESSIONS)
def test_a_session_knows_its_mode_and_model_however_they_are_told(raw: Any, state: SessionState) -> None:
    parsed = parse_session(raw)
    assert (parsed.id, parsed.mode, parsed.modes, parsed.model, parsed.options) == (
        (state.id, state.mode, state.modes, state.model, state.options)
    )
    assert parsed.raw == (raw if isinstance(raw, dict) else {})


@pytest.mark.parametrize(
    ("raw", "result"),
    [
        ({"stopReason": "refusal", "usage": {"totalTokens": 3}}, ("refusal", {"totalTokens": 3})),
        ({"stopReason": "tired"}, ("tired", None)),
        ({"stopReason": 5, "usage": 5}, ("end_turn", None)),
        (None, ("end_turn", None)),
    ],
)
def test_a_turn_ends_with_the_agents_own_reason(raw: Any, result: Any) -> None:
    parsed = parse_prompt_result(raw)
    assert (parsed.stop_reason, parsed.usage) == result
