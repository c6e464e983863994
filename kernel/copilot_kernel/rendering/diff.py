"""A change of a file or cell: computed from two texts or read from an agent's unified diff, drawn as HTML or text.

A permission request and a finished tool call show the same: a unified diff whose first changes are in view, and the
rest under a fold that says how much it is. Numbers and marks are `inert`, so browsers neither select nor copy them;
JupyterLab's sanitiser keeps that in a saved notebook that is opened untrusted, but drops `user-select`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby, pairwise
from typing import Literal, NamedTuple, cast

from ..conversation.excerpt import Excerpt
from .highlight import coloured_lines, in_colour, language_of
from .markup import (
    ADDED,
    ADDED_WORDS,
    REMOVED,
    REMOVED_WORDS,
    exposed,
    file_link,
    fold,
    lines,
    muted,
    pre,
)
from .matching import Mark, match
from .plain import split_lines, visible_line, visible_text

Runs = Sequence[tuple[str, str]]
"""Colour, perhaps none, and text."""

_IN_VIEW, _FEW = 12, 4
"""Changed lines that are shown unfolded, and how many more are not worth a fold."""
MAX_SHOWN_LINES = 2_000
"""Limit of a tool call; a permission request shows all."""
MAX_COLOURED_CHARS, MAX_COLOURED_LINES = 6_000, 500
"""A longer change has no syntax colours: they would be most of a notebook."""
_MAX_COMPARED_CHARS = 500
"""Limit of a line whose changed words are marked."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_HEADER = re.compile(
    r"(?:diff --git |Index: |={9,}$|index |--- |\+\+\+ |(?:new|deleted|create|old) file mode |similarity |rename )"
)
# Emoji and letters with joiners stay whole.
_WORD = re.compile(r"(?:\w|[^\x00-\x7f])+|.")
_ROUGH = "Too long to compare line by line: everything between the common start and the common end is replaced."
# Tag, background of the line, background of its changed words.
_LOOKS = {
    "+": ("ins", f";text-decoration:none;background-color:{ADDED}", ADDED_WORDS),
    "-": ("del", f";text-decoration:none;background-color:{REMOVED}", REMOVED_WORDS),
}
_INERT = '<span inert style="opacity:0.7">'
_LINES = "line-height:1.4;font-size:13px;overflow-wrap:anywhere;word-break:normal"


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

    @cached_property
    def _counts(self) -> Counter[str]:
        added, removed = self.left_out
        return Counter(line.mark for line in self.lines) + Counter({"+": added, "-": removed})

    def count(self, mark: Mark) -> int:
        """Number of lines with that mark."""
        return self._counts[mark]

    def same_edit(self, other: Change) -> bool:
        """Both add and remove the same lines, whatever the context."""
        ours, theirs = (
            [(line.mark, line.text) for line in change.lines if line.mark in "+-"] for change in (self, other)
        )
        return ours == theirs and self.left_out == other.left_out


# -- reading and computing --------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def between(old: str | None, new: str, excerpt: Excerpt | None = None, most: int = sys.maxsize) -> Change:
    """The change from `old` (None or empty: a new file) to `new`; `excerpt`: where in the file they are.

    Of a new file, or one that is too long to match line by line, `most` of the changed lines are kept.
    """
    return compared(old, new, excerpt, most)


def compared(old: str | None, new: str, excerpt: Excerpt | None = None, most: int = sys.maxsize) -> Change:
    """`between`, for texts that are too long to be remembered."""
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


def unified(change: Change, path: str) -> str:
    """`change` as the text of a unified diff; where the line numbers are not known, its hunks are headed `@@ … @@`."""
    old = "/dev/null" if change.what.startswith("new") else path
    new = "/dev/null" if change.what == "deleted" else path
    return "\n".join((f"--- {old}", f"+++ {new}", *_unified_lines(change)))


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


def _unified_lines(change: Change) -> Iterator[str]:
    changed = change.lines
    starts = [index for index, line in enumerate(changed) if line.mark == "@"]
    for start, end in pairwise((*starts, len(changed))):
        header, hunk = changed[start], changed[start + 1 : end]
        old = _range([line.old for line in hunk if line.old is not None], header.old)
        new = _range([line.new for line in hunk if line.new is not None], header.new)
        place = f"-{old} +{new}" if change.is_numbered else "…"
        yield f"@@ {place} @@ {header.text}".rstrip()
        for line in hunk:
            yield line.mark + _with_return(line.text)
            if not line.ends:
                yield "\\ No newline at end of file"


