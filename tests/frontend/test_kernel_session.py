"""What is told of the settings, once, and to whom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from copilot_kernel.chat import Turn
from copilot_kernel.frontend.display import Display
from copilot_kernel.frontend.kernel_session import EXPOSED, KernelSession

from .recording import RecordingCell


@pytest.fixture
def kernel_session(monkeypatch: pytest.MonkeyPatch) -> KernelSession:
    """Whose settings have a problem and a rule that means more than it seems to."""
    monkeypatch.setenv("COPILOT_KERNEL_PERMISSION_MODE", "whatever")
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Bash"]')
    kernel_session = KernelSession()
    assert kernel_session.command_context.settings
    return kernel_session


def told(kernel_session: KernelSession, live: bool) -> str:
    cell = RecordingCell(live=live)
    kernel_session.tell_notices(cell)
    return cell.printed


def test_a_problem_is_told_in_the_first_cell_and_a_warning_where_somebody_watches(
    kernel_session: KernelSession,
) -> None:
    batch, watched = told(kernel_session, live=False), told(kernel_session, live=True)
    assert "Setting ignored: " in batch
    assert "whatever" in batch
    assert "Careful: " not in batch
    assert "Setting ignored: " not in watched
    assert "Careful: " in watched


def test_what_was_told_is_not_told_again(kernel_session: KernelSession) -> None:
    assert (told(kernel_session, live=True) != "", told(kernel_session, live=True)) == (True, "")


# -- an agent that others can use -----------------------------------------------------------------------------------


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> KernelSession:
    """Whose agent listens on a port of a machine with another user; no prompt is sent."""
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "tcp://127.0.0.1:3000")
    monkeypatch.setattr("copilot_kernel.acp.exposure.other_users", lambda: iter(["ada"]))
    kernel_session = KernelSession()

    async def ask(*_: object) -> Turn:
        return Turn(1, "end_turn", "", (), "session", "agent")

    monkeypatch.setattr(kernel_session.home, "ask", ask)
    return kernel_session


async def prompted(kernel_session: KernelSession, live: bool = True) -> str:
    cell = RecordingCell(live=live)
    await kernel_session.prompt(cell, "Hello", lambda cell, asking, **more: Display(cell, asking, **more))  # type: ignore[arg-type]
    return cell.printed


@pytest.mark.anyio
async def test_an_agent_that_other_users_can_use_is_warned_about_once(listening: KernelSession) -> None:
    first, second = await prompted(listening), await prompted(listening)
    assert EXPOSED.format("tcp://127.0.0.1:3000", "other users of this machine (ada)") in first
    assert "Careful" not in second
    listening.command_context.settings = replace(listening.command_context.settings, agent="tcp://127.0.0.1:4000")
    assert "tcp://127.0.0.1:4000" in await prompted(listening)


@pytest.mark.anyio
async def test_a_run_without_a_person_says_nothing_of_the_machine_it_runs_on(listening: KernelSession) -> None:
    assert "Careful" not in await prompted(listening, live=False)


@pytest.mark.anyio
@pytest.mark.parametrize("agent", ["demo", "copilot --acp"])
async def test_an_agent_on_a_pipe_is_not_warned_about(listening: KernelSession, agent: str) -> None:
    listening.command_context.settings = replace(listening.command_context.settings, agent=agent)
    assert "Careful" not in await prompted(listening)


def test_after_an_upgrade_rules_that_may_allow_more_are_named_once(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path))
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Bash(git *)", "Bash(npm test)", "Read", "Bash(pytest *)"]')
    first, second = KernelSession(), KernelSession()
    assert first.command_context.settings
    assert "may now allow more: Bash(git *), Bash(pytest *). Review" in told(first, live=False)
    assert second.command_context.settings
    assert told(second, live=True) == ""


def test_a_first_installation_is_no_upgrade(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path / "new"))
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Bash(git *)"]')
    for _ in range(2):
        kernel_session = KernelSession()
        assert kernel_session.command_context.settings
        assert told(kernel_session, live=True) == ""
