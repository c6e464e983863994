"""The messages of the dialects, word for word, become the values of the specification."""

import json
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp import dialects
from copilot_kernel.acp.messages import (
    AgentInfo,
    AudioBlock,
    AuthMethod,
    Chunk,
    Diff,
    EmbeddedResource,
    ImageBlock,
    PermissionOption,
    PermissionRequest,
    PlanEntry,
    PlanUpdate,
    PromptResult,
    ResourceLink,
    SessionState,
    TerminalContent,
    TextBlock,
    ToolCallUpdate,
    UnknownBlock,
)
from copilot_kernel.acp.parse import parse_block, parse_permission, parse_update
from copilot_kernel.acp.results import _COPILOT_SIGN_IN, parse_initialize, parse_prompt_result, parse_session

DATA = Path(__file__).parent / "data"
GUIDE, REFERENCE, EARLY = (
    json.loads((DATA / f"{name}.json").read_text("utf-8"))
    for name in ("copilot-guide", "acp-reference", "copilot-0.0.413")
)


def test_the_copilot_guides_updates_are_understood() -> None:
    assert [parse_update(raw) for raw in GUIDE["updates"]] == [
        Chunk("agent", TextBlock("I'll fix the authentication...")),
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
        tool_call=ToolCallUpdate("", title="Execute command", content=(TextBlock("Run: npm test"),)),
        options=(
            PermissionOption("allow_once", "Allow once", "allow_once"),
            PermissionOption("allow_always", "Always allow", "allow_always"),
            PermissionOption("reject_once", "Reject", "reject_once"),
            PermissionOption("reject_always", "Always reject", "reject_always"),
        ),
    )


def test_the_copilot_guides_answers_are_understood() -> None:
    assert parse_initialize(GUIDE["initialize"]) == AgentInfo(
        1, "copilot", "GitHub Copilot", "1.0.0", load_session=True, auth_methods=_COPILOT_SIGN_IN
    )
    assert parse_session(GUIDE["session/new"]) == SessionState("sess_abc123def456", raw=GUIDE["session/new"])
    assert parse_session(GUIDE["session/load"]) == SessionState("")
    assert parse_prompt_result(GUIDE["session/prompt"]) == PromptResult("end_turn")


def test_the_acp_references_updates_are_understood() -> None:
    plan = PlanUpdate((PlanEntry("Read"), PlanEntry("Write")), "Make it work")
    assert [parse_update(raw) for raw in REFERENCE["updates"]] == [
        Chunk("user", TextBlock("Hello")),
        Chunk("thought", TextBlock("Hm")),
        ToolCallUpdate("t1", True, "Change main.go", None, "edit", "pending", raw_input={"path": "/p/main.go"}),
        ToolCallUpdate(
            "t1",
            status="completed",
            content=(TextBlock("changed"), Diff("/p/main.go", "a", "b"), TerminalContent("term1")),
        ),
        ToolCallUpdate("t1", status="cancelled"),
        plan,
        plan,
    ]


NO_OUTPUT = {"type": "terminal", "content": [{"text": 3}]}


@pytest.mark.parametrize(("items", "content", "output"), [
    ([{"type": "terminal", "content": [{"type": "text", "text": "a"}, "b"]}], (TerminalContent("terminal"),), "a\nb"),
    ({"type": "terminal", "terminalId": "t", "content": {"text": "ok"}}, (TerminalContent("t"),), "ok"),
    ([NO_OUTPUT], (UnknownBlock(NO_OUTPUT),), ""),
])  # fmt: skip
def test_a_terminal_may_come_with_its_output(items: Any, content: Any, output: str) -> None:
    update = parse_update({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "content": items})
    meta = {"terminal_output": {"data": output}} if output else None
    assert update == ToolCallUpdate("t1", content=content, meta=meta)


def test_the_acp_references_permission_request_is_complete() -> None:
    assert parse_permission(REFERENCE["session/request_permission"]) == PermissionRequest(
        ToolCallUpdate("t1", title="Change main.go", kind="edit"), (PermissionOption("yes", "Yes", "allow_once"),)
    )


def test_the_words_of_version_2_are_not_those_of_the_call() -> None:
    def parsed(**subject: Any) -> ToolCallUpdate:
        return parse_permission({"sessionId": "s", "title": "OK?", "options": [], "subject": subject}).tool_call

    about = {"toolCallId": "t1", "_meta": {"toolName": "mcp__lab__echo"}}
    assert parsed(type="tool_call", toolCall=about) == ToolCallUpdate(
        "t1", meta={"toolName": "mcp__lab__echo", "question": "OK?"}
    )
    assert parsed(type="command", command="ls", cwd="/a", toolCallId="t1") == ToolCallUpdate(
        "", title="OK?", kind="execute", raw_input={"command": "ls", "cwd": "/a"}
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
    )
    said = (Chunk("agent", TextBlock("Done."), "result 0"),)
    assert parse_prompt_result(REFERENCE["session/prompt"]) == PromptResult("end_turn", messages=said)
    assert [parse_block(dialects.block(raw)) for raw in REFERENCE["blocks"]] == [
        TextBlock("plain"),
        ImageBlock("aGk=", "image/png"),
        AudioBlock("aGk=", "audio/wav"),
        EmbeddedResource("file:///p/a.txt", "inside"),
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
            ),
        ),
    )
