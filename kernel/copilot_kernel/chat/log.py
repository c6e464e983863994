"""The wire log as lines that may be shown: without secrets, and without what is too long to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ..redaction import Redactor, redactor

LONGEST = 2_000
"""Characters of one text; images are longer."""


def readable(lines: Iterable[tuple[str, bytes]], redact: Redactor | None = None) -> Iterator[str]:
    """`lines` of a wire log without secrets; by default, those that are known to this process."""
    redact = redact or redactor()
    for direction, line in lines:
        text = line.decode("utf-8", "replace")
        try:
            shown = json.dumps(_short(redact.json(json.loads(text))), ensure_ascii=False)
        except (ValueError, RecursionError):
            shown = _short(redact.text(text))
        yield f"{direction} {shown}"


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]}… ({len(value) - LONGEST} more characters)"
    return value
