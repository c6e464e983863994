"""A text field that opens in a question, against a front end in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from copilot_widgets.button import AnswerButton
from copilot_widgets.permission import PermissionQuestion, TextEntry

from .front_end import FrontEnd


class Person:
    """A question with an entry, and what came of it."""

    def __init__(self, front_end: FrontEnd, **more: object) -> None:
        self.front_end = front_end
        self.entered: list[tuple[str, int]] = []
        self.chosen: list[int] = []
        self.moves = 0
        self.complaint = ""
        entry = TextEntry(
            opens=AnswerButton("Rule…", quiet=True),
            label="Rule",
            submit=AnswerButton("Save", guarded=True),
            on_submit=self.take,
            value="Bash(ls)",
            places=("here", "everywhere"),
        )
        entry = replace(entry, **more)  # type: ignore[arg-type]
        self.question = PermissionQuestion([AnswerButton("Reject")], self.chosen.append, [entry], self.moved)

    def take(self, text: str, place: int) -> str:
        self.entered.append((text, place))
        return self.complaint

    def moved(self) -> None:
        self.moves += 1

    def click(self, name: str) -> None:
        self.front_end.click(self.front_end.described(name))

    def state(self, name: str) -> dict[str, object]:
        return self.front_end.models[self.front_end.described(name)]

    def is_shown(self, name: str) -> bool:
        """Whether no box around what is described so is hidden."""
        wanted, models = self.front_end.described(name), self.front_end.models
        while wanted:
            layout = models[str(models[wanted]["layout"]).removeprefix("IPY_MODEL_")]
            if layout.get("display") == "none":
                return False
            wanted = next((key for key in models if wanted in self._children(key)), "")
        return True

    def _children(self, key: str) -> list[str]:
        return self.front_end.children(key) if "children" in self.front_end.models[key] else []

    @property
    def said(self) -> str:
        """The complaint that is shown."""
        values = (str(state.get("value")) for state in self.front_end.models.values())
        return next((value for value in values if "alert" in value), "")


@pytest.fixture
def person(front_end: FrontEnd) -> Person:
    return Person(front_end)


def shown(person: Person) -> list[bool]:
    return [person.is_shown(name) for name in ("Reject", "Rule…", "Rule", "Save", "Back")]


def test_the_field_takes_the_place_of_the_answers_and_gives_it_back(person: Person) -> None:
    answers, field = [True, True, False, False, False], [False, False, True, True, True]
    assert shown(person) == answers
    person.click("Rule…")
    assert shown(person) == field
    person.click("Back")
    assert (shown(person), person.moves) == (answers, 2)
    person.question.close()


def test_what_was_entered_is_taken_with_its_place(person: Person) -> None:
    person.click("Rule…")
    person.question.release()
    person.click("Save")
    person.front_end.set(person.front_end.described("Rule"), value="Bash(ls -l)")
    places = next(key for key, state in person.front_end.models.items() if "RadioButtons" in state["_model_name"])
    person.front_end.set(places, index=1)
    person.click("Save")
    person.question.close()
    assert person.entered == [("Bash(ls)", 0), ("Bash(ls -l)", 1)]


def test_what_is_wrong_is_said_as_text_until_it_is_right(person: Person) -> None:
    person.question.release()
    for complaint in ("<b>no</b> rule", ""):
        person.complaint = complaint
        person.click("Save")
        assert ("&lt;b&gt;no&lt;/b&gt; rule" in person.said) == bool(complaint)
    person.question.close()


def test_without_places_there_is_nothing_to_choose(front_end: FrontEnd) -> None:
    person = Person(front_end, places=(), lines=3, value="why")
    assert not any("RadioButtons" in state["_model_name"] for state in front_end.models.values())
    assert person.state("Rule")["rows"] == 3
    person.question.release()
    person.click("Save")
    person.question.close()
    assert person.entered == [("why", 0)]
