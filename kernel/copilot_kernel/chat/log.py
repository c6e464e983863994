"""The wire log as lines that may be shown: without secrets, and without what is too long to read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

HIDDEN = "•••"
LONGEST = 2_000
"""Characters of one text; images are longer."""
SHORTEST_SECRET = 8
"""Characters of a variable's value that is looked for."""

_NAMES = re.compile(
    r"(?:^|[_-])(?:token|pat|pass(?:word|wd|phrase)?|pwd|secret|credentials?|authorization|cookie|bearer)(?:$|[_-])"
    r"|api[_-]?key|(?:access|private|client)[_-]?(?:key|secret)|session[_-]?key",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"tokens$", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:gh[pousr]_|github_pat_|sk-|xox[abps]-|glpat-|hf_|AKIA|AIza|eyJ[\w-]{8,}\.)[\w.-]{10,}"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"
    r"|(?i:(?<=bearer )|(?<=basic )|(?<=token ))[\w.~+/=-]{8,}"
)
_ASSIGNED = re.compile(
    r"(?i)((?:[\w-]*(?:token|password|passwd|secret|api[_-]?key|authorization|credential)[\w-]*)[\"']?\s*[=:]\s*[\"']?"
    r"(?:(?:bearer|basic|token)\s+)?)([^\s\"',;&]+)"
)


def readable(
    lines: Iterable[tuple[str, bytes]], environ: Mapping[str, str] = os.environ, secrets: Collection[str] = ()
) -> Iterator[str]:
    """`lines` of a wire log; `secrets`, and values of secret variables in `environ`, are hidden wherever they stand."""
    values = [value for name, value in environ.items() if _is_secret(name)]
    known = [value for value in (*values, *secrets) if len(value) >= SHORTEST_SECRET]
    for direction, line in lines:
        text = line.decode("utf-8", "replace")
        try:
            shown = json.dumps(_clean(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            shown = _text(text)
        for value in known:
            shown = shown.replace(value, HIDDEN).replace(json.dumps(value)[1:-1], HIDDEN)
        yield f"{direction} {shown}"


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _member(name, inner) for name, inner in _named(value).items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return _text(value) if isinstance(value, str) else value


def _member(name: str, value: Any) -> Any:
    """What a server is given as variables and headers is nobody's business."""
    if name in ("env", "headers"):
        return _without_values(value)
    return HIDDEN if _is_secret(name) and isinstance(value, str) and value else _clean(value)


def _without_values(value: Any) -> Any:
    if isinstance(value, dict):
        return dict.fromkeys(value, HIDDEN)
    if isinstance(value, list):
        return [{**each, "value": HIDDEN} if isinstance(each, dict) else HIDDEN for each in value]
    return HIDDEN


def _named(value: dict[str, Any]) -> dict[str, Any]:
    """A value beside its name: `{"name": "API_KEY", "value": …}`."""
    name = value.get("name")
    secret = isinstance(name, str) and _is_secret(name) and "value" in value
    return {**value, "value": HIDDEN} if secret else value


def _is_secret(name: str) -> bool:
    """Counts of tokens are no secrets."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_NAMES.search(split)) and not _COUNTS.search(name)


def _text(text: str) -> str:
    text = _SHAPES.sub(HIDDEN, _ASSIGNED.sub(rf"\1{HIDDEN}", text))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST} more characters)"
