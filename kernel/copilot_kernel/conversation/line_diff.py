"""Differences of two texts, line by line: computed, or read from an agent's unified diff."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, cast

from .excerpt import Excerpt
from .matching import Mark, match
from .text import split_lines

MAX_SHOWN_LINES = 2_000
"""Limit of a tool call; a permission request shows all."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_HEADER = re.compile(
    r"(?:diff --git |Index: |={9,}$|index |--- |\+\+\+ |(?:new|deleted|create|old) file mode |similarity |rename )"
)


class DiffLine(NamedTuple):
    """One line of a change. `old` and `new` count from 1; mark @ starts a hunk and holds its heading.

    `ends`: a newline follows.
    """

    mark: Mark
    text: str
    old: int | None = None
    new: int | None = None
    ends: bool = True


@dataclass(frozen=True)
class Change:
    """Change of one file or cell.

    `is_numbered`: the line numbers are those of the file; else they only count, and are not shown. `is_rough`: it was
    too long to match line by line. `left_out`: how many added
    and removed lines are not among `lines`.
    """

    lines: tuple[DiffLine, ...]
    what: Literal["new file", "new cell", "deleted", "changed"] = "changed"
    is_numbered: bool = True
    is_rough: bool = False
    left_out: tuple[int, int] = (0, 0)

    def count(self, mark: Literal["+", "-"]) -> int:
        """Number of lines with that mark."""
        return sum(line.mark == mark for line in self.lines) + self.left_out["+-".index(mark)]

    def same_edit(self, other: Change) -> bool:
        """Both add and remove the same lines, whatever the context."""
        ours, theirs = (
            [(line.mark, line.text) for line in change.lines if line.mark in "+-"] for change in (self, other)
        )
        return ours == theirs and self.left_out == other.left_out


@lru_cache(maxsize=32)
def between(old: str | None, new: str, excerpt: Excerpt | None = None, most: int = sys.maxsize) -> Change:
    """The change from `old` (None or empty: a new file) to `new`; `excerpt`: where in the file they are.

    Of a new file, or one that is too long to match line by line, `most` of the changed lines are kept.
    """
    return compared(old, new, excerpt, most)


def compared(old: str | None, new: str, excerpt: Excerpt | None = None, most: int = sys.maxsize) -> Change:
    """Uncached `between`, for long texts."""
    if not old:
        added = split_lines(new)
        hunk = _hunk((("+", line) for line in added[:most]), 1, 1) if new else ()
        return Change(tuple(hunk), "new file", left_out=(max(len(added) - most, 0), 0))
    if excerpt is not None:
        old, new = (f"{excerpt.before}{text}{excerpt.after}" for text in (old, new))
    open_end = "" if excerpt or old.endswith("\n") or new.endswith("\n") or not new else "\n"
    matched = match(old + open_end, new + open_end, most)
    number = excerpt.line if excerpt else 1
    changed = [line for hunk in matched.hunks for line in _hunk(hunk.lines, number + hunk.old, number + hunk.new)]
    is_numbered = excerpt is not None or not changed
    return Change(tuple(changed), is_numbered=is_numbered, is_rough=matched.is_rough, left_out=matched.left_out)


def counted(old: str | None, new: str) -> Change:
    """The change from `old` to `new` without its lines: how many were added and removed, wherever they stand."""
    before, after = (Counter(split_lines(text)) for text in (old or "", new))
    left_out = (after - before).total(), (before - after).total()
    return Change((), "changed" if old else "new file", is_numbered=False, is_rough=bool(old), left_out=left_out)


def between_cells(old: str | None, new: str) -> Change:
    """The change of a whole cell, which ends without a newline, from `old` (None or empty: a new cell) to `new`."""
    change = between(old, new)
    what = "new cell" if change.what == "new file" else change.what
    return Change(tuple(line._replace(ends=True) for line in change.lines), what, is_rough=change.is_rough)


def parse_unified(text: str) -> Change | None:
    """The change in a unified diff (plain or of git); None if `text` is not one, or is about several files."""
    head, *hunks = re.split(r"^(?=@@ )", text.strip("\n"), flags=re.MULTILINE)
    if not hunks or any(line and not _HEADER.match(line) for line in head.splitlines()):
        return None
    parsed: list[DiffLine] = []
    for hunk in hunks:
        found = _parse_hunk(hunk)
        if found is None:
            return None
        parsed += found
    return Change(tuple(parsed), _fate(head, hunks[0].startswith("@@ -0,0 ")))


def _hunk(marked: Iterable[tuple[Mark, str]], old: int, new: int, heading: str = "") -> Iterator[DiffLine]:
    """Lines (with their ends) and their marks, numbered from `old` and `new` on."""
    yield DiffLine("@", heading, old, new)
    for mark, text in marked:
        is_old, is_new = mark != "+", mark != "-"
        yield DiffLine(
            mark, text.removesuffix("\n"), old if is_old else None, new if is_new else None, text.endswith("\n")
        )
        old, new = old + is_old, new + is_new


def _parse_hunk(hunk: str) -> list[DiffLine] | None:
    found = _HUNK.match(hunk)
    if found is None:
        return None
    marked: list[tuple[Mark, str]] = []
    for text in hunk.removesuffix("\n").split("\n")[1:]:
        mark = text[:1] or " "
        if mark == "\\" and marked:
            marked[-1] = marked[-1][0], marked[-1][1].removesuffix("\n")
        elif mark in "+- ":
            marked.append((cast(Mark, mark), f"{text[1:]}\n"))
        else:
            return None
    return list(_hunk(marked, int(found[1][:12]), int(found[3][:12]), found[5].strip()))


def _fate(head: str, starts_empty: bool) -> Literal["new file", "deleted", "changed"]:
    if re.search(r"^(?:--- (?:a/)?/?dev/null|(?:new|create) file mode)", head, re.MULTILINE) or starts_empty:
        return "new file"
    if re.search(r"^(?:\+\+\+ (?:b/)?/?dev/null|deleted file mode)", head, re.MULTILINE):
        return "deleted"
    return "changed"
