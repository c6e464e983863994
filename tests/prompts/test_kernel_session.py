"""What is told of the settings, once, and to whom."""

from dataclasses import replace
from pathlib import Path

import pytest
from copilot_kernel.acp.tcp import OTHER_USERS
from copilot_kernel.chat import TurnOutcome
from copilot_kernel.prompts.kernel_session import KernelSession
from copilot_kernel.prompts.notices import EXPOSED

from ..output.recording import RecordingCell


def told(kernel_session: KernelSession, live: bool) -> str:
    cell = RecordingCell(live=live)
    kernel_session.notices.report(cell)
    return cell.printed


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("START_TIMEOUT", "soon", "Setting ignored: environment: start_timeout:"),
        ("ALLOW", '["Shell(git *)"]', "Setting ignored: allow: 'Shell(git *)' is not a rule"),
        ("DENY", '[""]', "Setting ignored: deny: A rule is empty and matches nothing"),
        ("PERMISSION_MODE", "yolo", "Setting ignored: environment: permission_mode: 'yolo' is not one of"),
        ("ALLOW", '["Bash(npx *)"]', "Careful: allow: Bash(npx *): “npx” can run any program"),
    ],
)
def test_a_problem_is_reported_once_in_the_first_cell_and_a_warning_where_somebody_watches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str, value: str, words: str
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path))
    monkeypatch.setenv(f"COPILOT_KERNEL_{setting}", value)
    kernel_session = KernelSession()
    assert kernel_session.command_context.settings
    batch, watched, again = (told(kernel_session, live) for live in (False, True, True))
    warns = words.startswith("Careful")
    assert (words in (watched if warns else batch), words in (batch if warns else watched)) == (True, False)
    assert again == ""


def test_an_agent_that_is_missing_has_a_card_until_the_settings_name_one_that_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path))
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "no-such-agent")
    kernel_session = KernelSession()
    card = kernel_session.missing_agent()
    assert card
    assert card["text/plain"].startswith("✗ The agent's program no-such-agent was not found")
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "an 'open quote")
    assert kernel_session.missing_agent() is None
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "demo")
    assert kernel_session.missing_agent() is None
    context = kernel_session.command_context
    context.settings = replace(context.settings, agent="no-such-agent")
    assert kernel_session.missing_agent() == card


# -- an agent that others can use -----------------------------------------------------------------------------------


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> KernelSession:
    """Whose agent listens on a port of a machine with another user; no prompt is sent."""
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "tcp://127.0.0.1:3000")
    monkeypatch.setattr("copilot_kernel.acp.tcp.other_users", lambda: iter(["ada"]))
    kernel_session = KernelSession()

    async def ask(*_: object) -> TurnOutcome:
        return TurnOutcome(1, "end_turn", "", (), "session", "agent")

    monkeypatch.setattr(kernel_session.runner, "ask", ask)
    return kernel_session


async def prompted(kernel_session: KernelSession, live: bool = True) -> str:
    cell = RecordingCell(live=live)
    await kernel_session.run(cell, "Hello")
    return cell.printed


async def test_an_agent_that_other_users_can_use_is_warned_about_once(listening: KernelSession) -> None:
    first, second = await prompted(listening), await prompted(listening)
    assert EXPOSED.format("tcp://127.0.0.1:3000", OTHER_USERS.format("ada")) in first
    assert "Careful" not in second
    listening.command_context.settings = replace(listening.command_context.settings, agent="tcp://127.0.0.1:4000")
    assert "tcp://127.0.0.1:4000" in await prompted(listening)


async def test_a_run_without_a_person_says_nothing_of_the_machine_it_runs_on(listening: KernelSession) -> None:
    assert "Careful" not in await prompted(listening, live=False)


@pytest.mark.parametrize("agent", ["demo", "copilot --acp"])
async def test_an_agent_on_a_pipe_is_not_warned_about(listening: KernelSession, agent: str) -> None:
    listening.command_context.settings = replace(listening.command_context.settings, agent=agent)
    assert "Careful" not in await prompted(listening)
