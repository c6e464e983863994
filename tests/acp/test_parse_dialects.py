"""The messages of the dialects, word for word, become the values of the specification."""

import json
from pathlib import Path
from typing import Any

import pytest
from copilot_kernel.acp.blocks import parse_content
from copilot_kernel.acp.messages import (
    AgentInfo,
    Audio,
    AuthMethod,
    Chunk,
    Diff,
    Image,
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
    UnknownBlock,
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


@pytest.mark.parametrize(("block", "parsed"), [
    ({"type": "terminal", "content": {"type": "text", "text": "ok\n"}}, Terminal("", "ok\n")),
    ({"type": "terminal", "content": {"text": "ok\n"}}, Terminal("", "ok\n")),
    ({"type": "terminal", "content": "ok"}, Terminal("", "ok")),
    ({"type": "terminal", "content": [{"type": "text", "text": "a"}, "b"]}, Terminal("", "a\nb")),
    ({"type": "terminal", "terminalId": "t", "content": {"type": "text", "text": "ok"}}, Terminal("t", "ok")),
    ({"type": "terminal", "terminalId": "t", "content": 3}, Terminal("t")),
])  # fmt: skip
def test_a_terminal_may_come_with_its_output(block: Any, parsed: Terminal) -> None:
    assert parse_content(block) == parsed


@pytest.mark.parametrize("content", [None, 3, {}, [], "", {"type": "image", "data": "aA=="}, [{"text": 3}, 4]])
def test_a_terminal_with_neither_id_nor_output_is_kept_as_it_came(content: Any) -> None:
    block = {"type": "terminal", "content": content}
    assert parse_content(block) == UnknownBlock(block)


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
