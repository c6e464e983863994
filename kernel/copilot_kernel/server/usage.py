"""Tokens, as the agent tells them; where it does not, there are none to tell."""

from __future__ import annotations

from typing import Any

from ..acp.messages import Json

FIELDS = ("inputTokens", "outputTokens", "totalTokens")
OPTIONAL = ("thoughtTokens", "cachedReadTokens", "cachedWriteTokens")


def of_turn(now: Json | None, before: Json | None) -> Json | None:
    """The tokens of one turn: agents count across all turns of a session. None if that cannot be said."""
    if now is None or before is None:
        return None
    counts = {name: _count(now, name) - _count(before, name) for name in (*FIELDS, *OPTIONAL)}
    told = all(name in now for name in FIELDS)
    return counts if told and all(count >= 0 for count in counts.values()) else None


def as_chat(counts: Json | None) -> Json | None:
    """As chat completions have it."""
    if counts is None:
        return None
    prompt, completion = _split(counts)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": counts["totalTokens"],
        "prompt_tokens_details": {"cached_tokens": counts["cachedReadTokens"]},
        "completion_tokens_details": {"reasoning_tokens": counts["thoughtTokens"]},
    }


def as_response(counts: Json | None) -> Json | None:
    """As responses have it."""
    if counts is None:
        return None
    prompt, completion = _split(counts)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": counts["cachedReadTokens"]},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": counts["thoughtTokens"]},
        "total_tokens": counts["totalTokens"],
    }


def _split(counts: Json) -> tuple[int, int]:
    """What went in and what came out; together they are the agent's own total."""
    known, thought, total = (
        counts["inputTokens"] + counts["outputTokens"],
        counts["thoughtTokens"],
        counts["totalTokens"],
    )
    completion = min(counts["outputTokens"] + (thought if known + thought <= total else 0), total)
    return total - completion, completion


def _count(usage: Json, name: str) -> int:
    value: Any = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
