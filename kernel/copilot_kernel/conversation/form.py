"""Validation of what the user entered into an agent's form, and conversion into the values that the agent gets.

The agent's bounds are checked here, its regular expressions are not: they could take forever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from urllib.parse import urlsplit

from ..acp.elicitation import FormField, Value

REQUIRED = "This field is required."
WHOLE_NUMBER = "Enter a whole number, such as 3."

Entered = str | bool | tuple[int, ...]
"""Text as typed, whether a box is ticked, or the indices of the selected choices."""

_SECRET = re.compile(r"(?i)pass(?:word|wd|phrase|code)|secret|token|(?:api|private|access).?key|credential|\bpin\b")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,300}\.?[0-9]{0,300}|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,4})?")
_MAX_INTEGER = 2**63 - 1
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}")
_URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:[Zz]|[+-]\d{2}:\d{2})", re.ASCII)


class InputError(ValueError):
    """Mistake in an input, in words for the user."""


def fill(fields: tuple[FormField, ...], entered: Mapping[str, Entered]) -> tuple[dict[str, Value], dict[str, str]]:
    """Values and mistakes, each by field name; empty optional fields are left out."""
    values: dict[str, Value] = {}
    mistakes: dict[str, str] = {}
    for field in fields:
        try:
            value = check(field, entered.get(field.name, ""))
        except InputError as mistake:
            mistakes[field.name] = str(mistake)
        else:
            if value is not None:
                values[field.name] = value
    return values, mistakes


def check(field: FormField, entered: Entered) -> Value | None:
    """The value of one field; None if it is empty and optional. Raises InputError."""
    if entered in ("", ()):
        if field.required:
            raise InputError(REQUIRED)
        return None
    return _CHECKS[field.kind](field, entered)


def looks_secret(field: FormField) -> bool:
    """Return True if an input asks, by its name, for a secret, which must not go through a form."""
    return any(_SECRET.search(words) for words in (field.name, field.title, field.description))


def _text(field: FormField, entered: Entered) -> Value:
    typed = str(entered)
    _check_bounds(field, len(typed), unit=lambda bound: f" character{'s' * (bound != 1)} (now {len(typed)})")
    if field.format in _FORMATS:
        pattern, parse, words = _FORMATS[field.format]
        if not _has_format(typed, pattern, parse):
            raise InputError(words)
    return typed


def _integer(field: FormField, entered: Entered) -> Value:
    typed = str(entered).strip()
    if not _WHOLE.fullmatch(typed) or abs(int(typed)) > _MAX_INTEGER:
        raise InputError(WHOLE_NUMBER)
    _check_bounds(field, int(typed))
    return int(typed)


def _number(field: FormField, entered: Entered) -> Value:
    typed = str(entered).strip()
    if not _NUMBER.fullmatch(typed) or abs(float(typed)) == float("inf"):
        raise InputError("Enter a number, such as 3 or 2.5.")
    value = int(typed) if _WHOLE.fullmatch(typed) else float(typed)
    _check_bounds(field, value)
    return value


def _check_bounds(
    field: FormField, amount: float, verb: str = "Enter", unit: Callable[[float], str] = lambda bound: ""
) -> None:
    least, most = field.least, field.most
    if least is not None and amount < least:
        raise InputError(f"{verb} at least {least}{unit(least)}.")
    if most is not None and amount > most:
        raise InputError(f"{verb} at most {most}{unit(most)}.")


def _choice(field: FormField, entered: Entered) -> Value:
    values = _chosen(field, entered)
    if len(values) != 1:
        raise InputError("Choose one from the list.")
    return values[0]


def _choices(field: FormField, entered: Entered) -> Value:
    values = _chosen(field, entered)
    _check_bounds(field, len(values), "Choose")
    return values


def _chosen(field: FormField, entered: Entered) -> tuple[str, ...]:
    places = entered if isinstance(entered, tuple) else ()
    if not all(0 <= place < len(field.choices) for place in places):
        raise InputError("Choose from the list.")
    return tuple(field.choices[place].value for place in places)


def _has_format(typed: str, pattern: re.Pattern[str], parse: Callable[[str], object]) -> bool:
    try:
        return pattern.fullmatch(typed) is not None and parse(typed) is not None
    except ValueError:
        return False


_CHECKS: dict[str, Callable[[FormField, Entered], Value]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": lambda field, entered: bool(entered),
    "choice": _choice,
    "choices": _choices,
}
_FORMATS: dict[str, tuple[re.Pattern[str], Callable[[str], object], str]] = {
    "email": (_EMAIL, str, "Enter an e-mail address, such as ada@example.org."),
    "uri": (_URI, urlsplit, "Enter a URL with its scheme, such as https://example.org."),
    "date": (_DATE, date.fromisoformat, "Enter a date, such as 2026-01-31."),
    "date-time": (
        _TIME,
        lambda typed: datetime.fromisoformat(typed.upper()),
        "Enter a time with its time zone, such as 2026-01-31T12:00:00Z.",
    ),
}
