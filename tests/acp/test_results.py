"""Every request and answer of an agent, and any other JSON in its place, becomes a value."""

from typing import Any

import pytest
from copilot_kernel.acp.messages import (
    AgentInfo,
    AuthMethod,
    Mode,
    PermissionOption,
    PermissionRequest,
    SessionState,
    ToolCallUpdate,
)
from copilot_kernel.acp.parse import parse_permission
from copilot_kernel.acp.results import parse_initialize, parse_prompt_result, parse_session, parse_sessions

REQUESTS: list[tuple[Any, PermissionRequest]] = [
    ({"toolCall": {"toolCallId": "t"}}, PermissionRequest(ToolCallUpdate("t"), ())),
    ({"sessionId": "s", "title": "T"}, PermissionRequest(ToolCallUpdate("", title="T"), ())),
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
        PermissionRequest(
            ToolCallUpdate(""), (PermissionOption("b", "b", "allow_forever"), PermissionOption("a", "a", ""))
        ),
    ),
    (None, PermissionRequest(ToolCallUpdate(""), ())),
]


@pytest.mark.parametrize(("raw", "request_"), REQUESTS)
def test_a_permission_request_keeps_the_agents_options_in_their_order(raw: Any, request_: PermissionRequest) -> None:
    assert parse_permission(raw) == request_


@pytest.mark.parametrize(
    ("raw", "version"), [(1, 1), ("1", 1), ("2025-06-18", "2025-06-18"), (True, "true"), (None, None)]
)
def test_only_the_number_one_reads_as_one(raw: Any, version: Any) -> None:
    assert parse_initialize({"protocolVersion": raw}).protocol_version == version


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
    )


def test_a_terminal_sign_in_without_a_command_has_none() -> None:
    methods: list[Any] = [
        {"type": "terminal", "id": "t", "name": "Terminal", "args": ["--login"]},
        {"id": "odd", "_meta": {"terminal-auth": {"command": ["not", "text"]}}},
        "odd",
    ]
    assert parse_initialize({"authMethods": methods}).auth_methods == (
        AuthMethod("t", "Terminal", type="terminal"),
        AuthMethod("odd", "odd"),
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
MODEL = {"id": "model", "type": "select", "currentValue": "m2"}
SWITCH = {"id": "mode", "type": "boolean", "currentValue": True}
MODES = {"currentModeId": "old", "availableModes": [{"id": "old", "name": "Old"}]}
MODELS = {"currentModelId": "m-old", "availableModels": [{"modelId": "m-old", "name": "M"}]}

SESSIONS: list[tuple[Any, SessionState]] = [
    ({"sessionId": "s", "modes": MODES, "models": MODELS}, SessionState("s", "old", (Mode("old", "Old"),), "m-old")),
    ({"sessionId": "s", "modes": {"modeId": "old"}}, SessionState("s", "old")),
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
    ({"sessionId": "s", "models": MODELS, "configOptions": [MODEL]}, SessionState("s", model="m2", options=(MODEL,))),
    ({"sessionId": "s", "configOptions": [SWITCH]}, SessionState("s", options=(SWITCH,))),
    ({"sessionId": 7, "modes": [], "models": 1, "configOptions": "x"}, SessionState("")),
]


@pytest.mark.parametrize(("raw", "state"), SESSIONS)
def test_a_session_knows_its_mode_and_model_in_each_form(raw: Any, state: SessionState) -> None:
    parsed = parse_session(raw)
    assert (parsed.id, parsed.mode, parsed.modes, parsed.model, parsed.options) == (
        (state.id, state.mode, state.modes, state.model, state.options)
    )
    assert parsed.raw == (raw if isinstance(raw, dict) else {})


@pytest.mark.parametrize(
    ("raw", "result"),
    [
        ({"stopReason": "tired", "usage": {"totalTokens": 3}}, ("tired", {"totalTokens": 3})),
        ({"stopReason": 5, "usage": 5}, ("end_turn", None)),
    ],
)
def test_a_turn_ends_with_the_agents_own_reason(raw: Any, result: Any) -> None:
    parsed = parse_prompt_result(raw)
    assert (parsed.stop_reason, parsed.usage) == result


@pytest.mark.parametrize(
    ("given", "time"),
    [
        (1764400000, "2025-11-29T07:06:40.000+00:00"),
        (1764400000123, "2025-11-29T07:06:40.123+00:00"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        (-1, ""),
        (1e300, ""),
        ([1], ""),
    ],
)
def test_the_time_of_a_session_may_be_a_number(given: object, time: str) -> None:
    (session,), _ = parse_sessions({"sessions": [{"sessionId": "s", "updatedAt": given}]})
    assert session.updated_at == time
