"""`%%copilot` in a stock Python kernel drives a real agent, offline."""

from typing import Any

import pytest

Json = dict[str, Any]

pytestmark = [pytest.mark.real_agent, pytest.mark.usefixtures("isolated")]


def test_an_answer_is_in_the_cell(magic_cells: Json) -> None:
    seen = magic_cells["text"]
    assert (seen["status"], "There are **three lines**." in seen["text"]) == ("ok", True)


def test_an_edit_waits_for_a_click_while_the_cell_runs(magic_cells: Json) -> None:
    seen = magic_cells["edit"]
    assert (seen["replied"], seen["before"]) == (False, "one\ntwo\nthree\n")
    assert (seen["status"], seen["notes"]) == ("ok", "one\nTWO\nthree\n")
    assert "Changed." in seen["text"]
    assert magic_cells["value"] == "[1, 'Changed.']"


def test_a_cell_is_inserted_and_run_after_one_question(magic_cells: Json) -> None:
    seen = magic_cells["insert"]
    assert (seen["status"], seen["asked"]) == ("ok", 1)
    assert seen["cells"] == ["%%copilot", "total = sum(prices)\ntotal"]
    assert (seen["inspected"], seen["ran"], seen["came out"]) == (True, True, True)
    assert "Added." in seen["text"]
    assert "Changed or run: cell 2" in seen["text"]


def test_an_answer_streams_and_an_interrupt_ends_it(magic_cells: Json) -> None:
    seen = magic_cells["stream"]
    assert (seen["replied"], seen["status"], seen["error"]) == (False, "error", "Cancelled")
    assert "This answer has" in seen["text"]


def test_a_model_that_refuses_fails_the_cell(magic_cells: Json) -> None:
    """Copilot CLI sends the failure as text and ends the turn as if it had answered."""
    seen = magic_cells["refused"]
    assert (seen["status"], seen["error"]) == ("error", "ModelFailed")
    assert (seen["text"].count("refused by the script"), "I look." in seen["text"]) == (1, True)


def test_nothing_is_left_running_when_the_kernel_has_ended(magic_cells: Json) -> None:
    """Two Pythons stay: the first process of the namespace, and the one that looks."""
    assert [name[:6] for name in magic_cells["programs after"]] == ["python", "python"]
