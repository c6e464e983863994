"""What is wrong with a request, and where in it: in words for who wrote it, which do not quote what was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Path = list[str | int]
LONGEST = 8
"""Steps."""
NEITHER = "must be a text or an array"
PARTS = "there are text, image_url and refusal, and in /v1/responses input_text, output_text and input_image"
WORDS = {
    "missing": "is missing",
    "string_type": "must be a text",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "is empty",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "literal_error": "must be {expected}",
    "list_type": "must be an array",
    "too_short": "is empty",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "union_tag_not_found": f"has no type; {PARTS}",
    "union_tag_invalid": f"parts of this type cannot be sent to an agent; {PARTS}",
}


def told(error: ValidationError, body: Any) -> tuple[Path, str]:
    """The first fault: the way to it in `body`, and what it is."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = list(_way(first["loc"], body))[:LONGEST]
    if first["type"] == "missing":
        path.append(first["loc"][-1])
    return path, in_words(first)


def in_words(fault: ErrorDetails) -> str:
    """What follows the name of a member."""
    words = WORDS.get(fault["type"])
    return fault["msg"] if words is None else words.format_map(fault.get("ctx", {}))


def _way(loc: tuple[str | int, ...], value: Any) -> Iterator[str | int]:
    """The steps that lead into `value`: pydantic names the kinds of things that it tried on the way, too."""
    for step in loc:
        inside = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(inside, dict) and step in inside:
            yield step
            value = inside[step]
