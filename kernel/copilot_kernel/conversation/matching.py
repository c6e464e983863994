"""Matching lines of two texts: difflib's answer between the lines that both start and end with.

Texts of megabytes are compared as strings first, and only what is to be shown is split into lines.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from typing import Literal, NamedTuple

from .excerpt import CONTEXT, lines_above
from .text import split_lines

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
    start, end = _common_ends(old, new)
    differing = [text[start : len(text) - end] for text in (old, new)]
    sizes = [text.count("\n") + (text[-1:] not in ("", "\n")) for text in differing]
    is_rough = sum(sizes) > MAX_LINES or sum(map(len, differing)) > MAX_CHARS
    removed, added = (_first_lines(text, most // 2 if is_rough else sys.maxsize) for text in differing)
    left_out = sizes[1] - len(added), sizes[0] - len(removed)
    above, below = split_lines(old[lines_above(old, start) : start]), _first_lines(old[len(old) - end :], CONTEXT)
    before, after = ([*above, *part, *(() if any(left_out) else below)] for part in (removed, added))
    groups: Iterable[Opcodes]
    if is_rough:
        ends = len(above) + len(removed), len(above) + len(added)
        groups = [
            [
                ("equal", 0, len(above), 0, len(above)),
                ("replace", len(above), ends[0], len(above), ends[1]),
                ("equal", ends[0], len(before), ends[1], len(after)),
            ]
        ]
    else:
        groups = difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT)
    first = old.count("\n", 0, start) - len(above)
    return Matched(tuple(_hunk(before, after, group, first) for group in groups), is_rough, left_out)


def _hunk(before: Sequence[str], after: Sequence[str], group: Opcodes, first: int) -> Hunk:
    _, old, _, new, _ = group[0]
    return Hunk(first + old, first + new, tuple(_marked(before, after, group)))


def _marked(before: Sequence[str], after: Sequence[str], opcodes: Opcodes) -> Iterator[tuple[Mark, str]]:
    for tag, old, old_end, new, new_end in opcodes:
        yield from ((" " if tag == "equal" else "-", line) for line in before[old:old_end])
        if tag != "equal":
            yield from (("+", line) for line in after[new:new_end])


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """Characters of the lines that both start with, and of those that both end with."""
    most = min(len(old), len(new))
    start = old.rfind("\n", 0, _largest(most, lambda known, n: old[known:n] == new[known:n])) + 1
    olds, news = len(old), len(new)
    end = _largest(most - start, lambda known, n: old[olds - n : olds - known] == new[news - n : news - known])
    if not all(len(text) - end == start or text[len(text) - end - 1] == "\n" for text in (old, new)):
        line_end = old.find("\n", olds - end) + 1  # of a line of which only the end is the same
        end = olds - line_end if line_end else 0
    return start, end


def _largest(most: int, is_same: Callable[[int, int], bool]) -> int:
    """The largest number up to `most` such that what lies between 0 and it is the same."""
    known = 0
    while known < most:
        middle = (known + most + 1) // 2
        if is_same(known, middle):
            known = middle
        else:
            most = middle - 1
    return known


def _first_lines(text: str, count: int) -> list[str]:
    return [*islice(StringIO(text, newline="\n"), count)]
