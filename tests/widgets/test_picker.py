"""The picker, against a front end in memory."""

from typing import Any

import pytest
from copilot_widgets.base import WIDGET_VIEW
from copilot_widgets.field import PickerField
from copilot_widgets.picker import Picker

from .front_end import FrontEnd

MODE = PickerField("Mode", ("agent", "plan"), 0, ("Does it", "Thinks first"))
MODEL = PickerField("Model", tuple(f"model {number}" for number in range(12)), 3)
SESSION = PickerField("Sessions", ("hello", "<b>bye</b>"), action="Resume")

Picks = list[tuple[int, int]]


def pick(done: Picks, *fields: PickerField) -> Picker:
    return Picker(fields, lambda field, choice: done.append((field, choice)))


def controls(front_end: FrontEnd, picker: Picker) -> list[tuple[str, dict[str, Any]]]:
    """The models of the fields, without the style sheet before and the line after them."""
    inner = front_end.children(picker.bundle()[WIDGET_VIEW]["model_id"])[1:-1]
    return [(key, front_end.models[key]) for key in inner]


def test_each_choice_comes_at_once_and_only_once(front_end: FrontEnd) -> None:
    done: Picks = []
    picker = pick(done, MODE, MODEL)
    mode, model = (key for key, _ in controls(front_end, picker))
    front_end.set(mode, index=1)
    front_end.set(mode, index=1)
    front_end.set(model, index=3)
    front_end.set(model, index=0)
    front_end.set(mode, index=0)
    assert done == [(0, 1), (1, 0), (0, 0)]


def test_what_is_set_by_others_is_no_choice(front_end: FrontEnd) -> None:
    done: Picks = []
    picker = pick(done, MODE, SESSION)
    ((mode, state), _) = controls(front_end, picker)
    front_end.set(mode, index=1)
    picker.set(0, 0)
    picker.set(1, 0)
    assert (done, front_end.models[mode]["index"]) == ([(0, 1)], 0)
    picker.set(0, None)
    assert (done, state["index"]) == ([(0, 1)], None)


def test_rows_have_a_button_each(front_end: FrontEnd) -> None:
    done: Picks = []
    pick(done, MODE, SESSION)
    buttons = {state["tooltip"]: key for key, state in front_end.models.items() if state.get("tooltip")}
    front_end.click(buttons["Resume: <b>bye</b>"])
    front_end.click(buttons["Resume: hello"])
    texts = [state["value"] for state in front_end.models.values() if "bye" in str(state.get("value"))]
    assert (done, texts) == ([(1, 1), (1, 0)], ["&lt;b&gt;bye&lt;/b&gt;"])


def test_few_short_names_are_buttons_and_many_are_a_list(front_end: FrontEnd) -> None:
    long = PickerField("Model", ("x" * 40, "y" * 40))
    picker = pick([], MODE, MODEL, long)
    kinds = [state["_model_name"] for _, state in controls(front_end, picker)]
    assert kinds == ["ToggleButtonsModel", "DropdownModel", "DropdownModel"]


def test_names_hints_and_reports_are_text(front_end: FrontEnd) -> None:
    picker = pick([], PickerField("<i>Mode</i>", ("<b>x</b>", "two\nlines"), hints=("<s>", "")))
    ((_, state),) = controls(front_end, picker)
    shown = (state["description"], state["description_allow_html"], state["_options_labels"], state["tooltips"])
    picker.report("<u>is set</u>")
    values = [state["value"] for state in front_end.models.values() if "is set" in str(state.get("value"))]
    assert shown == ("<i>Mode</i>", False, ("<b>x</b>", "two lines"), ("<s>", ""))
    assert values == ['<div role="status">&lt;u&gt;is set&lt;/u&gt;</div>']


@pytest.mark.parametrize("number", range(1, 4))
def test_choices_of_the_same_name_are_told_apart(front_end: FrontEnd, number: int) -> None:
    done: Picks = []
    picker = pick(done, PickerField("Model", ("same", "same", "same [2]", ""), 0))
    front_end.set(controls(front_end, picker)[0][0], index=number)
    assert done == [(0, number)]


@pytest.mark.parametrize("index", [99, -1, "1", None, [0]])
def test_a_front_end_that_sends_nonsense_chooses_nothing_that_is_not_there(front_end: FrontEnd, index: Any) -> None:
    done: Picks = []
    picker = pick(done, MODE)
    front_end.set(controls(front_end, picker)[0][0], index=index)
    assert done == []
