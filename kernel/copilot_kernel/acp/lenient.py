"""Read any JSON: each helper returns a value of the wanted type or a harmless default, and never raises.

`ALIASES` holds the member names of older dialects of the protocol. They are consulted only where the specification's
own member is absent, so a message that follows the specification is never read in another way.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from .messages import Json

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")

ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "update": {"sessionUpdate": ("kind",)},
    "tool call": {"kind": ("toolKind",), "rawInput": ("input",), "content": ("output",)},
    "diff": {"oldText": ("oldContent",), "newText": ("newContent",)},
    "plan": {"entries": ("steps",)},
    "plan entry": {"content": ("description",)},
    "mode": {"currentModeId": ("modeId",)},
    "option": {"id": ("configId", "optionId")},
    "prompt capabilities": {"image": ("images",)},
    "agent capabilities": {"mcpCapabilities": ("mcp",)},
    "mcp capabilities": {"http": ("httpTransport",), "sse": ("sseTransport",)},
}
"""For each shape: a member of the specification, and the names that stand in for it."""


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
    """A string that can be encoded: a lone surrogate, legal in JSON, would break every later UTF-8."""
    if not isinstance(raw, str):
        return None
    try:
        raw.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATES.sub("\ufffd", raw)
    return raw


def as_str(raw: Any) -> str:
    """Like `opt_str`, with an empty string for anything else."""
    return opt_str(raw) or ""


def as_id(raw: Any) -> str:
    """An id exactly as it came, since we may have to send it back; numbers are only ever compared."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw)
    return raw if isinstance(raw, str) else ""


def opt_int(raw: Any) -> int | None:
    """An integer; 3.0 is one, `true` and NaN are not."""
    if isinstance(raw, float):
        return int(raw) if isfinite(raw) else None
    return raw if isinstance(raw, int) and not isinstance(raw, bool) else None


def canonical(shape: str, raw: Any) -> Json:
    """`raw` with the specification's member names; see `ALIASES`."""
    raw = as_dict(raw)
    moved = {old: name for name, olds in ALIASES[shape].items() if name not in raw for old in olds if old in raw}
    return {moved.get(name, name): value for name, value in raw.items()} if moved else raw
