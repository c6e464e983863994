"""The question widget, against a front end in memory."""

import pytest
from copilot_widgets.answers import AnswerButton, Answers, Reply, TextAnswer
from copilot_widgets.base import MAX_NAME_CHARS, WIDGET_VIEW, shortened
from copilot_widgets.permission import AnswerCard

from .front_end import FrontEnd


def test_buttons_carry_the_names_as_text_with_hint_and_style(front_end: FrontEnd) -> None:
    AnswerCard(Answers((AnswerButton(0, "<b>Allow</b>", "until the end", is_suggested=True),)), str)
    state = front_end.models[front_end.described("<b>Allow</b>")]
    assert (state["tooltip"], state["button_style"], state["disabled"]) == (
        "<b>Allow</b>: until the end",
        "primary",
        False,
    )


def test_each_drawing_is_told_and_the_removal_of_a_view_is_not(front_end: FrontEnd) -> None:
    drawn: list[bool] = []
    question = AnswerCard(Answers((AnswerButton(0, "Allow"),)), str)
    question.probe(lambda: drawn.append(True))
    probe = next(key for key, state in front_end.models.items() if state.get("_view_count") == 0)
    for count in (1, 0, 1):
        front_end.set(probe, _view_count=count)
    assert len(drawn) == 2


def test_what_the_receiver_raises_is_logged_and_later_clicks_still_count(
    front_end: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    chosen: list[int] = []

    def receive(reply: Reply) -> str:
        chosen.append(reply.option)
        raise RuntimeError("out of paper")

    AnswerCard(Answers((AnswerButton(0, "Allow"),)), receive)
    front_end.click(front_end.described("Allow"))
    front_end.click(front_end.described("Allow"))
    assert chosen == [0, 0]
    assert [record.getMessage() for record in caplog.records] == ["a click was lost"] * 2


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Allow once", "Allow once"),
        ("", "(no name)"),
        ("x" * MAX_NAME_CHARS, "x" * MAX_NAME_CHARS),
        ("a" * 200 + "z" * 200, "a" * 99 + " … " + "z" * 98),
    ],
)
def test_a_name_is_one_short_line(name: str, shown: str) -> None:
    assert shortened(name) == shown
    assert len(shown) <= MAX_NAME_CHARS


# -- answers that are guarded, and answers that stand back -----------------------------------------------------------


# -- an answer that takes text (what is submitted: tests/output/test_card.py) ---------------------------------------


def test_the_field_takes_the_place_of_the_answers_and_gives_it_back(front_end: FrontEnd) -> None:
    moves: list[str] = []
    rule = TextAnswer(0, "Rule…", "", "Rule", "Edit", "", "Save", "", "")
    card = Answers((AnswerButton(1, "Reject"),), rule=rule)
    question = AnswerCard(card, lambda reply: "<b>no</b>", lambda: moves.append("moved"))
    _, answers, editor = front_end.children(question.bundle()[WIDGET_VIEW]["model_id"])

    def shown() -> list[bool]:
        layouts = (str(front_end.models[box]["layout"]).removeprefix("IPY_MODEL_") for box in (answers, editor))
        return [front_end.models[layout].get("display") != "none" for layout in layouts]

    seen = [shown()]
    for name in ("Rule…", "Save", "Back"):
        if name == "Save":
            question.guard(holds=False)
        front_end.click(front_end.described(name))
        seen.append(shown())
        complaints = [state["value"] for state in front_end.models.values() if "alert" in str(state.get("value"))]
        assert complaints == (['<b role="alert">⚠ &lt;b&gt;no&lt;/b&gt;</b>'] if name == "Save" else [])
    assert seen == [[True, False], [False, True], [False, True], [True, False]]
    assert len(moves) == 2
