"""What is told of the settings, once, and to whom."""

from __future__ import annotations

import pytest
from copilot_kernel.desk.hall import Hall

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
