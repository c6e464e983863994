"""A source as a model repeats it: with other line ends and kinds of space, or without the blanks at the ends of lines.

It means the cell all the same, and what an edit does not touch keeps the cell's own characters.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import chain, takewhile

MAX_COMPARED_SOURCE_CHARS = 20_000
"""Limit of both sources together up to which their words are compared; above it, their lines are."""
_LINE_END = re.compile(r"\r\n?|\n")
_WORD = re.compile(r"\w+|[^\S\r\n]*(?:\r\n?|\n)|[^\S\r\n]+|[^\w\s]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_SPACE = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def difference(own: str, expected: str) -> str:
    """Say in words where `expected` means something else than the source `own`; empty if it means the same."""
    there, wanted = ("".join(map(_key, _WORD.findall(text.rstrip()))) for text in (own, expected))
    at = len([*takewhile(lambda pair: pair[0] == pair[1], zip(there, wanted, strict=False))])
    first, line = max(at - 20, there.rfind("\n", 0, at) + 1), there.count("\n", 0, at) + 1
    has, should = (repr(text[first : first + 60]) for text in (there, wanted))
    return "" if there == wanted else f"In line {line}, the cell has {has} where {should} was expected."


def edited(own: str, source: str) -> str:
    """`own` with what `source` has otherwise, and with its own blanks at the end."""
    body, end = own.rstrip(), next(iter(_LINE_END.findall(own)), "\n")
    split = (_WORD if len(own) + len(source) <= MAX_COMPARED_SOURCE_CHARS else _LINE).findall
    before, after = split(body), split(_LINE_END.sub(lambda _: end, source.rstrip()))
    matcher = SequenceMatcher(None, [*map(_key, before)], [*map(_key, after)])
    parts = (before[a:b] if kind == "equal" else after[c:d] for kind, a, b, c, d in matcher.get_opcodes())
    return "".join(chain.from_iterable(parts)) + own[len(body) :]


def _key(unit: str) -> str:
    """The same for all units that mean the same."""
    text = _SPACE.sub(" ", unit)
    return f"{text.rstrip()}\n" if text.endswith(("\r", "\n")) else text
