"""What an agent wants to know, read from any JSON; the answer in the specification's form."""

from typing import Any

import pytest
from copilot_kernel.acp.elicitation import (
    MAX_CHOICES,
    MAX_FIELDS,
    Elicitation,
    ElicitationAnswer,
    FieldChoice,
    FormField,
    compose_elicitation,
    parse_elicitation,
    parse_elicitation_complete,
)
from hypothesis import given
from hypothesis import strategies as st

from .conftest import Valid

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
names = st.sampled_from(
    ["type", "string", "array", "number", "enum", "oneOf", "const", "default", "minimum", "items", "properties"]
)
json_values = st.recursive(
    leaves | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)

FIELDS = [
    ({"type": "string"}, FormField("x", "text")),
    (
        {"type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 5, "pattern": "a+"},
        FormField("x", "text", "T", "D", pattern="a+", least=1, most=5),
    ),
    ({"type": "string", "format": "date", "default": "d"}, FormField("x", "text", default="d", format="date")),
    ({"type": ["null", "string"], "minLength": None, "default": 7, "format": None}, FormField("x", "text")),
    ({"type": "string", "enum": ["a"], "default": "a"},
     FormField("x", "choice", default="a", choices=(FieldChoice("a"),))),
    ({"type": "string", "enum": ["a"], "enumNames": ["A"], "default": "c"},
     FormField("x", "choice", choices=(FieldChoice("a", "A"),))),
    (
        {"type": "string", "oneOf": [{"const": "a", "title": "A", "description": "D"}, {"title": "no value"}, 5]},
        FormField("x", "choice", choices=(FieldChoice("a", "A", "D"),)),
    ),
    ({"type": "number", "minimum": 0.5, "maximum": 2, "default": 1},
     FormField("x", "number", default=1, least=0.5, most=2)),
    ({"type": "number", "minimum": "0", "default": True}, FormField("x", "number")),
    ({"type": "integer", "minimum": 1, "default": 3.0}, FormField("x", "integer", default=3, least=1)),
    ({"type": "boolean", "default": "yes"}, FormField("x", "boolean")),
    (
        {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2, "default": ["b", 1]},
        FormField("x", "choices", default=("b",), least=1, most=2, choices=(FieldChoice("a"), FieldChoice("b"))),
    ),
    (
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        FormField("x", "choices", choices=(FieldChoice("a", "A"),)),
    ),
]  # fmt: skip


def asked(properties: Any, **schema: Any) -> Elicitation:
    return parse_elicitation(
        {"mode": "form", "requestedSchema": {"type": "object", "properties": properties, **schema}}
    )


@pytest.mark.parametrize(("raw", "field"), FIELDS)
def test_a_field_is_read_as_what_it_says(raw: Any, field: FormField) -> None:
    request = asked({"x": raw})
    assert (request.fields, request.skipped, request.problem) == ((field,), (), "")


@pytest.mark.parametrize(
    "raw", [{"type": "object"}, {"type": "_colour"}, {}, 5, {"type": "array", "items": {"type": "string"}}, {"type": 5}]
)
def test_a_field_of_an_unknown_type_is_left_out_or_else_the_request_is_refused(raw: Any) -> None:
    optional, required = asked({"x": raw, "y": {"type": "boolean"}}), asked({"x": raw}, required=["x"])
    assert (optional.fields, optional.skipped, optional.problem) == ((FormField("y", "boolean"),), ("x",), "")
    assert required.problem == "unsupported required field: x"


def test_a_form_has_its_words_and_what_it_belongs_to() -> None:
    schema = {"title": "T", "description": "D", "properties": {"n": {"type": "string"}}, "required": ["n"]}
    raw = {"mode": "form", "message": "Who?", "sessionId": "s", "toolCallId": "t", "requestedSchema": schema}
    fields = (FormField("n", "text", required=True),)
    assert parse_elicitation(raw) == Elicitation("Who?", "form", "T", "D", fields)
    raw = {"mode": "url", "message": "Sign in", "elicitationId": "e", "url": "https://x.example/?a=b"}
    assert parse_elicitation(raw) == Elicitation("Sign in", "url", id="e", url="https://x.example/?a=b")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"mode": "url"}, "url is missing"),
        ({"mode": "dance"}, "unsupported mode 'dance'"),
        (None, "unsupported mode ''"),
        ({"mode": "form", "requestedSchema": {"required": ["a"]}}, "unsupported required field: a"),
    ],
)
def test_what_cannot_be_put_to_a_person_has_a_problem(raw: Any, problem: str) -> None:
    assert parse_elicitation(raw).problem == problem


def test_a_form_that_is_too_large_is_refused() -> None:
    many = {str(number): {"type": "boolean"} for number in range(MAX_FIELDS + 1)}
    long = {"x": {"type": "string", "enum": [str(number) for number in range(MAX_CHOICES + 1)]}}
    problem = f"a form can have at most {MAX_FIELDS} fields with {MAX_CHOICES} choices each"
    assert [asked(many).problem, asked(long).problem] == [problem, problem]
    assert len(asked(many).fields) == MAX_FIELDS


@given(
    st.dictionaries(st.sampled_from(["mode", "url", "message", "requestedSchema", "sessionId"]), json_values),
    json_values,
    json_values,
)
def test_any_json_is_read(request: Any, properties: Any, required: Any) -> None:
    assert isinstance(parse_elicitation(request), Elicitation)
    for raw in (properties, {"x": properties}):
        assert isinstance(asked(raw, required=required), Elicitation)


@pytest.mark.parametrize(("raw", "request_id"), [({"elicitationId": "e"}, "e"), ({}, ""), (None, "")])
def test_the_end_of_a_visit_names_it(raw: Any, request_id: str) -> None:
    assert parse_elicitation_complete(raw) == request_id


ANSWERS = [
    (ElicitationAnswer("cancel", {"a": 1}, "withdrawn"), {"action": "cancel"}),
    (ElicitationAnswer("accept"), {"action": "accept"}),
    (
        ElicitationAnswer("accept", {"a": "x", "b": 1, "c": 1.5, "d": False, "e": ("x", "y")}),
        {"action": "accept", "content": {"a": "x", "b": 1, "c": 1.5, "d": False, "e": ["x", "y"]}},
    ),
]


@pytest.mark.parametrize(("answer", "raw"), ANSWERS)
def test_an_answer_is_the_specifications(valid: Valid, answer: ElicitationAnswer, raw: Any) -> None:
    assert compose_elicitation(answer) == raw
    valid("CreateElicitationResponse", raw)
