"""A request of the agent's for something that only the user knows or can do, and the user's answer (spec: elicitation).

A form asks for values, an address is for the user to visit. Nothing here raises; what cannot be put to a person has a
`problem`, with which the request is to be refused (-32602).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from .lenient import ident, items, members, objects, text, whole, words
from .messages import Json

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
Action = Literal["accept", "decline", "cancel"]
Value = str | int | float | bool | tuple[str, ...]

MOST_FIELDS = 50
MOST_CHOICES = 1_000
"""More would be no form but an attack on whoever draws it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a closed list."""

    value: str
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in.

    `least` and `most` bound the length of a text, the value of a number, the count of choices. `pattern` is the agent's
    regular expression: to be shown, never to be run, for it may take for ever.
    """

    name: str
    kind: FieldKind
    title: str = ""
    description: str = ""
    required: bool = False
    default: Value | None = None
    format: str = ""
    pattern: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def label(self) -> str:
        """What to call it."""
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class Elicitation:
    """`elicitation/create`. `id` and `url` are set in mode url only; `skipped` names fields that nobody can fill in."""

    message: str
    mode: str = "form"
    session_id: str = ""
    tool_call_id: str = ""
    title: str = ""
    description: str = ""
    fields: tuple[Field, ...] = ()
    skipped: tuple[str, ...] = ()
    id: str = ""
    url: str = ""
    problem: str = ""
    raw: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """What the user did. `content` is what was filled in, by name; `reason` says why, where it was not the user."""

    action: Action
    content: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""


def parse_elicitation(params: Any) -> Elicitation:
    """The parameters of `elicitation/create`."""
    raw = members(params)
    mode = words(raw.get("mode")) or ("form" if "requestedSchema" in raw else "")
    request = _form(raw) if mode == "form" else _visit(raw) if mode == "url" else {"problem": f"no mode {mode!r:.40}"}
    return Elicitation(
        message=words(raw.get("message")),
        mode=mode,
        session_id=ident(raw.get("sessionId")),
        tool_call_id=ident(raw.get("toolCallId")),
        raw=raw,
        **request,
    )


def parse_elicitation_complete(params: Any) -> str:
    """The `elicitationId` of `elicitation/complete`, or nothing."""
    return ident(members(params).get("elicitationId"))


def compose_elicitation(answer: ElicitationAnswer) -> Json:
    """The result of `elicitation/create`."""
    if answer.action != "accept":
        return {"action": answer.action}
    content = {name: list(value) if isinstance(value, tuple) else value for name, value in answer.content.items()}
    return {"action": "accept", "content": content} if content else {"action": "accept"}


# -- the two modes ------------------------------------------------------------------------------------------------


def _visit(raw: Json) -> dict[str, Any]:
    url = words(raw.get("url"))
    return {"id": ident(raw.get("elicitationId")), "url": url, "problem": "" if url else "url is missing"}


def _form(raw: Json) -> dict[str, Any]:
    schema = members(raw.get("requestedSchema"))
    properties = members(schema.get("properties"))
    required = {name for name in items(schema.get("required")) if isinstance(name, str)}
    fields = [_field(name, members(each), name in required) for name, each in list(properties.items())[:MOST_FIELDS]]
    found = tuple(each for each in fields if each is not None)
    known = {each.name for each in found}
    return {
        "title": words(schema.get("title")),
        "description": words(schema.get("description")),
        "fields": found,
        "skipped": tuple(name for name in properties if name not in known),
        "problem": _problem(properties, required, found),
    }


def _problem(properties: Json, required: set[str], fields: Iterable[Field]) -> str:
    if len(properties) > MOST_FIELDS or any(len(each.choices) > MOST_CHOICES for each in fields):
        return f"a form may have {MOST_FIELDS} fields with {MOST_CHOICES} choices each"
    if missing := sorted(required - {each.name for each in fields}):
        return f"this client cannot ask for {', '.join(missing)[:200]}, which is required"
    return ""


# -- fields -------------------------------------------------------------------------------------------------------


def _field(name: str, raw: Json, required: bool) -> Field | None:
    """None for a type that we do not know: it must not be shown as if it were another one."""
    reader = _READERS.get(_type(raw))
    details = reader(raw) if reader else None
    if details is None:
        return None
    title, description = words(raw.get("title")), words(raw.get("description"))
    return Field(name, title=title, description=description, required=required, **details)


def _type(raw: Json) -> str:
    """A list of types is read as the first that is not null."""
    found = raw.get("type")
    types = found if isinstance(found, list) else [found]
    return next((each for each in types if isinstance(each, str) and each != "null"), "")


def _text(raw: Json) -> dict[str, Any] | None:
    choices = _choices(raw, "oneOf")
    if choices is not None:
        values = [choice.value for choice in choices]
        default = text(raw.get("default"))
        return {"kind": "choice", "choices": choices, "default": default if default in values else None}
    bounds = {"least": whole(raw.get("minLength")), "most": whole(raw.get("maxLength"))}
    wanted = {"format": words(raw.get("format")), "pattern": words(raw.get("pattern"))}
    return {"kind": "text", "default": text(raw.get("default")), **bounds, **wanted}


def _number(raw: Json) -> dict[str, Any]:
    names = {"least": "minimum", "most": "maximum", "default": "default"}
    return {"kind": "number", **{ours: _real(raw.get(name)) for ours, name in names.items()}}


def _integer(raw: Json) -> dict[str, Any]:
    return {**_number(raw), "kind": "integer", "default": whole(raw.get("default"))}


def _boolean(raw: Json) -> dict[str, Any]:
    default = raw.get("default")
    return {"kind": "boolean", "default": default if isinstance(default, bool) else None}


def _several(raw: Json) -> dict[str, Any] | None:
    """An array without a closed list of items is none that we know."""
    choices = _choices(members(raw.get("items")), "anyOf", "oneOf")
    if choices is None:
        return None
    values = {choice.value for choice in choices}
    default = tuple(each for each in items(raw.get("default")) if isinstance(each, str) and each in values)
    bounds = {"least": whole(raw.get("minItems")), "most": whole(raw.get("maxItems"))}
    return {"kind": "choices", "choices": choices, "default": default or None, **bounds}


_READERS: dict[str, Callable[[Json], dict[str, Any] | None]] = {
    "string": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "array": _several,
}


def _choices(raw: Json, *titled: str) -> tuple[Choice, ...] | None:
    """The values that are allowed; None: any value is."""
    for name in titled:
        if isinstance(raw.get(name), list):
            return tuple(_titled(objects(raw[name]))) or None
    if not isinstance(raw.get("enum"), list):
        return None
    titles = dict(enumerate(items(raw.get("enumNames"))))
    values = enumerate(raw["enum"])
    return tuple(Choice(value, words(titles.get(n))) for n, value in values if isinstance(value, str)) or None


def _titled(choices: Iterable[Json]) -> Iterator[Choice]:
    for each in choices:
        value = each.get("const")
        if isinstance(value, str):
            yield Choice(value, words(each.get("title")), words(each.get("description")))


def _real(raw: Any) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return raw if isinstance(raw, int) or isfinite(raw) else None
