"""Any JSON in, a value of the wanted type or a harmless default out; nothing here raises."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from .messages import Json

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def members(raw: Any) -> Json:
    """`raw` if it is an object, else an empty one."""
    return raw if isinstance(raw, dict) else {}


def items(raw: Any) -> list[Any]:
    """`raw` if it is a list, else an empty one."""
    return raw if isinstance(raw, list) else []


def objects(raw: Any) -> tuple[Json, ...]:
    """The objects in a list."""
    return tuple(item for item in items(raw) if isinstance(item, dict))


def text(raw: Any) -> str | None:
    """Text that can be encoded: half an emoji (a lone surrogate, legal in JSON) would break every later UTF-8."""
    if not isinstance(raw, str):
        return None
    try:
        raw.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATES.sub("\ufffd", raw)
    return raw


def words(raw: Any) -> str:
    """Text, or nothing."""
    return text(raw) or ""


def ident(raw: Any) -> str:
    """An id exactly as it came, since we may have to send it back; a number only serves to be found again."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw)
    return raw if isinstance(raw, str) else ""


def whole(raw: Any) -> int | None:
    """A whole number; 3.0 is one, `true` and NaN are none."""
    if isinstance(raw, float):
        return int(raw) if isfinite(raw) else None
    return raw if isinstance(raw, int) and not isinstance(raw, bool) else None
