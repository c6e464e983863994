"""Any value in, something that is valid JSON and valid UTF-8 out."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from math import isfinite
from typing import Any

from ..rendering.plain import whole

_DEEPEST = 64


def clean(value: Any, depth: int = 0) -> Any:
    """`value` for a Jupyter message: NaN becomes null, a lone surrogate U+FFFD, bytes base64, what is too deep "…"."""
    match value:
        case str():
            return whole(value)
        case None | bool() | int():
            return value
        case float():
            return value if isfinite(value) else None
        case bytes():
            return b64encode(value).decode("ascii")
        case Mapping() | list() | tuple() | set() | frozenset():
            return _container(value, depth + 1)
        case _:
            return whole(str(value))


def _container(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {whole(str(key)): clean(item, depth) for key, item in value.items()}
    return [clean(item, depth) for item in value]
