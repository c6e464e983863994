"""Our kernel drives real agents, offline: one notebook for each, its cells run one after the other in one session."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .agents import AGENTS, Agent
from .cells import perform

Json = dict[str, Any]
Findings = Callable[[Agent], Json]

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated"), pytest.mark.timeout(200)]
every_agent = pytest.mark.parametrize(
    "agent", [agent for agent in AGENTS.values() if agent.pinned], ids=lambda agent: agent.name
)


@pytest.fixture(scope="module")
def findings(cache: Path, installed: Callable[[Agent], Agent], tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """The findings of an agent's notebook, run once for this module."""
    known: dict[str, Json] = {}

    def once(agent: Agent) -> Json:
        if agent.name not in known:
            known[agent.name] = perform(installed(agent), tmp_path_factory.mktemp(agent.name), cache)
        return known[agent.name]

    return once


@every_agent
def test_an_answer_and_a_thought_are_in_the_cell(agent: Agent, findings: Findings) -> None:
    seen = findings(agent)["text"]
    assert seen["status"] == "ok"
    assert "There are **three lines**." in seen["text"]
    assert "I look first." in seen["text"]
    assert all("text/plain" in kinds for kinds in seen["kinds"])


@every_agent
def test_an_edit_allowed_by_a_click_changes_the_file(agent: Agent, findings: Findings) -> None:
    seen = findings(agent)["edit-allowed"]
    assert (seen["status"], seen["notes"]) == ("ok", "one\nTWO\nthree\n")
    assert "Changed." in seen["text"]
    assert "TWO" in seen["text"]


@every_agent
def test_an_edit_rejected_by_a_click_does_not(agent: Agent, findings: Findings) -> None:
    seen = findings(agent)["edit-rejected"]
    assert (seen["status"], seen["notes"]) == ("ok", "one\nTWO\nthree\n")


@every_agent
def test_a_shell_command_shows_the_command(agent: Agent, findings: Findings) -> None:
    seen = findings(agent)["shell"]
    assert seen["status"] == "ok"
    assert "echo counted; exit 3" in seen["text"]
    assert "It ended." in seen["text"]


@pytest.mark.parametrize("agent", [AGENTS["copilot"], AGENTS["opencode"]], ids=lambda agent: agent.name)
def test_a_shell_command_shows_its_output_and_its_exit_code(agent: Agent, findings: Findings) -> None:
    """Gemini CLI sends neither."""
    text = findings(agent)["shell"]["text"]
    assert "counted" in text.replace("echo counted", "")
    assert "3" in text.replace("exit 3", "")


@every_agent
@pytest.mark.parametrize("cell", ["cancel-text", "cancel-question"])
def test_an_interrupt_ends_the_turn(agent: Agent, cell: str, findings: Findings) -> None:
    seen = findings(agent)[cell]
    assert seen["status"] == "error"
    assert "Never said." not in seen["text"].replace("never", "")


@every_agent
def test_a_later_turn_remembers_the_first(agent: Agent, findings: Findings) -> None:
    assert "I remember: the colour is blue, the number is seven" in findings(agent)["recall"]["text"]


@every_agent
def test_nothing_is_left_running_when_the_kernel_has_ended(agent: Agent, findings: Findings) -> None:
    """Two Pythons stay: the first process of the namespace, and the one that looks."""
    programs = findings(agent)["programs"]
    assert len(programs["before"]) > 3
    assert [name[:6] for name in programs["after"]] == ["python", "python"]
