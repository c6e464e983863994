"""A change of a file as lines: from two texts, or from a unified diff that the agent wrote."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, cast

Mark = Literal["+", "-", " ", "@"]
CONTEXT = 3
MOST_LINES, MOST_CHARACTERS = 5_000, 400_000
"""Beyond these (together, without equal beginnings and ends) lines are not matched one by one: difflib is quadratic."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_HEADER = re.compile(
    r"(?:diff --git |Index: |={9,}$|index |--- |\+\+\+ |(?:new|deleted|create|old) file mode |similarity |rename )"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a change. `old` and `new` count from 1; mark @ starts a part and holds a remark."""

    mark: Mark
    text: str
    old: int | None = None
    new: int | None = None
    ends: bool = True
    """False: there is no line feed behind it."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a file."""

    lines: tuple[Line, ...]
    what: Literal["new file", "deleted", "changed"] = "changed"
    is_whole: bool = False
    """The numbers are those of the file; else they count within the text that the agent sent."""
    is_rough: bool = False
    """Too long to match line by line."""

    @property
    def added(self) -> int:
        """How many lines are new."""
        return sum(line.mark == "+" for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines are gone."""
        return sum(line.mark == "-" for line in self.lines)

    def same_edit(self, other: Change) -> bool:
        """Both add and remove the same lines, whatever stands around them."""
        return _edit(self) == _edit(other)


@lru_cache(maxsize=32)
def between(old: str | None, new: str) -> Change:
    """The change from `old` (None or empty: a new file) to `new`."""
    if not old:
        lines = tuple(_numbered("+", _split(new)))
        return Change((Line("@", ""), *lines) if lines else (), "new file", is_whole=True)
    open_end = "" if old.endswith("\n") or new.endswith("\n") or not new else "\n"
    before, after = _split(old + open_end), _split(new + open_end)
    start, end = _equal_ends(before, after)
    first, last_old, last_new = max(start - CONTEXT, 0), len(before) - end, len(after) - end
    rough = _is_too_long(before[start:last_old], after[start:last_new])
    shorter_old, shorter_new = before[first : last_old + CONTEXT], after[first : last_new + CONTEXT]
    groups = _replaced(shorter_old, shorter_new, start - first) if rough else _matched(shorter_old, shorter_new)
    return Change(tuple(line for group in groups for line in _part(before, after, first, group)), is_rough=rough)


def parse_unified(text: str) -> Change | None:
    """The change that a unified diff (plain or of git) describes, or None if it is no such text or of several files."""
    head, *rest = re.split(r"^(?=@@ )", text, flags=re.MULTILINE)
    if not rest or any(line and not _HEADER.match(line) for line in head.splitlines()):
        return None
    lines: list[Line] = []
    for part in rest:
        found = _HUNK.match(part)
        body = _hunk(found, part) if found else None
        if body is None:
            return None
        lines += body
    return Change(tuple(lines), _fate(head, rest[0].startswith("@@ -0,0 ")), is_whole=True)


def parts(lines: Iterable[Line]) -> Iterator[tuple[Line, list[Line]]]:
    """The parts of a change: each a line marked @ and what follows it."""
    header, part = None, list[Line]()
    for line in lines:
        if line.mark != "@":
            part.append(line)
            continue
        if header is not None:
            yield header, part
        header, part = line, []
    if header is not None:
        yield header, part


def unified(change: Change, path: str) -> str:
    """`change` as the text of a unified diff."""
    old = "/dev/null" if change.what == "new file" else path
    new = "/dev/null" if change.what == "deleted" else path
    return "\n".join((f"--- {old}", f"+++ {new}", *_unified_lines(change.lines)))


Group = Sequence[tuple[str, int, int, int, int]]


def _matched(before: list[str], after: list[str]) -> Iterable[Group]:
    return difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT)


def _replaced(before: list[str], after: list[str], start: int) -> Iterable[Group]:
    """All that lies between the equal beginning (`start` lines) and the equal end is another text."""
    end = _equal_ends(before[start:], after[start:])[1]
    old, new = len(before) - end, len(after) - end
    codes = [("equal", 0, start, 0, start), ("replace", start, old, start, new)]
    return [[*codes, ("equal", old, len(before), new, len(after))]]


def _part(before: list[str], after: list[str], first: int, group: Group) -> Iterator[Line]:
    yield Line("@", "", group[0][1] + first + 1, group[0][3] + first + 1)
    for tag, *places in group:
        a, b, c, d = (place + first for place in places)
        if tag == "equal":
            yield from _numbered(" ", before[a:b], a, c)
        else:
            yield from _numbered("-", before[a:b], a, c)
            yield from _numbered("+", after[c:d], a, c)


def _numbered(mark: Mark, lines: Iterable[str], old: int = 0, new: int = 0) -> Iterator[Line]:
    for offset, text in enumerate(lines, 1):
        yield Line(
            mark,
            text.removesuffix("\n"),
            old + offset if mark != "+" else None,
            new + offset if mark != "-" else None,
            text.endswith("\n"),
        )


def _split(text: str) -> list[str]:
    """Lines with their ends, cut at line feeds only, so that a carriage return stays to be seen."""
    *whole, rest = text.split("\n")
    return [*(line + "\n" for line in whole), *([rest] if rest else [])]


def _equal_ends(before: list[str], after: list[str]) -> tuple[int, int]:
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    return start, end


def _is_too_long(before: list[str], after: list[str]) -> bool:
    return len(before) + len(after) > MOST_LINES or sum(map(len, before)) + sum(map(len, after)) > MOST_CHARACTERS


def _hunk(found: re.Match[str], part: str) -> list[Line] | None:
    old, new = int(found[1][:12]), int(found[3][:12])
    lines = [Line("@", found[5].strip(), old, new)]
    for text in part.removesuffix("\n").split("\n")[1:]:
        mark = text[:1] or " "
        if mark == "\\":
            lines[-1] = replace(lines[-1], ends=False)
        elif mark in "+- ":
            lines.append(Line(cast(Mark, mark), text[1:], old if mark != "+" else None, new if mark != "-" else None))
            old, new = old + (mark != "+"), new + (mark != "-")
        else:
            return None
    return lines


def _fate(head: str, begins_at_nothing: bool) -> Literal["new file", "deleted", "changed"]:
    if re.search(r"^(?:--- (?:a/)?/?dev/null|(?:new|create) file mode)", head, re.MULTILINE) or begins_at_nothing:
        return "new file"
    if re.search(r"^(?:\+\+\+ (?:b/)?/?dev/null|deleted file mode)", head, re.MULTILINE):
        return "deleted"
    return "changed"


def with_return(text: str) -> str:
    """A carriage return at the end of a line, made visible."""
    return f"{text[:-1]}⟨CR⟩" if text.endswith("\r") else text


def _unified_lines(lines: tuple[Line, ...]) -> Iterator[str]:
    for header, part in parts(lines):
        yield _hunk_header(header, part)
        for line in part:
            yield line.mark + with_return(line.text)
            if not line.ends:
                yield "\\ No newline at end of file"


def _hunk_header(header: Line, part: list[Line]) -> str:
    old = [line.old for line in part if line.old is not None]
    new = [line.new for line in part if line.new is not None]
    return f"@@ -{_range(old, header.old)} +{_range(new, header.new)} @@ {header.text}".rstrip()


def _range(numbers: list[int], first: int | None) -> str:
    start = numbers[0] if numbers else max((first or 1) - 1, 0)
    return str(start) if len(numbers) == 1 else f"{start},{len(numbers)}"


def _edit(change: Change) -> list[tuple[str, str]]:
    return [(line.mark, line.text) for line in change.lines if line.mark in "+-"]
