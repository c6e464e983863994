"""Read any JSON that `load` returns: each helper returns a value of the wanted type, or a default, and never raises."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from msgspec.json import Decoder

from .messages import Json

MAX_JSON_DEPTH = 200


def as_dict(raw: Any) -> Json:
    """`raw` if it is an object, else an empty one."""
    return raw if isinstance(raw, dict) else {}


def as_list(raw: Any) -> list[Any]:
    """`raw` if it is an array, else an empty one."""
    return raw if isinstance(raw, list) else []


def as_dicts(raw: Any) -> tuple[Json, ...]:
    """The objects in an array."""
    return tuple(item for item in as_list(raw) if isinstance(item, dict))


def opt_str(raw: Any) -> str | None:
    """`raw` if it is a string."""
    return raw if isinstance(raw, str) else None


def as_str(raw: Any) -> str:
    """Like `opt_str`, with an empty string for anything else."""
    return opt_str(raw) or ""


def as_id(raw: Any) -> str:
    """An id exactly as it came, since we may have to send it back; numbers are only ever compared."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw)
    return raw if isinstance(raw, str) else ""


def opt_int(raw: Any) -> int | None:
    """An integer; 3.0 is one, `true` is not."""
    return int(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else None


# -- text to JSON -------------------------------------------------------------------------------------------------


def load(line: bytes | bytearray) -> Any:
    """JSON that other layers can store, show and forward. Raises ValueError or RecursionError.

    Its strings have no lone surrogates, its numbers are finite, and nothing is nested deeper than `MAX_JSON_DEPTH`.
    """
    try:
        value = _strict(line)
    except (ValueError, RecursionError):
        value = _tolerant(line)
    if len(line) > 2 * MAX_JSON_DEPTH and line.count(b"[") + line.count(b"{") > MAX_JSON_DEPTH and _is_deep(value):
        raise ValueError(f"nested deeper than {MAX_JSON_DEPTH}")
    return value


_strict = Decoder().decode
"""Several times as fast. Whatever it accepts it reads like `_tolerant`, and it accepts no surrogate and no infinity."""


def _tolerant(line: bytes | bytearray) -> Any:
    text = line.decode("utf-8-sig", "replace")
    value = json.loads(text, parse_float=_finite, parse_constant=lambda name: None)
    return _without_surrogates(value) if _SURROGATE.search(text) else value


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [c for v in level if isinstance(v, dict | list) for c in (v.values() if isinstance(v, dict) else v)]
        if not level:
            return False
    return True


def _without_surrogates(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value
