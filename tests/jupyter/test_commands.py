"""Pickers of our commands in a kernel, seen from a front end with widgets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from copilot_kernel.frontend.choosing import UNCHANGED

from .commanding import Picked, own, status
from .front_end import FrontEnd, kernel_process


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontEnd]:
    """A kernel whose agent has everything to choose from, shared by the tests: each leaves it idle."""
    folder = tmp_path_factory.mktemp("rich")
    with kernel_process(folder, own(folder, COPILOT_KERNEL_DEMO="uri-modes,more-options")) as front_end:
        yield front_end
        assert front_end.complaints() == []


def test_what_is_picked_is_set_and_a_line_stands_where_the_picker_stood(rich: FrontEnd) -> None:
    rich.run("%mode agent")
    picker = Picked(rich, "%mode")
    assert "plan" in picker.outputs()[-1]["text/plain"]
    picker.enter("Mode", index=1)
    outcome = picker.press("Apply")
    assert (outcome.status, outcome.text, status(rich, "Mode")) == ("ok", "ℹ Mode: Plan", "Plan")


def test_completion_and_inspection_work_while_a_picker_waits(rich: FrontEnd) -> None:
    picker = Picked(rich, "%mode")
    completed = rich.ask("complete_request", {"code": "%mode p", "cursor_pos": 7})
    inspected = rich.ask("inspect_request", {"code": "%mode", "cursor_pos": 2, "detail_level": 0})
    assert (completed["matches"], inspected["found"]) == (["plan"], True)
    assert picker.press("Cancel").text == f"ℹ {UNCHANGED}"


def test_a_session_is_picked_and_what_was_said_is_shown(rich: FrontEnd) -> None:
    rich.run("%new")
    rich.run("demo: say Apples")
    rich.run("%new")
    rich.run("demo: say Pears")
    for code in ("%sessions", "%resume"):
        picker = Picked(rich, code)
        listed = picker.outputs()[-1]["text/plain"]
        picker.enter("Session", index=next(n for n, line in enumerate(listed.splitlines()[2:]) if "Apples" in line))
        outcome = picker.press("Resume")
        assert (outcome.status, "Resuming: " in outcome.text, "say Apples" in outcome.text) == ("ok", True, True)
