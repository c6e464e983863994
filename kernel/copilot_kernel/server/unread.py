"""Why a text that a client sent cannot be read as JSON, in words that do not quote it."""

from __future__ import annotations

import json

FAULTS = (ValueError, RecursionError)
"""What `json.loads` raises."""


def why(error: BaseException) -> str:
    """What follows "the body" or "this message", for one of FAULTS."""
    match error:
        case json.JSONDecodeError():
            return f"is no JSON: {error.msg}, line {error.lineno}, column {error.colno}"
        case UnicodeDecodeError():
            return "is no JSON: its bytes are no UTF-8"
        case RecursionError():
            return "is nested too deeply"
    return "holds a number that is too long"
