"""What was entered into a form is checked, with words for whoever entered it."""

from contextlib import suppress
from typing import Any

import pytest
from copilot_kernel.acp.elicitation import FieldChoice, FormField
from copilot_kernel.conversation.form import REQUIRED, WHOLE_NUMBER, Entered, InputError, check, fill, looks_secret
from hypothesis import given
from hypothesis import strategies as st

CHOICES = (FieldChoice("r", "Red"), FieldChoice("g", "Green"), FieldChoice("b", "Blue"))


def field(kind: Any = "text", **more: Any) -> FormField:
    return FormField("x", kind, **more)


GOOD: list[tuple[FormField, Entered, Any]] = [
    (field(), "ada", "ada"),
    (field(), "", None),
    (field(least=2, most=3), "äöü", "äöü"),
    (field(pattern="^nothing like it$"), "anything", "anything"),
    (field(format="email"), "ada@example.org", "ada@example.org"),
    (field(format="uri"), "https://example.org/?q=1", "https://example.org/?q=1"),
    (field(format="date"), "2024-02-29", "2024-02-29"),
    (field(format="date-time"), "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
    (field(format="colour"), "red", "red"),
    (field("integer", least=1, most=10), " 10 ", 10),
    (field("number", least=0.5), "2.5", 2.5),
    (field("number"), "1e3", 1000.0),
    (field("number"), "3", 3),
    (field("boolean", required=True), False, False),
    (field("choice", choices=CHOICES), (1,), "g"),
    (field("choices", choices=CHOICES, least=1), (0, 2), ("r", "b")),
    (field("choices", choices=CHOICES, least=1), (), None),
]
BAD: list[tuple[FormField, Entered, str]] = [
    (field(required=True), "", "This field is required."),
    (field(least=2), "a", "Enter at least 2 characters (now 1)."),
    (field(most=1), "ab", "Enter at most 1 character (now 2)."),
    (field(format="email"), "ada", "Enter an e-mail address, such as ada@example.org."),
    (field(format="uri"), "example.org", "Enter a URL with its scheme, such as https://example.org."),
    (field(format="uri"), "https://[", "Enter a URL with its scheme, such as https://example.org."),
    (field(format="date"), "2023-02-29", "Enter a date, such as 2026-01-31."),
    (field(format="date"), "20260131", "Enter a date, such as 2026-01-31."),
    (
        field(format="date-time"),
        "2026-01-31T12:00:00",
        "Enter a time with its time zone, such as 2026-01-31T12:00:00Z.",
    ),
    (field("integer"), "1.5", "Enter a whole number, such as 3."),
    (field("integer"), "9" * 5000, "Enter a whole number, such as 3."),
    (field("integer", least=1), "0", "Enter at least 1."),
    (field("integer", most=10**400), "9223372036854775808", "Enter a whole number, such as 3."),
    (field("number", most=2), "2.5", "Enter at most 2."),
    (field("number"), "2,5", "Enter a number, such as 3 or 2.5."),
    (field("number"), "1e999", "Enter a number, such as 3 or 2.5."),
    (field("choice", choices=CHOICES), (3,), "Choose from the list."),
    (field("choice", choices=CHOICES), (0, 1), "Choose one from the list."),
    (field("choices", choices=CHOICES, least=2), (0,), "Choose at least 2."),
    (field("choices", choices=CHOICES, most=1), (0, 1), "Choose at most 1."),
]


@pytest.mark.parametrize(("asked", "entered", "value"), GOOD)
def test_what_will_do_is_the_value(asked: FormField, entered: Entered, value: Any) -> None:
    checked = check(asked, entered)
    assert (checked, type(checked)) == (value, type(value))


@pytest.mark.parametrize(("asked", "entered", "words"), BAD)
def test_what_will_not_do_is_told(asked: FormField, entered: Entered, words: str) -> None:
    with pytest.raises(InputError) as mistake:
        check(asked, entered)
    assert str(mistake.value) == words


kinds = st.sampled_from(["text", "number", "integer", "boolean", "choice", "choices"])
formats = st.sampled_from(["", "email", "uri", "date", "date-time"])
entries = st.text() | st.booleans() | st.lists(st.integers(-2, 5)).map(tuple)


@given(kinds, formats, st.booleans(), entries)
def test_whatever_is_entered_is_a_value_or_a_mistake(kind: Any, form: str, required: bool, entered: Any) -> None:
    asked = field(kind, format=form, required=required, choices=CHOICES)
    value: Any = None
    with suppress(InputError):
        value = check(asked, entered)
    assert isinstance(value, str | int | float | bool | tuple | None)


def test_a_form_has_all_values_and_all_mistakes() -> None:
    fields = (
        FormField("a", "text"),
        FormField("b", "integer"),
        FormField("c", "text", required=True),
        FormField("d", "text"),
    )
    assert fill(fields, {"a": "x", "b": "y", "d": ""}) == (
        {"a": "x"},
        {"b": WHOLE_NUMBER, "c": REQUIRED},
    )


@pytest.mark.parametrize(
    "words", ["password", "API key", "apiKey", "access_token", "Client secret", "PIN", "passphrase"]
)
@pytest.mark.parametrize("member", ["name", "title", "description"])
def test_a_field_that_asks_for_a_secret_is_known(words: str, member: str) -> None:
    assert looks_secret(FormField(**{"name": "x", "kind": "text", member: words}))


@pytest.mark.parametrize("words", ["name", "spinning", "keyboard", "monkey", "compass"])
def test_other_fields_ask_for_none(words: str) -> None:
    assert not looks_secret(FormField(words, "text"))
