"""The form widget, against a front end in memory."""

from collections.abc import Sequence
from typing import Any

from copilot_widgets.form import Entered, FormInput, FormWidget

from .front_end import FrontEnd


def said(front_end: FrontEnd) -> list[str]:
    """All HTML that the front end shows."""
    return [state["value"] for state in front_end.models.values() if state.get("_model_name") == "HTMLModel"]


def click(front_end: FrontEnd, name: str) -> None:
    front_end.click(front_end.described(name))


def enter(front_end: FrontEnd, label: str, **state: Any) -> None:
    front_end.set(front_end.described(label), **state)


INPUTS = (
    FormInput("text", "Name", "required", value="Ada"),
    FormInput("tick", "Gift", value=True),
    FormInput("one", "Colour", choices=("Red", "Blue")),
    FormInput("many", "Extras", choices=("Card", "Ribbon", "Candle"), value=(0, 2)),
)


def made(inputs: Sequence[FormInput] = INPUTS, *complaints: Sequence[str]) -> list[list[Entered] | None]:
    """What comes of a form: what was entered, or None. `complaints` are the replies to what is submitted."""
    outcome: list[list[Entered] | None] = []
    replies = iter(complaints)

    def submit(entered: list[Entered]) -> Sequence[str]:
        outcome.append(entered)
        return next(replies, [""] * len(inputs))

    FormWidget(inputs, submit, lambda: outcome.append(None))
    return outcome


def test_what_was_entered_is_submitted(front_end: FrontEnd) -> None:
    outcome = made()
    enter(front_end, "Name", value="Grace")
    enter(front_end, "Gift", value=False)
    enter(front_end, "Colour", index=2)
    enter(front_end, "Extras", index=[1])
    click(front_end, "Submit")
    enter(front_end, "Colour", index=0)
    enter(front_end, "Extras", index=[])
    click(front_end, "Submit")
    assert outcome == [["Grace", False, (1,), (1,)], ["Grace", False, (), ()]]


def test_a_text_is_sent_whole_before_the_click_that_leaves_it(front_end: FrontEnd) -> None:
    made()
    assert front_end.models[front_end.described("Name")]["continuous_update"] is False


def test_each_input_has_its_label_its_hint_and_its_choices(front_end: FrontEnd) -> None:
    made()
    assert [
        front_end.models[front_end.described(label)]["_model_name"] for label in ("Name", "Gift", "Colour", "Extras")
    ] == ["TextModel", "CheckboxModel", "DropdownModel", "SelectMultipleModel"]
    assert front_end.models[front_end.described("Colour")]["_options_labels"] == ("(choose)", "Red", "Blue")
    assert any("required" in html for html in said(front_end))


def test_labels_hints_and_choices_are_text(front_end: FrontEnd) -> None:
    evil = "<img src=x onerror=alert(1)>"
    made([FormInput("one", evil, evil, (evil,))], [evil])
    click(front_end, "Submit")
    assert front_end.models[front_end.described(evil)].get("description_allow_html", False) is False
    assert [html for html in said(front_end) if "<img" in html] == []


def test_complaints_stand_beside_their_inputs_until_they_are_taken_back(front_end: FrontEnd) -> None:
    made(INPUTS[:2], ["Too short & sweet.", ""])
    click(front_end, "Submit")
    before = [words for words in said(front_end) if "alert" in words]
    click(front_end, "Submit")
    assert before == ['<b role="alert">⚠ Too short &amp; sweet.</b>']
    assert [words for words in said(front_end) if "alert" in words] == []
