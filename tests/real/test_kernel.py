"""Our kernel drives real agents, offline: one notebook for each, its cells run one after the other in one session."""

from typing import Any

import pytest

from .conftest import EVERY_AGENT

Json = dict[str, Any]
TALKATIVE = [agent for agent in EVERY_AGENT if "cancel-shell" in agent.scenes]

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]
agents_that_send_output = pytest.mark.parametrize("findings", TALKATIVE, ids=str, indirect=True)


def test_an_answer_and_a_thought_are_in_the_cell(findings: Json) -> None:
    seen = findings["text"]
    assert seen["status"] == "ok"
    assert "There are **three lines**." in seen["text"]
    assert "I look first." in seen["text"]
    assert all("text/plain" in kinds for kinds in seen["kinds"])


def test_an_edit_allowed_by_a_click_changes_the_file(findings: Json) -> None:
    seen = findings["edit-allowed"]
    assert (seen["status"], seen["notes"]) == ("ok", "one\nTWO\nthree\n")
    assert "Changed." in seen["text"]
    assert "TWO" in seen["shown"]


def test_an_edit_rejected_by_a_click_does_not(findings: Json) -> None:
    seen = findings["edit-rejected"]
    assert (seen["status"], seen["notes"]) == ("ok", "one\nTWO\nthree\n")


def test_a_shell_command_shows_the_command(findings: Json) -> None:
    seen = findings["shell"]
    assert seen["status"] == "ok"
    assert "echo counted; exit 3" in seen["text"]
    assert "It ended." in seen["text"]


@agents_that_send_output
def test_a_shell_command_shows_its_output_and_its_exit_code(findings: Json) -> None:
    """Gemini CLI sends neither."""
    text = findings["shell"]["shown"]
    assert "counted" in text.replace("echo counted", "")
    assert "✗ exit 3" in text


@pytest.mark.parametrize("cell", ["cancel-text", "cancel-question"])
def test_an_interrupt_ends_the_turn(findings: Json, cell: str) -> None:
    seen = findings[cell]
    assert (seen["status"], seen["error"]) == ("error", "Cancelled")
    assert "Never said." not in seen["text"]


@agents_that_send_output
def test_an_interrupt_ends_a_shell_command(findings: Json) -> None:
    seen = findings["cancel-shell"]
    assert (seen["status"], seen["error"]) == ("error", "Cancelled")
    assert "begun" in seen["shown"].replace("echo begun", "")
    assert "Never said." not in seen["text"]


def test_a_later_turn_remembers_the_first(findings: Json) -> None:
    assert "I remember: the colour is blue, the number is seven" in findings["recall"]["text"]


def test_nothing_is_left_running_when_the_kernel_has_ended(findings: Json) -> None:
    """Two Pythons stay: the first process of the namespace, and the one that looks."""
    programs = findings["programs"]
    assert len(programs["before"]) > 3
    assert [name[:6] for name in programs["after"]] == ["python", "python"]
