"""Real agents, offline, get the MCP servers of the settings: one that they start, and one over HTTP."""

from typing import Any

import pytest

from .drawing import KINDS

Json = dict[str, Any]
GREETINGS = {"pipe": "hello", "web": "no greeting"}
WORDLESS = ("gemini",)
"""They say of an image that there was one, and nothing more."""

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_of_a_server_is_used_with_the_environment_that_was_set(findings: Json, kind: str) -> None:
    assert findings[kind]["status"] == "ok"
    assert f"A dot from {kind}, {GREETINGS[kind]}." in findings[kind]["shown"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_image_that_a_tool_sends_is_in_the_cell(findings: Json, kind: str) -> None:
    assert findings[kind]["drawn"] is (findings["agent"] not in WORDLESS)


def test_the_user_is_told_of_the_way_that_a_server_goes_and_of_no_secret(findings: Json) -> None:
    by_flag = "MCP: pipe passed by Copilot's flag" in findings["text"]["text"]
    assert by_flag is (findings["agent"] == "copilot")
    assert "GREETING=•••" in findings["%mcp"]["text"]
    assert "hello" not in findings["%mcp"]["text"]


def test_what_is_handed_over_in_a_file_only_the_user_can_read_and_only_for_a_time(findings: Json) -> None:
    assert findings["%mcp"]["files"] == (["0o600"] if findings["agent"] == "copilot" else [])
    assert findings["files left"] == []
