"""What an agent wants to know, read from any JSON; the answer in the specification's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from copilot_kernel.acp.elicitation import (
    MOST_CHOICES,
    MOST_FIELDS,
    Choice,
    Elicitation,
    ElicitationAnswer,
    Field,
    compose_elicitation,
    parse_elicitation,
    parse_elicitation_complete,
)
from hypothesis import given
from hypothesis import strategies as st

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
names = st.sampled_from(
    ["type", "string", "array", "number", "enum", "oneOf", "const", "default", "minimum", "items", "properties"]
)
json_values = st.recursive(
    leaves | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)

FIELDS = [
    ({"type": "string"}, Field("x", "text")),
    (
        {"type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 5, "pattern": "a+"},
        Field("x", "text", "T", "D", pattern="a+", least=1, most=5),
    ),
    ({"type": "string", "format": "date", "default": "d"}, Field("x", "text", default="d", format="date")),
    ({"type": ["null", "string"]}, Field("x", "text")),
    ({"type": "string", "minLength": None, "default": 7, "format": None}, Field("x", "text")),
    (
        {"type": "string", "enum": ["a", "b"], "default": "b"},
        Field("x", "choice", default="b", choices=(Choice("a"), Choice("b"))),
    ),
    ({"type": "string", "enum": ["a"], "default": "c"}, Field("x", "choice", choices=(Choice("a"),))),
    ({"type": "string", "enum": ["a"], "enumNames": ["A"]}, Field("x", "choice", choices=(Choice("a", "A"),))),
    (
        {"type": "string", "oneOf": [{"const": "a", "title": "A", "description": "D"}, {"title": "no value"}, 5]},
        Field("x", "choice", choices=(Choice("a", "A", "D"),)),
    ),
    ({"type": "number", "minimum": 0.5, "maximum": 2, "default": 1},
     Field("x", "number", default=1, least=0.5, most=2)),
    ({"type": "number", "minimum": "0", "default": True}, Field("x", "number")),
    ({"type": "integer", "minimum": 1, "default": 3.0}, Field("x", "integer", default=3, least=1)),
    ({"type": "boolean", "default": False}, Field("x", "boolean", default=False)),
    ({"type": "boolean", "default": "yes"}, Field("x", "boolean")),
    (
        {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2, "default": ["b", 1]},
        Field("x", "choices", default=("b",), least=1, most=2, choices=(Choice("a"), Choice("b"))),
    ),
    (
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        Field("x", "choices", choices=(Choice("a", "A"),)),
    ),
]  # fmt: skip


def asked(properties: Any, **schema: Any) -> Elicitation:
    return parse_elicitation(
        {"mode": "form", "requestedSchema": {"type": "object", "properties": properties, **schema}}
    )


@pytest.mark.parametrize(("raw", "field"), FIELDS)
def test_a_field_is_read_as_what_it_says(raw: Any, field: Field) -> None:
    request = asked({"x": raw})
    assert (request.fields, request.skipped, request.problem) == ((field,), (), "")


@pytest.mark.parametrize(
    "raw", [{"type": "object"}, {"type": "_colour"}, {}, 5, {"type": "array", "items": {"type": "string"}}, {"type": 5}]
)
def test_a_field_of_an_unknown_type_is_left_out_or_else_the_request_is_refused(raw: Any) -> None:
    optional, required = asked({"x": raw, "y": {"type": "boolean"}}), asked({"x": raw}, required=["x"])
    assert (optional.fields, optional.skipped, optional.problem) == ((Field("y", "boolean"),), ("x",), "")
    assert required.problem == "this client cannot ask for x, which is required"


def test_a_form_has_its_words_and_what_it_belongs_to() -> None:
    raw = {
        "mode": "form",
        "message": "Who?",
        "sessionId": "s",
        "toolCallId": "t",
        "requestedSchema": {
            "title": "T",
            "description": "D",
            "properties": {"n": {"type": "string"}},
            "required": ["n"],
        },
    }
    fields = (Field("n", "text", required=True),)
    assert parse_elicitation(raw) == Elicitation("Who?", "form", "s", "t", "T", "D", fields, raw=raw)


def test_without_fields_it_is_a_question_all_the_same() -> None:
    assert (asked({}).fields, asked({}).problem) == ((), "")


def test_an_address_has_its_id() -> None:
    raw = {"mode": "url", "message": "Sign in", "elicitationId": "e", "url": "https://x.example/?a=b"}
    assert parse_elicitation(raw) == Elicitation("Sign in", "url", id="e", url="https://x.example/?a=b", raw=raw)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"mode": "url"}, "url is missing"),
        ({"mode": "dance"}, "no mode 'dance'"),
        ({}, "no mode ''"),
        (None, "no mode ''"),
        ({"mode": "form", "requestedSchema": {"required": ["a"]}}, "this client cannot ask for a, which is required"),
    ],
)
def test_what_cannot_be_put_to_a_person_has_a_problem(raw: Any, problem: str) -> None:
    assert parse_elicitation(raw).problem == problem


def test_a_form_that_nobody_could_fill_in_is_refused() -> None:
    many = {str(number): {"type": "boolean"} for number in range(MOST_FIELDS + 1)}
    long = {"x": {"type": "string", "enum": [str(number) for number in range(MOST_CHOICES + 1)]}}
    problem = f"a form may have {MOST_FIELDS} fields with {MOST_CHOICES} choices each"
    assert [asked(many).problem, asked(long).problem] == [problem, problem]
    assert len(asked(many).fields) == MOST_FIELDS


@given(st.dictionaries(st.sampled_from(["mode", "url", "message", "requestedSchema", "sessionId"]), json_values))
def test_any_json_is_read(raw: Any) -> None:
    assert isinstance(parse_elicitation(raw), Elicitation)


@given(json_values, json_values)
def test_any_json_is_read_as_a_schema(properties: Any, required: Any) -> None:
    for raw in (properties, {"x": properties}):
        assert isinstance(asked(raw, required=required), Elicitation)


@pytest.mark.parametrize(("raw", "request_id"), [({"elicitationId": "e"}, "e"), ({}, ""), (None, ""), ([1], "")])
def test_the_end_of_a_visit_names_it(raw: Any, request_id: str) -> None:
    assert parse_elicitation_complete(raw) == request_id


ANSWERS = [
    (ElicitationAnswer("decline"), {"action": "decline"}),
    (ElicitationAnswer("cancel", {"a": 1}, "withdrawn"), {"action": "cancel"}),
    (ElicitationAnswer("accept"), {"action": "accept"}),
    (
        ElicitationAnswer("accept", {"a": "x", "b": 1, "c": 1.5, "d": False, "e": ("x", "y")}),
        {"action": "accept", "content": {"a": "x", "b": 1, "c": 1.5, "d": False, "e": ["x", "y"]}},
    ),
]


@pytest.mark.parametrize(("answer", "raw"), ANSWERS)
def test_an_answer_is_the_specifications(answer: ElicitationAnswer, raw: Any) -> None:
    assert compose_elicitation(answer) == raw


@pytest.mark.parametrize(("_", "raw"), ANSWERS)
def test_an_answer_is_valid_by_the_official_schema(typescript_sdk: Path, _: Any, raw: Any) -> None:
    schema = json.loads((typescript_sdk / "schema" / "v1" / "schema.json").read_text("utf-8"))
    jsonschema.validate(raw, {**schema, "anyOf": [{"$ref": "#/$defs/CreateElicitationResponse"}]})