def _range(numbers: list[int], first: int | None) -> str:
    start = numbers[0] if numbers else max((first or 1) - 1, 0)
    return str(start) if len(numbers) == 1 else f"{start},{len(numbers)}"


# -- drawing ----------------------------------------------------------------------------------------------------------


def diff_html(change: Change, path: str, is_named: bool = False, cwd: str = "") -> str:
    """The change of a tool call. `is_named`: path and remarks stand above it already, in a summary, which must not
    hold a link. See `file_link` for `cwd`.
    """
    left_out = max(len(change.lines) - MAX_SHOWN_LINES, 0) + sum(change.left_out)
    head = _only_link(path, cwd) if is_named else named_change(change, path, cwd)
    body = change_html(replace(change, lines=change.lines[:MAX_SHOWN_LINES]), path, gaps=False)
    return lines((head, body, muted(f"… {left_out} lines not shown …") if left_out else ""))


def named_change(change: Change, path: str, cwd: str) -> str:
    """The line above a change: its path, see `file_link`, and how much changes."""
    return f'<div><span style="font-weight:bold">{file_link(path, cwd)}</span> {remarks(change)}</div>'


def _only_link(path: str, cwd: str) -> str:
    link = file_link(path, cwd)
    return f"<div>{link}</div>" if link.startswith("<a ") else ""


def diff_text(change: Change, path: str) -> str:
    """The change as a unified diff, after a line that says what it is."""
    if not change.lines:
        return f"{visible_line(path)}: {amount(change)}"
    remark = (
        f"({change.what}, {amount(change)})" if change.what != "changed" else "",
        "(not compared line by line)" if change.is_rough else "",
    )
    count = sum(change.left_out)
    left_out = f"… {count} lines not shown …" if count else ""
    return lines((*remark, visible_text(unified(change, visible_text(path)), gaps=False), left_out))


def remarks(change: Change, *, is_named: bool = False) -> str:
    """Say how much changes, as HTML. `is_named`: new and deleted files are called so already."""
    what = "" if is_named or change.what == "changed" else change.what
    rough = muted("not compared line by line", _ROUGH) if change.is_rough else ""
    return " ".join(filter(None, (muted(amount(change)), muted(what), rough)))


def amount(change: Change) -> str:
    """`+2 −1`; `no difference` if nothing changes."""
    if not change.lines and not any(change.left_out):
        return "empty" if change.what.startswith("new") else "no difference"
    counts = (("+", change.count("+")), ("−", change.count("-")))
    return " ".join(f"{sign}{count}" for sign, count in counts if count)


def change_html(change: Change, path: str = "", *, gaps: bool = True) -> str:
    """All lines of the change, the first changes in view. `path` says what language it is in; `gaps`: see
    `plain.visible`.
    """
    rows = [*_rows(change, path, gaps=gaps)]
    end = len(rows) - folded_lines(change)
    shown, rest = ("".join(part) for part in (rows[:end], rows[end:]))
    box = pre(shown, _LINES)
    if not rest:
        return box
    count = sum(line.mark in "+-" for line in change.lines[end:])
    return box + fold(muted(f"{count} more changed lines"), pre(rest, _LINES))


def folded_lines(change: Change) -> int:
    """Count the lines that `change_html` folds: all behind the first changes, but never only context."""
    marks = [index for index, line in enumerate(change.lines) if line.mark in "+-"]
    return len(change.lines) - marks[_IN_VIEW - 1] - 1 if len(marks) > _IN_VIEW + _FEW else 0


def _rows(change: Change, path: str, *, gaps: bool) -> Iterator[str]:
    """The HTML of each line; the heading of the first hunk is empty unless it says something."""
    width = len(str(max((max(line.old or 0, line.new or 0) for line in change.lines), default=0)))
    words, runs = _changed_words(change.lines), _coloured(change.lines, language_of(path))
    for index, line in enumerate(change.lines):
        if line.mark != "@":
            number = f"{line.old if line.mark == '-' else line.new} ".rjust(width + 1) if change.is_numbered else ""
            yield _row(line, f"{number}{line.mark} ", runs.get(index), words.get(index), gaps=gaps)
        elif index or line.text:
            yield f'<span inert style="display:block;opacity:0.7">⋯ {exposed(line.text, gaps=gaps)}\n</span>'
        else:
            yield ""


