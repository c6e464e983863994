"""Real agents, offline, get the MCP servers of the settings: one that they start, and one over HTTP."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .agents import AGENTS, Agent
from .drawing import KINDS, perform

PINNED = [agent for agent in AGENTS.values() if agent.pinned]
GREETINGS = {"pipe": "hello", "web": "no greeting"}
WORDLESS = ("gemini",)
"""They say of an image that there was one, and nothing more."""

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated"), pytest.mark.timeout(200)]


@pytest.fixture(scope="module", params=PINNED, ids=str)
def seen(
    request: pytest.FixtureRequest,
    cache: Path,
    installed: Callable[[Agent], Agent],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """What a reader saw; `agent` is the agent's name."""
    agent = installed(request.param)
    return {"agent": agent.name, **perform(agent, tmp_path_factory.mktemp(agent.name), cache)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_of_a_server_is_used_with_the_environment_that_was_set(seen: dict[str, Any], kind: str) -> None:
    assert seen[kind]["status"] == "ok"
    assert f"A dot from {kind}, {GREETINGS[kind]}." in seen[kind]["text"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_image_that_a_tool_sends_is_in_the_cell(seen: dict[str, Any], kind: str) -> None:
    assert seen[kind]["drawn"] is (seen["agent"] not in WORDLESS)


def test_the_user_is_told_of_the_way_that_a_server_goes_and_of_no_secret(seen: dict[str, Any]) -> None:
    by_flag = "MCP: pipe by Copilot's own flag" in seen["first"]["text"]
    assert by_flag is (seen["agent"] == "copilot")
    assert "GREETING=•••" in seen["%mcp"]["text"]
    assert "hello" not in seen["%mcp"]["text"]


def test_what_is_handed_over_in_a_file_only_the_user_can_read_and_only_for_a_time(seen: dict[str, Any]) -> None:
    assert seen["files"] == (["0o600"] if seen["agent"] == "copilot" else [])
    assert seen["files left"] == []
