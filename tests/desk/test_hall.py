"""What is told of the settings, once, and to whom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from copilot_kernel.cells.display import Display
from copilot_kernel.chat import Turn
from copilot_kernel.desk.hall import EXPOSED, Hall

from ..cells.recording import RecordingCell


@pytest.fixture
def hall(monkeypatch: pytest.MonkeyPatch) -> Hall:
    """Whose settings have a problem and a rule that means more than it seems to."""
    monkeypatch.setenv("COPILOT_KERNEL_PERMISSION_MODE", "whatever")
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Bash"]')
    hall = Hall()
    assert hall.desk.settings
    return hall


def told(hall: Hall, live: bool) -> str:
    cell = RecordingCell(live=live)
    hall.tell_notices(cell)
    return cell.printed


def test_a_problem_is_told_in_the_first_cell_and_a_warning_where_somebody_watches(hall: Hall) -> None:
    batch, watched = told(hall, live=False), told(hall, live=True)
    assert "Setting ignored: " in batch
    assert "whatever" in batch
    assert "Careful: " not in batch
    assert "Setting ignored: " not in watched
    assert "Careful: " in watched


def test_what_was_told_is_not_told_again(hall: Hall) -> None:
    assert (told(hall, live=True) != "", told(hall, live=True)) == (True, "")


# -- an agent that others can use -----------------------------------------------------------------------------------


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Hall:
    """Whose agent listens on a port of a machine with another user; no prompt is sent."""
    monkeypatch.setenv("COPILOT_KERNEL_AGENT", "tcp://127.0.0.1:3000")
    monkeypatch.setattr("copilot_kernel.acp.exposure.other_users", lambda: iter(["ada"]))
    hall = Hall()

    async def ask(*_: object) -> Turn:
        return Turn(1, "end_turn", "", (), "session", "agent")

    monkeypatch.setattr(hall.home, "ask", ask)
    return hall


async def prompted(hall: Hall, live: bool = True) -> str:
    cell = RecordingCell(live=live)
    await hall.prompt(cell, "Hello", lambda cell, asking, **more: Display(cell, asking, **more))  # type: ignore[arg-type]
    return cell.printed


@pytest.mark.anyio
async def test_an_agent_that_other_users_can_use_is_warned_about_once(listening: Hall) -> None:
    first, second = await prompted(listening), await prompted(listening)
    assert EXPOSED.format("tcp://127.0.0.1:3000", "other users of this machine (ada)") in first
    assert "Careful" not in second
    listening.desk.settings = replace(listening.desk.settings, agent="tcp://127.0.0.1:4000")
    assert "tcp://127.0.0.1:4000" in await prompted(listening)


@pytest.mark.anyio
async def test_a_run_without_a_person_says_nothing_of_the_machine_it_runs_on(listening: Hall) -> None:
    assert "Careful" not in await prompted(listening, live=False)


@pytest.mark.anyio
@pytest.mark.parametrize("agent", ["demo", "copilot --acp"])
async def test_an_agent_on_a_pipe_is_not_warned_about(listening: Hall, agent: str) -> None:
    listening.desk.settings = replace(listening.desk.settings, agent=agent)
    assert "Careful" not in await prompted(listening)


def test_after_an_upgrade_rules_that_may_allow_more_are_named_once(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path))
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Bash(git *)", "Bash(npm test)", "Read", "Bash(pytest *)"]')
    first, second = Hall(), Hall()
    assert first.desk.settings
    assert "may now allow more: Bash(git *), Bash(pytest *). Review" in told(first, live=False)
    assert second.desk.settings
    assert told(second, live=True) == ""


def test_a_first_installation_is_no_upgrade(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_KERNEL_STATE", str(tmp_path / "new"))
    monkeypatch.setenv("COPILOT_KERNEL_ALLOW", '["Bash(git *)"]')
    for _ in range(2):
        hall = Hall()
        assert hall.desk.settings
        assert told(hall, live=True) == ""
