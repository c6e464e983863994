"""What a person entered into a form of the agent's: checked, and turned into the values that the agent gets.

Nothing of the agent's runs here: its bounds are compared, its patterns are left to itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from urllib.parse import urlsplit

from ..acp.elicitation import Field, Value

Entered = str | bool | tuple[int, ...]
"""A text as it was typed; whether a box is ticked; which of the choices are taken, by place."""

_SECRET = re.compile(r"(?i)pass(?:word|wd|phrase|code)|secret|token|(?:api|private|access).?key|credential|\bpin\b")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,300}\.?[0-9]{0,300}|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,4})?")
_LARGEST = 2**63 - 1
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:[Zz]|[+-]\d{2}:\d{2})", re.ASCII)


class Mistake(ValueError):
    """What is wrong with what was entered, in words for the one who entered it."""


def fill(fields: tuple[Field, ...], entered: Mapping[str, Entered]) -> tuple[dict[str, Value], dict[str, str]]:
    """The values by name, and what is wrong, by name; what was left empty is left out."""
    values: dict[str, Value] = {}
    mistakes: dict[str, str] = {}
    for field in fields:
        try:
            value = check(field, entered.get(field.name, ""))
        except Mistake as mistake:
            mistakes[field.name] = str(mistake)
        else:
            if value is not None:
                values[field.name] = value
    return values, mistakes


def check(field: Field, entered: Entered) -> Value | None:
    """The value of one field; None: nothing was entered, and nothing need be. Raises Mistake."""
    if entered in ("", ()):
        if field.required:
            raise Mistake("This is required.")
        return None
    return _CHECKS[field.kind](field, entered)


def looks_secret(field: Field) -> bool:
    """It asks, by its name, for what must not go through a form: the agent and the notebook would keep it."""
    return any(_SECRET.search(words) for words in (field.name, field.title, field.description))


def _text(field: Field, entered: Entered) -> Value:
    typed = str(entered)
    if field.least is not None and len(typed) < field.least:
        raise Mistake(f"At least {_characters(field.least)}; these are {len(typed)}.")
    if field.most is not None and len(typed) > field.most:
        raise Mistake(f"At most {_characters(field.most)}; these are {len(typed)}.")
    example = _FORMATS.get(field.format)
    if example and not example[0](typed):
        raise Mistake(example[1])
    return typed


def _integer(field: Field, entered: Entered) -> Value:
    typed = str(entered).strip()
    if not _WHOLE.fullmatch(typed) or abs(int(typed)) > _LARGEST:
        raise Mistake("A whole number, such as 3.")
    return int(_bounded(field, int(typed)))


def _number(field: Field, entered: Entered) -> Value:
    typed = str(entered).strip()
    if not _NUMBER.fullmatch(typed) or abs(float(typed)) == float("inf"):
        raise Mistake("A number, such as 3 or 2.5.")
    return _bounded(field, int(typed) if _WHOLE.fullmatch(typed) else float(typed))


def _bounded(field: Field, value: float) -> float:
    if field.least is not None and value < field.least:
        raise Mistake(f"At least {field.least}.")
    if field.most is not None and value > field.most:
        raise Mistake(f"At most {field.most}.")
    return value


def _boolean(field: Field, entered: Entered) -> Value:
    return bool(entered)


def _choice(field: Field, entered: Entered) -> Value:
    values = _chosen(field, entered)
    if len(values) != 1:
        raise Mistake("Choose one from the list.")
    return values[0]


def _choices(field: Field, entered: Entered) -> Value:
    values = _chosen(field, entered)
    if field.least is not None and len(values) < field.least:
        raise Mistake(f"Choose at least {field.least}.")
    if field.most is not None and len(values) > field.most:
        raise Mistake(f"Choose at most {field.most}.")
    return values


def _chosen(field: Field, entered: Entered) -> tuple[str, ...]:
    places = entered if isinstance(entered, tuple) else ()
    if not all(0 <= place < len(field.choices) for place in places):
        raise Mistake("Choose from the list.")
    return tuple(field.choices[place].value for place in places)


def _is_email(typed: str) -> bool:
    return bool(_EMAIL.fullmatch(typed))


def _is_uri(typed: str) -> bool:
    try:
        return bool(urlsplit(typed).scheme) and not re.search(r"\s", typed)
    except ValueError:
        return False


def _is_date(typed: str) -> bool:
    return bool(_DATE.fullmatch(typed)) and _parses(date.fromisoformat, typed)


def _is_time(typed: str) -> bool:
    return bool(_TIME.fullmatch(typed)) and _parses(datetime.fromisoformat, typed.upper())


def _parses(read: Callable[[str], object], typed: str) -> bool:
    try:
        read(typed)
    except ValueError:
        return False
    return True


def _characters(count: float) -> str:
    return f"{count} character{'s' * (count != 1)}"


_CHECKS: dict[str, Callable[[Field, Entered], Value]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "choice": _choice,
    "choices": _choices,
}
_FORMATS: dict[str, tuple[Callable[[str], bool], str]] = {
    "email": (_is_email, "An e-mail address, such as ada@example.org."),
    "uri": (_is_uri, "An address with its scheme, such as https://example.org."),
    "date": (_is_date, "A date, such as 2026-01-31."),
    "date-time": (_is_time, "A time with its zone, such as 2026-01-31T12:00:00Z."),
}
