"""Read an elicitation, the agent's question to the user, and compose the answer (spec: elicitation).

A form asks for values; a URL is for the user to open. Nothing here raises: a request that cannot be shown has a
`problem`, with which it is to be refused (-32602).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .lenient import as_dict, as_dicts, as_id, as_list, as_str, opt_int, opt_str
from .messages import Json

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
Action = Literal["accept", "decline", "cancel"]
Value = str | int | float | bool | tuple[str, ...]

MAX_FIELDS, MAX_CHOICES = 50, 1_000
"""More would be an attack on the renderer."""


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """One value of a closed list."""

    value: str
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form.

    `least` and `most` bound the length of a text, the value of a number, or the number of choices. `pattern` is the
    agent's regular expression: show it, but never run it, since it may never end.
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
    choices: tuple[FieldChoice, ...] = ()

    @property
    def label(self) -> str:
        """The field's name for the user."""
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class Elicitation:
    """`elicitation/create`. `id` and `url` are set in mode url only; `skipped` names fields of unknown types."""

    message: str
    mode: str = "form"
    title: str = ""
    description: str = ""
    fields: tuple[FormField, ...] = ()
    skipped: tuple[str, ...] = ()
    id: str = ""
    url: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """The answer. `content` holds the values by field name; `reason` says why, if the user did not decide."""

    action: Action
    content: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""


def parse_elicitation(params: Any) -> Elicitation:
    """Read the parameters of `elicitation/create`."""
    raw = as_dict(params)
    mode = as_str(raw.get("mode")) or ("form" if "requestedSchema" in raw else "")
    request = (
        _form(raw)
        if mode == "form"
        else _visit(raw)
        if mode == "url"
        else {"problem": f"unsupported mode {mode!r:.40}"}
    )
    return Elicitation(
        message=as_str(raw.get("message")),
        mode=mode,
        **request,
    )


def parse_elicitation_complete(params: Any) -> str:
    """Read the `elicitationId` of `elicitation/complete`; empty if there is none."""
    return as_id(as_dict(params).get("elicitationId"))


def compose_elicitation(answer: ElicitationAnswer) -> Json:
    """Compose the result of `elicitation/create`."""
    if answer.action != "accept":
        return {"action": answer.action}
    content = {name: list(value) if isinstance(value, tuple) else value for name, value in answer.content.items()}
    return {"action": "accept", "content": content} if content else {"action": "accept"}


# -- the two modes ------------------------------------------------------------------------------------------------


def _visit(raw: Json) -> dict[str, Any]:
    url = as_str(raw.get("url"))
    return {"id": as_id(raw.get("elicitationId")), "url": url, "problem": "" if url else "url is missing"}


def _form(raw: Json) -> dict[str, Any]:
    schema = as_dict(raw.get("requestedSchema"))
    properties = as_dict(schema.get("properties"))
    required = {name for name in as_list(schema.get("required")) if isinstance(name, str)}
    fields = [_field(name, as_dict(each), name in required) for name, each in list(properties.items())[:MAX_FIELDS]]
    found = tuple(each for each in fields if each is not None)
    known = {each.name for each in found}
    return {
        "title": as_str(schema.get("title")),
        "description": as_str(schema.get("description")),
        "fields": found,
        "skipped": tuple(name for name in properties if name not in known),
        "problem": _problem(properties, required, found),
    }


def _problem(properties: Json, required: set[str], fields: Iterable[FormField]) -> str:
    if len(properties) > MAX_FIELDS or any(len(each.choices) > MAX_CHOICES for each in fields):
        return f"a form can have at most {MAX_FIELDS} fields with {MAX_CHOICES} choices each"
    if missing := sorted(required - {each.name for each in fields}):
        return f"unsupported required field: {', '.join(missing)[:200]}"
    return ""


# -- fields -------------------------------------------------------------------------------------------------------


def _field(name: str, raw: Json, required: bool) -> FormField | None:
    """Return a field; None for an unknown type, which must not be shown as another one."""
    reader = _READERS.get(_type(raw))
    details = reader(raw) if reader else None
    if details is None:
        return None
    title, description = as_str(raw.get("title")), as_str(raw.get("description"))
    return FormField(name, title=title, description=description, required=required, **details)


def _type(raw: Json) -> str:
    """The field's type; of a list, the first that is not null."""
    found = raw.get("type")
    types = found if isinstance(found, list) else [found]
    return next((each for each in types if isinstance(each, str) and each != "null"), "")


def _text(raw: Json) -> dict[str, Any] | None:
    choices = _choices(raw, "oneOf")
    if choices is not None:
        values = [choice.value for choice in choices]
        default = opt_str(raw.get("default"))
        return {"kind": "choice", "choices": choices, "default": default if default in values else None}
    bounds = {"least": opt_int(raw.get("minLength")), "most": opt_int(raw.get("maxLength"))}
    wanted = {"format": as_str(raw.get("format")), "pattern": as_str(raw.get("pattern"))}
    return {"kind": "text", "default": opt_str(raw.get("default")), **bounds, **wanted}


def _number(raw: Json) -> dict[str, Any]:
    names = {"least": "minimum", "most": "maximum", "default": "default"}
    return {"kind": "number", **{ours: _real(raw.get(name)) for ours, name in names.items()}}


def _integer(raw: Json) -> dict[str, Any]:
    return {**_number(raw), "kind": "integer", "default": opt_int(raw.get("default"))}


def _boolean(raw: Json) -> dict[str, Any]:
    default = raw.get("default")
    return {"kind": "boolean", "default": default if isinstance(default, bool) else None}


def _several(raw: Json) -> dict[str, Any] | None:
    """Return a field for several choices. Only arrays with a closed list of items are supported."""
    choices = _choices(as_dict(raw.get("items")), "anyOf", "oneOf")
    if choices is None:
        return None
    values = {choice.value for choice in choices}
    default = tuple(each for each in as_list(raw.get("default")) if isinstance(each, str) and each in values)
    bounds = {"least": opt_int(raw.get("minItems")), "most": opt_int(raw.get("maxItems"))}
    return {"kind": "choices", "choices": choices, "default": default or None, **bounds}


_READERS: dict[str, Callable[[Json], dict[str, Any] | None]] = {
    "string": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "array": _several,
}


def _choices(raw: Json, *titled: str) -> tuple[FieldChoice, ...] | None:
    """The allowed values; None if any value is."""
    for name in titled:
        if isinstance(raw.get(name), list):
            named = (each for each in as_dicts(raw[name]) if isinstance(each.get("const"), str))
            found = (FieldChoice(e["const"], as_str(e.get("title")), as_str(e.get("description"))) for e in named)
            return tuple(found) or None
    if not isinstance(raw.get("enum"), list):
        return None
    titles = dict(enumerate(as_list(raw.get("enumNames"))))
    values = enumerate(raw["enum"])
    return tuple(FieldChoice(value, as_str(titles.get(n))) for n, value in values if isinstance(value, str)) or None


def _real(raw: Any) -> float | None:
    return raw if isinstance(raw, int | float) and not isinstance(raw, bool) else None
