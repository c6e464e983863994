"""Charts as the agent reads them: the JSON from which a page draws them, with long arrays and texts shortened."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_ITEMS = 10
"""Arrays with more items show the first `SHOWN_ITEMS`, and how many there are."""
SHOWN_ITEMS = 5
MAX_STRING_CHARS = 200
MAX_DEPTH = 20
TEMPLATE = "template"

# How Altair's page passes what it draws to its script.
_VEGA = re.compile(r"\}\)\((?=\{)")


def shortened(value: Any, depth: int = 0) -> Any:
    """JSON with the lengths of long arrays and texts instead of what they hold, and without the template of Plotly."""
    match value:
        case dict() | list() if depth == MAX_DEPTH:
            return "…"
        case {"dtype": str(kind), "bdata": str(data)}:  # an array of Plotly's
            size = int(kind[1:]) if kind[1:].isdecimal() else 1
            return f"… {len(data.rstrip('=')) * 3 // 4 // (size or 1)} items of type {kind}"
        case dict():
            return {key: shortened(each, depth + 1) for key, each in value.items() if key != TEMPLATE}
        case list():
            is_long = len(value) > MAX_ITEMS
            shown = [shortened(each, depth + 1) for each in (value[:SHOWN_ITEMS] if is_long else value)]
            return [*shown, f"… {len(value)} items in all"] if is_long else shown
        case str() if len(value) > MAX_STRING_CHARS:
            return f"{value[:MAX_STRING_CHARS]}… {len(value)} characters in all"
    return value


def chart_in_page(html: str) -> Any:
    """What a page of Altair's draws, or None."""
    found = _VEGA.search(html)
    if found is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(html, found.end())[0]
    except (ValueError, RecursionError):
        return html[found.end() :]
