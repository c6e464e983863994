"""A change of a file or cell: computed from two texts or read from an agent's unified diff, drawn as HTML or text.

Two HTML forms: `diff_html` for a tool call (unified, folded when long), and `change_box` for a permission request
(every line, old and new side by side). In the latter, removed and added lines are two boxes in a row that wraps: where
it does, the change reads as a unified diff. That needs no style sheet, so it survives in untrusted saved notebooks.
The buttons of an open question (`copilot_widgets`) bring one that keeps the lines level.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal, cast

from .markup import ADDED, FONT, GREY, REMOVED, TINT, exposed, fold, lines, muted, named, pre
from .plain import split_lines, visible_line, visible_text

Mark = Literal["+", "-", " ", "@"]
Opcodes = Sequence[tuple[str, int, int, int, int]]  # of difflib

CONTEXT = 3
MAX_LINES, MAX_CHARS = 5_000, 400_000
"""Beyond these (both texts, without common start and end) lines are not matched one by one: difflib is quadratic."""
FOLD_LINES = 40
_BOX_CHANGES, _FEW = 12, 4
"""Changed lines that a question shows unfolded, and how many more are not worth a fold."""
MAX_SHOWN_LINES = 5_000
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_HEADER = re.compile(
    r"(?:diff --git |Index: |={9,}$|index |--- |\+\+\+ |(?:new|deleted|create|old) file mode |similarity |rename )"
)
_EXCERPT = "Line numbers start at the text that the agent sent, which may be only part of the file."
_ROUGH = "Too long to compare line by line: everything between the common start and the common end is replaced."
_BACKGROUND = {"+": f"background-color:{ADDED}", "-": f"background-color:{REMOVED}"}
_BOX = (
    f"margin:4px 0;padding:6px 0;background-color:{TINT};border-radius:4px;"
    f"white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal;line-height:1.4;font-size:13px;{FONT}"
)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a change. `old` and `new` count from 1; mark @ starts a hunk and holds its heading.

    `ends`: a newline follows.
    """

    mark: Mark
    text: str
    old: int | None = None
    new: int | None = None
    ends: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one file or cell.

    `is_excerpt`: line numbers start at the text that the agent sent, which may be only part of the file. `is_rough`: it
    was too long to match line by line.
    """

    lines: tuple[DiffLine, ...]
    what: Literal["new file", "new cell", "deleted", "changed"] = "changed"
    is_excerpt: bool = False
    is_rough: bool = False

    def count(self, mark: Mark) -> int:
        """Number of lines with that mark."""
        return sum(line.mark == mark for line in self.lines)

    def same_edit(self, other: Change) -> bool:
        """Both add and remove the same lines, whatever the context."""
        ours, theirs = (
            [(line.mark, line.text) for line in change.lines if line.mark in "+-"] for change in (self, other)
        )
        return ours == theirs


# -- reading and computing ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def between(old: str | None, new: str) -> Change:
    """The change from `old` (None or empty: a new file) to `new`."""
    if not old:
        added = tuple(_hunk((("+", line) for line in split_lines(new)), 1, 1)) if new else ()
        return Change(added, "new file")
    open_end = "" if old.endswith("\n") or new.endswith("\n") or not new else "\n"
    before, after = split_lines(old + open_end), split_lines(new + open_end)
    start, end = _common_ends(before, after)
    differing = [*before[start : len(before) - end], *after[start : len(after) - end]]
    is_rough = len(differing) > MAX_LINES or sum(map(len, differing)) > MAX_CHARS
    first, tail = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    before, after = before[first : len(before) - tail], after[first : len(after) - tail]
    groups: Iterable[Opcodes]
    if is_rough:
        groups = [_replaced(before, after, start - first, end - tail)]
    else:
        groups = difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT)
    changed: list[DiffLine] = []
    for group in groups:
        _, old_start, _, new_start, _ = group[0]
        changed += _hunk(_marked(before, after, group), first + old_start + 1, first + new_start + 1)
    return Change(tuple(changed), is_excerpt=bool(changed), is_rough=is_rough)


def between_cells(old: str | None, new: str) -> Change:
    """The change of a whole cell, which ends without a newline, from `old` (None or empty: a new cell) to `new`."""
    change = between(old, new)
    what = "new cell" if change.what == "new file" else change.what
    return Change(tuple(replace(line, ends=True) for line in change.lines), what, is_rough=change.is_rough)


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
    """`change` as the text of a unified diff."""
    old = "/dev/null" if change.what.startswith("new") else path
    new = "/dev/null" if change.what == "deleted" else path
    return "\n".join((f"--- {old}", f"+++ {new}", *_unified_lines(change.lines)))


def _replaced(before: list[str], after: list[str], start: int, end: int) -> Opcodes:
    """Everything between the first `start` and the last `end` lines is replaced."""
    old, new = len(before) - end, len(after) - end
    return [
        ("equal", 0, start, 0, start),
        ("replace", start, old, start, new),
        ("equal", old, len(before), new, len(after)),
    ]


def _marked(before: list[str], after: list[str], opcodes: Opcodes) -> Iterator[tuple[Mark, str]]:
    for tag, old, old_end, new, new_end in opcodes:
        yield from ((" " if tag == "equal" else "-", line) for line in before[old:old_end])
        if tag != "equal":
            yield from (("+", line) for line in after[new:new_end])


def _hunk(marked: Iterable[tuple[Mark, str]], old: int, new: int, heading: str = "") -> Iterator[DiffLine]:
    """Lines (with their ends) and their marks, numbered from `old` and `new` on."""
    yield DiffLine("@", heading, old, new)
    for mark, text in marked:
        is_old, is_new = mark != "+", mark != "-"
        yield DiffLine(
            mark, text.removesuffix("\n"), old if is_old else None, new if is_new else None, text.endswith("\n")
        )
        old, new = old + is_old, new + is_new


def _common_ends(before: list[str], after: list[str]) -> tuple[int, int]:
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    return start, end


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


def _unified_lines(changed: Sequence[DiffLine]) -> Iterator[str]:
    starts = [index for index, line in enumerate(changed) if line.mark == "@"]
    for start, end in pairwise((*starts, len(changed))):
        header, hunk = changed[start], changed[start + 1 : end]
        old = _range([line.old for line in hunk if line.old is not None], header.old)
        new = _range([line.new for line in hunk if line.new is not None], header.new)
        yield f"@@ -{old} +{new} @@ {header.text}".rstrip()
        for line in hunk:
            yield line.mark + _with_return(line.text)
            if not line.ends:
                yield "\\ No newline at end of file"


def _range(numbers: list[int], first: int | None) -> str:
    start = numbers[0] if numbers else max((first or 1) - 1, 0)
    return str(start) if len(numbers) == 1 else f"{start},{len(numbers)}"


# -- drawing -----------------------------------------------------------------------------------------------------------


def diff_html(change: Change, path: str, is_named: bool = False) -> str:
    """The change of a tool call, folded when long. `is_named`: path and remarks stand above it already."""
    body = _change_html(change)
    summary = muted("change") if is_named else f"{named(path, 'font-weight:bold')} {remarks(change)}"
    if len(change.lines) > FOLD_LINES:
        return fold(summary, body)
    return body if is_named else f"<div>{summary}</div>{body}"


def diff_text(change: Change, path: str) -> str:
    """The whole change as a unified diff, after a line that says what it is."""
    if not change.lines:
        return f"{visible_line(path)}: {amount(change)}"
    remark = (
        f"({change.what}, {amount(change)})" if change.what != "changed" else "",
        "(line numbers of the excerpt)" if change.is_excerpt else "",
        "(not compared line by line)" if change.is_rough else "",
    )
    return lines((*remark, visible_text(unified(change, visible_text(path)), gaps=False)))


def remarks(change: Change, *, is_named: bool = False) -> str:
    """How much changes and what the numbers mean, as HTML. `is_named`: new and deleted files are called so already."""
    what = "" if is_named or change.what == "changed" else change.what
    numbers = muted("line numbers of the excerpt", _EXCERPT) if change.is_excerpt else ""
    rough = muted("not compared line by line", _ROUGH) if change.is_rough else ""
    return " ".join(filter(None, (muted(amount(change)), muted(what), numbers, rough)))


def amount(change: Change) -> str:
    """`+2 −1`; `no difference` if nothing changes."""
    if not change.lines:
        return "empty" if change.what.startswith("new") else "no difference"
    counts = (("+", change.count("+")), ("−", change.count("-")))
    return " ".join(f"{sign}{count}" for sign, count in counts if count)


def _change_html(change: Change) -> str:
    if not change.lines:
        return ""
    width, left_out = _number_width(change), len(change.lines) - MAX_SHOWN_LINES
    body = "".join(_line_html(line, width) for line in change.lines[1 : MAX_SHOWN_LINES + 1])
    return pre(body + muted(f"… {left_out} lines not shown …") if left_out > 0 else body, "line-height:1.35")


def change_box(change: Change) -> str:
    """The change of a permission request. What is long is folded, and the fold says how much it is."""
    if not change.lines:
        return ""
    width, shown = _number_width(change), change.lines if change.lines[0].text else change.lines[1:]
    end = len(change.lines) - folded_lines(change) - (len(change.lines) - len(shown))
    box = f'<pre style="{_BOX}">{"".join(_rows(shown[:end], change.what, width))}</pre>'
    rest = shown[end:]
    if not rest:
        return box
    count = sum(line.mark in "+-" for line in rest)
    return box + fold(
        muted(f"{count} more changed lines"), f'<pre style="{_BOX}">{"".join(_rows(rest, change.what, width))}</pre>'
    )


def folded_lines(change: Change) -> int:
    """How many lines `change_box` folds: all behind the first changes, but never only context."""
    marks = [index for index, line in enumerate(change.lines) if line.mark in "+-"]
    return len(change.lines) - marks[_BOX_CHANGES - 1] - 1 if len(marks) > _BOX_CHANGES + _FEW else 0


def _rows(shown: Sequence[DiffLine], what: str, width: int) -> Iterator[str]:
    """A file that is new or deleted has only one side."""
    for is_pair, group in groupby(shown, key=lambda line: line.mark in "+-" and what == "changed"):
        if is_pair:
            yield from (_pair(block, width) for block in _blocks(group))
        else:
            yield from (_line_html(line, width, in_box=True) for line in group)


def _blocks(changed: Iterable[DiffLine]) -> Iterator[list[DiffLine]]:
    block: list[DiffLine] = []
    for line in changed:
        if line.mark == "-" and block and block[-1].mark == "+":
            yield block
            block = []
        block.append(line)
    yield block


def _pair(block: list[DiffLine], width: int) -> str:
    sides = ""
    for mark, name in (("-", "old"), ("+", "new")):
        body = "".join(_line_html(line, width, in_box=True) for line in block if line.mark == mark)
        sides += f'<span class="cq-side cq-{name}" style="display:block;flex:1 1 400px;min-width:0">{body}</span>'
    return f'<span class="cq-row" style="display:flex;flex-wrap:wrap">{sides}</span>'


def _line_html(line: DiffLine, width: int, *, in_box: bool = False) -> str:
    """One line with its numbers; `in_box` also makes long gaps of empty lines visible."""
    padding = "padding:0 10px;" if in_box else ""
    style = f"display:block;{padding}{_BACKGROUND.get(line.mark, '')}".rstrip(";")
    text = exposed(_with_return(line.text), gaps=in_box)
    if line.mark == "@":
        return f'<span style="{style};color:{GREY}">{"⋯" if in_box else "⋯".rjust(width)} {text}\n</span>'
    old, new = (("" if number is None else str(number)).rjust(width) for number in (line.old, line.new))
    grey = f'style="color:{GREY}"'
    numbers = f"<span {grey}>{old} {new}</span>"
    if in_box:
        numbers = f'<span class="cq-number-old" {grey}>{old}</span> <span class="cq-number-new" {grey}>{new}</span>'
    end = "" if line.ends else f" <span {grey}>(no newline at end of file)</span>"
    return f'<span style="{style}">{numbers} {line.mark} {text}{end}\n</span>'


def _number_width(change: Change) -> int:
    return len(str(max(max(line.old or 0, line.new or 0) for line in change.lines)))


def _with_return(text: str) -> str:
    return f"{text[:-1]}⟨CR⟩" if text.endswith("\r") else text
