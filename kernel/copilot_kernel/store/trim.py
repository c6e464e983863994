"""What is kept of a value that may be huge: the beginning and the end of each text, and few of many members."""

from __future__ import annotations

from itertools import islice
from typing import Any

MOST_MEMBERS = 1_000
MOST_BINARY = 8 * 2**20
"""Characters of base64: a picture is kept whole or not at all."""
DEEPEST = 30
_NOT_SHOWN = "…"


def shortened(text: str, most: int) -> str:
    """`text`, or its two ends with the number of characters that are left out between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n{_NOT_SHOWN} {len(text) - 2 * half:,} characters not shown {_NOT_SHOWN}\n{text[-half:]}"


def trimmed(value: Any, most: int, depth: int = 0) -> Any:
    """`value` (JSON) with texts of at most about `most` characters."""
    if isinstance(value, str):
        return shortened(value, most)
    if depth > DEEPEST:
        return _NOT_SHOWN
    if isinstance(value, list):
        return [trimmed(member, most, depth + 1) for member in value[:MOST_MEMBERS]]
    if isinstance(value, dict):
        few = islice(value.items(), MOST_MEMBERS)
        binary = {"data", "blob"} if "mimeType" in value else ()
        return {key: _binary(member) if key in binary else trimmed(member, most, depth + 1) for key, member in few}
    return value


def _binary(member: Any) -> str:
    return member if isinstance(member, str) and len(member) <= MOST_BINARY else ""
