"""Matching lines of two texts: difflib's answer between the lines that both start and end with."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..conversation.excerpt import CONTEXT
from .plain import split_lines

Mark = Literal["+", "-", " ", "@"]
Opcodes = Sequence[tuple[str, int, int, int, int]]  # of difflib

MAX_LINES, MAX_CHARS = 5_000, 400_000
"""Beyond these (both texts, without common start and end) lines are not matched one by one: difflib is quadratic."""


class Hunk(NamedTuple):
    """Marked lines, with their ends; `old` and `new` say where the first one is, and count from 0."""

    old: int
    new: int
    lines: tuple[tuple[Mark, str], ...]


@dataclass(frozen=True, slots=True)
class Matched:
    """Difference of two texts. `is_rough`: it was too long, and is replaced as a whole; `left_out` lines were then
    added and removed besides.
    """

    hunks: tuple[Hunk, ...]
    is_rough: bool
    left_out: tuple[int, int]


def match(old: str, new: str, most: int = sys.maxsize) -> Matched:
    """The lines of `old` and `new`; if the result is rough, at most `most` of those that change."""
    olds, news = split_lines(old), split_lines(new)
    start, end = common_ends(olds, news)
    removed, added = (lines[start : len(lines) - end] for lines in (olds, news))
    is_rough = len(removed) + len(added) > MAX_LINES or sum(map(len, (*removed, *added))) > MAX_CHARS
    kept = most // 2 if is_rough else sys.maxsize
    left_out = max(len(added) - kept, 0), max(len(removed) - kept, 0)
    first = max(start - CONTEXT, 0)
    above, below = olds[first:start], [] if any(left_out) else olds[len(olds) - end :][:CONTEXT]
    before, after = ([*above, *lines[:kept], *below] for lines in (removed, added))
    opcodes = [
        ("equal", 0, len(above), 0, len(above)),
        ("replace", len(above), len(before) - len(below), len(above), len(after) - len(below)),
        ("equal", len(before) - len(below), len(before), len(after) - len(below), len(after)),
    ]
    groups = [opcodes] if is_rough else difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT)
    return Matched(tuple(_hunk(before, after, group, first) for group in groups), is_rough, left_out)


def common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Count the parts that both start with, and those that both end with."""
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    end = next((i for i in range(shorter - start) if old[-1 - i] != new[-1 - i]), shorter - start)
    return start, end


def _hunk(before: Sequence[str], after: Sequence[str], group: Opcodes, first: int) -> Hunk:
    _, old, _, new, _ = group[0]
    return Hunk(first + old, first + new, tuple(_marked(before, after, group)))


def _marked(before: Sequence[str], after: Sequence[str], opcodes: Opcodes) -> Iterator[tuple[Mark, str]]:
    for tag, old, old_end, new, new_end in opcodes:
        yield from ((" " if tag == "equal" else "-", line) for line in before[old:old_end])
        if tag != "equal":
            yield from (("+", line) for line in after[new:new_end])
