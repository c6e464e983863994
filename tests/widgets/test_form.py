"""The form widget, against a front end in memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from copilot_widgets.form import Entered, Form, Input
from copilot_widgets.permission import WIDGET_VIEW
from ipywidgets import Widget

from .front_end import FrontEnd


def said(front_end: FrontEnd) -> list[str]:
    """All HTML that the front end shows."""
    return [state["value"] for state in front_end.models.values() if state.get("_model_name") == "HTMLModel"]


def click(front_end: FrontEnd, name: str) -> None:
    front_end.click(front_end.described(name))


def enter(front_end: FrontEnd, label: str, **state: Any) -> None:
    front_end.set(front_end.described(label), **state)


INPUTS = (
    Input("text", "Name", "required", value="Ada"),
    Input("tick", "Gift", value=True),
    Input("one", "Colour", choices=("Red", "Blue")),
    Input("many", "Extras", choices=("Card", "Ribbon", "Candle"), value=(0, 2)),
)


def made(inputs: Sequence[Input] = INPUTS) -> tuple[Form, list[list[Entered] | None]]:
    """A form, and what comes of it: what was entered, or None."""
    outcome: list[list[Entered] | None] = []
    return Form(inputs, outcome.append, lambda: outcome.append(None)), outcome


def test_what_stands_there_at_first_is_submitted(front_end: FrontEnd) -> None:
    _, outcome = made()
    click(front_end, "Submit")
    assert outcome == [["Ada", True, (), (0, 2)]]


def test_what_was_entered_is_submitted(front_end: FrontEnd) -> None:
    _, outcome = made()
    enter(front_end, "Name", value="Grace")
    enter(front_end, "Gift", value=False)
    enter(front_end, "Colour", index=2)
    enter(front_end, "Extras", index=[1])
    click(front_end, "Submit")
    enter(front_end, "Colour", index=0)
    enter(front_end, "Extras", index=[])
    click(front_end, "Submit")
    assert outcome == [["Grace", False, (1,), (1,)], ["Grace", False, (), ()]]


def test_it_can_be_declined(front_end: FrontEnd) -> None:
    _, outcome = made()
    click(front_end, "Decline")
    assert outcome == [None]


def test_each_input_has_its_label_its_hint_and_its_choices(front_end: FrontEnd) -> None:
    made()
    assert [
        front_end.models[front_end.described(label)]["_model_name"] for label in ("Name", "Gift", "Colour", "Extras")
    ] == [
        "TextModel",
        "CheckboxModel",
        "DropdownModel",
        "SelectMultipleModel",
    ]
    assert front_end.models[front_end.described("Colour")]["_options_labels"] == ("(choose)", "Red", "Blue")
    assert any("required" in html for html in said(front_end))


def test_choices_of_one_name_can_be_told_apart(front_end: FrontEnd) -> None:
    _, outcome = made([Input("one", "Colour", choices=("Same", "Same"))])
    enter(front_end, "Colour", index=2)
    click(front_end, "Submit")
    assert outcome == [[(1,)]]


def test_labels_hints_and_choices_are_text(front_end: FrontEnd) -> None:
    evil = "<img src=x onerror=alert(1)>"
    form, _ = made([Input("one", evil, evil, (evil,))])
    form.complain([evil])
    assert front_end.models[front_end.described(evil)].get("description_allow_html", False) is False
    assert [html for html in said(front_end) if "<img" in html] == []


def test_complaints_stand_beside_their_inputs_until_they_are_taken_back(front_end: FrontEnd) -> None:
    form, _ = made(INPUTS[:2])
    form.complain(["Too short & sweet.", ""])
    before = [words for words in said(front_end) if "alert" in words]
    form.complain(["", ""])
    assert before == ['<b role="alert">⚠ Too short &amp; sweet.</b>']
    assert [words for words in said(front_end) if "alert" in words] == []


def test_the_view_is_the_box_that_holds_everything(front_end: FrontEnd) -> None:
    form, _ = made()
    view = front_end.models[form.bundle()[WIDGET_VIEW]["model_id"]]
    assert (view["_model_name"], len(view["children"])) == ("VBoxModel", len(INPUTS) + 2)


def test_closing_leaves_no_model_in_the_front_end_and_none_in_the_kernel(front_end: FrontEnd) -> None:
    form, _ = made()
    assert len(front_end.models) > 20
    form.close()
    form.close()
    with warnings.catch_warnings(action="ignore"):
        assert (front_end.models, front_end.manager.comms, dict(Widget.widgets)) == ({}, {}, {})


def test_what_the_receiver_raises_is_logged_and_later_clicks_still_count(
    front_end: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[list[Entered]] = []

    def submit(entered: list[Entered]) -> None:
        tried.append(entered)
        raise RuntimeError("out of paper")

    Form([], submit, lambda: None)
    click(front_end, "Submit")
    click(front_end, "Submit")
    assert tried == [[], []]
    assert [record.getMessage() for record in caplog.records] == ["a click on Submit was lost"] * 2
