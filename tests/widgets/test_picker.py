"""The picker, against a front end in memory."""

from __future__ import annotations

from typing import Any

import pytest
from copilot_widgets.base import WIDGET_VIEW
from copilot_widgets.field import PickerField, Picks
from copilot_widgets.picker import MAX_ROWS, Picker

from .front_end import FrontEnd

MODE = PickerField("Mode", ("agent", "plan"), 0, ("Does it", "Thinks first"))
MODEL = PickerField("Model", tuple(f"model {number}" for number in range(12)), 3)
SESSION = PickerField("Session", tuple(f"talk {number}" for number in range(30)), tall=True)
LEAVE = "Cancel"


def pick(done: list[Picks | None], *fields: PickerField) -> Picker:
    return Picker(fields, "Apply", done.append)


def controls(front_end: FrontEnd, picker: Picker) -> list[tuple[str, dict[str, Any]]]:
    """The models of the fields, without the style sheet before and the buttons after them."""
    inner = front_end.children(picker.bundle()[WIDGET_VIEW]["model_id"])[1:-1]
    return [(key, front_end.models[key]) for key in inner]


def test_the_choices_of_all_fields_come_with_one_click(front_end: FrontEnd) -> None:
    done: list[Picks | None] = []
    picker = pick(done, MODE, MODEL, SESSION)
    mode, model, session = (key for key, _ in controls(front_end, picker))
    front_end.set(mode, index=1)
    front_end.set(session, index=29)
    front_end.click(front_end.described("Apply"))
    front_end.set(model, index=0)
    front_end.click(front_end.described("Apply"))
    picker.close()
    assert done == [(1, 3, 29), (1, 0, 29)]


def test_nothing_is_chosen_until_somebody_does(front_end: FrontEnd) -> None:
    done: list[Picks | None] = []
    picker = pick(done, SESSION, PickerField("Mode", ("a", "b")))
    front_end.click(front_end.described("Apply"))
    front_end.click(front_end.described(LEAVE))
    picker.close()
    assert done == [(None, None), None]


def test_few_short_names_are_buttons_and_many_are_a_list(front_end: FrontEnd) -> None:
    long = PickerField("Model", ("x" * 40, "y" * 40))
    picker = pick([], MODE, MODEL, SESSION, long)
    kinds = [(state["_model_name"], state["description"]) for _, state in controls(front_end, picker)]
    rows = controls(front_end, picker)[2][1]["rows"]
    picker.close()
    assert kinds == [
        ("ToggleButtonsModel", "Mode"),
        ("DropdownModel", "Model"),
        ("SelectModel", "Session"),
        ("DropdownModel", "Model"),
    ]
    assert rows == MAX_ROWS


def test_names_and_hints_are_text(front_end: FrontEnd) -> None:
    picker = pick([], PickerField("<i>Mode</i>", ("<b>x</b>", "two\nlines"), hints=("<s>", "")))
    ((_, state),) = controls(front_end, picker)
    shown = (state["description"], state["description_allow_html"], state["_options_labels"], state["tooltips"])
    picker.close()
    assert shown == ("<i>Mode</i>", False, ("<b>x</b>", "two lines"), ("<s>", ""))


@pytest.mark.parametrize("number", range(4))
def test_choices_of_the_same_name_are_told_apart(front_end: FrontEnd, number: int) -> None:
    done: list[Picks | None] = []
    picker = pick(done, PickerField("Session", ("same", "same", "same [2]", ""), tall=True))
    front_end.set(controls(front_end, picker)[0][0], index=number)
    front_end.click(front_end.described("Apply"))
    picker.close()
    assert done == [(number,)]


@pytest.mark.parametrize("index", [99, -1, "1", None, [0]])
def test_a_front_end_that_sends_nonsense_chooses_nothing_that_is_not_there(front_end: FrontEnd, index: Any) -> None:
    done: list[Picks | None] = []
    picker = pick(done, MODE)
    front_end.set(controls(front_end, picker)[0][0], index=index)
    front_end.click(front_end.described("Apply"))
    picker.close()
    assert done in ([(0,)], [(None,)])
