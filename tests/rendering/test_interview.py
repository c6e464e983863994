"""A form asked line by line."""

from __future__ import annotations

import pytest
from copilot_kernel.acp.elicitation import Choice, Elicitation, ElicitationAnswer, Field
from copilot_kernel.rendering.interview import ATTEMPTS, NOT_ANSWERED, Interview

COLOURS = (Choice("r", "Red"), Choice("g", "Green"), Choice("b"))
NAME = Field("name", "text", "Name", required=True)
FIELDS = (
    NAME,
    Field("count", "integer", "How many", least=1, default=3),
    Field("colour", "choice", "Colour", choices=COLOURS),
    Field("extras", "choices", "Extras", choices=COLOURS, default=("r", "b")),
    Field("gift", "boolean", "A gift?", default=False),
)
FORM = Elicitation("Who?", fields=FIELDS)


def told(request: Elicitation, *lines: str) -> tuple[list[str], ElicitationAnswer | None]:
    """What is asked, and the answer in the end."""
    interview, prompts = Interview(request), []
    for line in lines:
        prompts.append(interview.prompt)
        if (answer := interview.take(line)) is not None:
            return prompts, answer
    return [*prompts, interview.prompt], None


def test_each_field_is_asked_and_the_values_are_the_answer():
    assert told(FORM, "1\n", "Ada\n", "5", "2", "red, 3", "y") == (
        [
            "1) Answer  2) Decline: ",
            "Name (required): ",
            "How many (a whole number, at least 1; empty: 3): ",
            "Colour 1) Red  2) Green  3) b: ",
            "Extras (any number of these; numbers with commas between them; empty: r, b) 1) Red  2) Green  3) b: ",
            "A gift? (y or n; empty: n): ",
        ],
        ElicitationAnswer("accept", {"name": "Ada", "count": 5, "colour": "g", "extras": ("r", "b"), "gift": True}),
    )


def test_an_empty_line_takes_the_default_or_leaves_the_field_out():
    _, answer = told(FORM, "1", "Ada", "", "", "", "")
    assert answer == ElicitationAnswer("accept", {"name": "Ada", "count": 3, "extras": ("r", "b"), "gift": False})


@pytest.mark.parametrize(("field", "line", "prompt"), [
    (NAME, "", "This is required. Name (required): "),
    (Field("n", "integer"), "many", "A whole number, such as 3. n (a whole number): "),
    (Field("c", "choice", choices=COLOURS), "4", "Type a number from 1 to 3. c 1) Red  2) Green  3) b: "),
    (Field("c", "choice", choices=COLOURS), "1, 2", "Type a number from 1 to 3. c 1) Red  2) Green  3) b: "),
    (Field("c", "choices", choices=COLOURS, least=2), "1",
     "Choose at least 2. c (at least 2 of these; numbers with commas between them)"
     " 1) Red  2) Green  3) b: "),
    (Field("g", "boolean"), "perhaps", "Type y or n. g (y or n): "),
])  # fmt: skip
def test_a_mistake_is_told_and_the_field_asked_again(field, line, prompt):
    prompts, answer = told(Elicitation("", fields=(field,)), "1", line)
    assert (prompts[-1], answer) == (prompt, None)


@pytest.mark.parametrize("line", ["2", "decline", " NO \n"])
def test_it_can_be_declined(line):
    assert told(FORM, line)[1] == ElicitationAnswer("decline")


def test_an_address_needs_consent_and_nothing_else():
    visit = Elicitation("Sign in", "url", url="https://x.example")
    assert told(visit, "yes") == (["1) Agree  2) Decline: "], ElicitationAnswer("accept"))


def test_nothing_but_nonsense_is_no_answer_in_the_end():
    assert told(FORM, *["what?"] * (ATTEMPTS - 1))[1] is None
    assert told(FORM, *["what?"] * ATTEMPTS)[1] == NOT_ANSWERED
    assert told(FORM, "1", *[""] * ATTEMPTS)[1] == NOT_ANSWERED


def test_sense_in_between_begins_the_count_anew():
    assert told(FORM, *["what?"] * (ATTEMPTS - 1), "1", "", "Ada", "many")[1] is None


def test_a_title_that_two_choices_have_is_no_answer():
    twins = Field("c", "choice", choices=(Choice("a", "Same"), Choice("b", "Same")))
    request = Elicitation("", fields=(twins,))
    assert told(request, "1", "same")[1] is None
    assert told(request, "1", "b")[1] == ElicitationAnswer("accept", {"c": "b"})


def test_what_hides_in_a_name_is_shown():
    prompts, _ = told(Elicitation("", fields=(Field("a\u202eb", "text", description="\x1b[2K"),)), "1")
    assert prompts[-1] == "a⟨U+202E⟩b: "
