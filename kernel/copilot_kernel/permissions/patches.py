"""Which files the patches and diffs in a call's input name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from ..conversation.model import ToolCall

MOST = 100
"""Files of them that are looked at."""

_PATCHED = re.compile(r"^[ \t]*\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,4096})$", re.MULTILINE)
_RENAMED = re.compile(r"^(?:rename|copy) (?:from|to) (.{1,4096})$", re.MULTILINE)


def headers(call: ToolCall) -> tuple[str, ...]:
    """The paths that the heads of unified diffs in the input name, as far as they are looked at."""
    heads = (head for text in _diffs(call.raw_input) for head in chain(_heads(text), _renamed(text)))
    named = (name for head in islice(heads, MOST) for name in head)
    plain = (name.split("\t")[0] for name in named)
    return tuple(dict.fromkeys(name for name in plain if name not in ("/dev/null", "a/dev/null", "b/dev/null")))


def heads_in(raw_input: Any) -> int:
    """How many files they are about, looked at or not."""
    return sum(text.count("\n+++ ") for text in _diffs(raw_input)) + sum(
        text.count("\n*** ") // 2 for text in _patches(raw_input)
    )


def _heads(text: str) -> Iterator[tuple[str, str]]:
    """The two lines with which each file of a unified diff begins."""
    at = text.find("\n+++ ")
    while at >= 0:
        before = text[text.rfind("\n", 0, at) + 1 : at]
        end = text.find("\n", at + 1)
        if before.startswith("--- "):
            yield before[4:], text[at + 5 : end if end >= 0 else len(text)]
        at = text.find("\n+++ ", at + 1)


def _renamed(text: str) -> Iterator[tuple[str]]:
    return ((match[1],) for match in _RENAMED.finditer(text))


def patched(call: ToolCall) -> list[str]:
    """The files of a patch in the form that some agents' `apply_patch` takes."""
    found = (match[1] for text in _patches(call.raw_input) for match in _PATCHED.finditer(text))
    return list(islice(found, 2 * MOST))


def _patches(raw: Any) -> list[str]:
    found = (raw, *(member(raw, name) for name in ("input", "patch", "patchText", "diff")))
    return [text for text in found if isinstance(text, str) and "*** " in text]


def _diffs(raw: Any) -> Iterator[str]:
    for name in ("diff", "patch", "unified_diff", "unifiedDiff"):
        value = member(raw, name)
        if isinstance(value, str):
            yield value


def member(value: Any, name: str) -> Any:
    """A member of an object; None if there is none, or it is none."""
    return value.get(name) if isinstance(value, Mapping) else None
