"""A change of a file or cell, drawn as HTML or as the text of a unified diff.

A permission request and a finished tool call show the same: a unified diff whose first changes are in view, and the
rest under a fold that says how much it is. Numbers and marks are `inert`, so browsers neither select nor copy them;
JupyterLab's sanitiser keeps that in a saved notebook that is opened untrusted, but drops `user-select`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from ..conversation.line_diff import MAX_SHOWN_LINES, Change, DiffLine
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
from .plain import visible_line, visible_text

Runs = Sequence[tuple[str, str]]
"""Colour, perhaps none, and text."""

_IN_VIEW, _FEW = 12, 4
"""Changed lines that are shown unfolded, and how many more are not worth a fold."""
MAX_COLOURED_CHARS, MAX_COLOURED_LINES = 6_000, 500
"""A longer change has no syntax colours: they would be most of a notebook."""
_MAX_COMPARED_CHARS = 500
"""Limit of a line whose changed words are marked."""
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


def unified(change: Change, path: str) -> str:
    """`change` as the text of a unified diff; where the line numbers are not known, its hunks are headed `@@ … @@`."""
    old = "/dev/null" if change.what.startswith("new") else path
    new = "/dev/null" if change.what == "deleted" else path
    return "\n".join((f"--- {old}", f"+++ {new}", *_unified_lines(change)))


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
    link = file_link(path, cwd)
    head = named_change(change, path, cwd) if not is_named else f"<div>{link}</div>" if link.startswith("<a ") else ""
    body = change_html(replace(change, lines=change.lines[:MAX_SHOWN_LINES]), path, gaps=False)
    return lines((head, body, muted(f"… {left_out} lines not shown …") if left_out else ""))


def named_change(change: Change, path: str, cwd: str) -> str:
    """The line above a change: its path, see `file_link`, and how much changes."""
    return f'<div><span style="font-weight:bold">{file_link(path, cwd)}</span> {remarks(change)}</div>'


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
        cut = _cut(runs, start, end)
        parts = ["".join(in_colour(colour, exposed(each, gaps=gaps)) for colour, each in part) for part in cut]
    if parts[1]:
        parts[1] = f'<span style="background-color:{darker}">{parts[1]}</span>'
    end_remark = "" if line.ends else f"{_INERT} (no newline at end of file)</span>"
    return f'<{tag} style="display:block{style}">{_INERT}{margin}</span>{"".join(parts)}{end_remark}\n</{tag}>'


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