def _row(line: DiffLine, margin: str, runs: Runs | None, words: tuple[int, int] | None, *, gaps: bool) -> str:
    """One line after its `margin`, in `runs` of one colour; `words` says where the changed ones begin and end."""
    tag, style, darker = _LOOKS.get(line.mark, ("span", "", ""))
    text, (start, end) = _with_return(line.text), words or (0, 0)
    if runs is None:
        parts = [exposed(part, gaps=gaps) for part in (text[:start], text[start:end], text[end:])]
    else:
        parts = [_coloured_html(part, gaps=gaps) for part in _cut(runs, start, end)]
    if parts[1]:
        parts[1] = f'<span style="background-color:{darker}">{parts[1]}</span>'
    end_remark = "" if line.ends else f"{_INERT} (no newline at end of file)</span>"
    return f'<{tag} style="display:block{style}">{_INERT}{margin}</span>{"".join(parts)}{end_remark}\n</{tag}>'


def _coloured_html(runs: Runs, *, gaps: bool) -> str:
    return "".join(in_colour(colour, exposed(text, gaps=gaps)) for colour, text in runs)


def _cut(runs: Runs, start: int, end: int) -> Iterator[Runs]:
    """Split a text into what is before `start`, from there to `end`, and after it."""
    at, placed = 0, []
    for colour, text in runs:
        placed.append((at, colour, text))
        at += len(text)
    for first, last in ((0, start), (start, end), (end, at)):
        cut = [(colour, text[max(first - place, 0) : max(last - place, 0)]) for place, colour, text in placed]
        yield [(colour, text) for colour, text in cut if text]


def _coloured(shown: Sequence[DiffLine], language: str) -> dict[int, Runs]:
    """The runs of lines by index; none without a language, or of a change that is too long."""
    size = sum(len(line.text) + 1 for line in shown)
    if not language or size > MAX_COLOURED_CHARS or len(shown) > MAX_COLOURED_LINES:
        return {}
    found: dict[int, Runs] = {}
    for is_hunk, group in groupby(enumerate(shown), key=lambda each: each[1].mark != "@"):
        hunk = [*group] if is_hunk else []
        for marks in (" -", " +"):  # before and after; what stays looks as it does after
            side = [(index, line.text) for index, line in hunk if line.mark in marks]
            runs = coloured_lines("".join(f"{text}\n" for _, text in side), language)
            found |= {index: run for (index, text), run in zip(side, runs, strict=False) if not text.endswith("\r")}
    return found


def _changed_words(shown: Sequence[DiffLine]) -> dict[int, tuple[int, int]]:
    """Return where changed words begin and end, by index of the line, in lines that replace similar ones."""
    runs = [(mark, [*run]) for mark, run in groupby(range(len(shown)), key=lambda index: shown[index].mark)]
    found: dict[int, tuple[int, int]] = {}
    for (mark, removed), (next_mark, added) in pairwise(runs):
        for pair in zip(removed, added, strict=False) if (mark, next_mark) == ("-", "+") else ():
            found |= zip(pair, _differing(*(shown[index].text for index in pair)), strict=False)
    return found


def _differing(old: str, new: str) -> Sequence[tuple[int, int]]:
    """Return where two lines differ, by changed words; nothing if less than half stays the same."""
    if max(len(old), len(new)) > _MAX_COMPARED_CHARS:
        return ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    start, end = _common_ends(before, after)
    head, tail = "".join(before[:start]), "".join(before[len(before) - end :])
    kept = len("".join((head + tail).split()))
    if 2 * kept < max(len("".join(line.split())) for line in (old, new)):
        return ()
    return [(len(head), len(line) - len(tail)) for line in (old, new)]


def _common_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Count the words that both start with, and those that they end with."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    return start, end


def _with_return(text: str) -> str:
    return f"{text[:-1]}⟨CR⟩" if text.endswith("\r") else text
