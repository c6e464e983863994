"""The source of a cell as a model repeats it: its hash, whether it means the same, and edits of all or of parts of it.

Models repeat a source with other line ends and spaces, or without the spaces at the ends of lines. It still means the
cell, and what an edit does not touch keeps the cell's own characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import accumulate, chain, islice, pairwise, takewhile

from .live import NotebookError

MAX_COMPARED_SOURCE_CHARS = 20_000
"""Limit of both sources together up to which their words are compared; above it, their lines are."""
NEAREST_CHARS = 300
"""Limit of the text that is shown where a piece was not found."""
NOT_FOUND = "`edits[{}].old` was not found, and nothing was done. The nearest text is in line {}: {!r}"
NOT_UNIQUE = "`edits[{}].old` occurs more than once, at least in lines {} and {}. Add text around it. Nothing was done."
NO_OLD = "`edits[{}].old` is empty. To add text, pass the text beside it as `old`. Nothing was done."
OVERLAP = "`edits[{}]` and `edits[{}]` overlap. Make them one. Nothing was done."
OLD_HASH = "Its source no longer has the hash {}."

_HASH = re.compile("[0-9a-f]{8}")
_LINE_END = re.compile(r"\r\n?|\n")
_UNIT = re.compile(r"\w+|[^\S\r\n]*(?:\r\n?|\n)|[^\S\r\n]+|[^\w\s]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_SPACES = dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
_WORD = re.compile(r"\w+|[^\w\s]")


def source_hash(source: str) -> str:
    """A short name of a source, by which the agent says what it has read."""
    return sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def difference(own: str, expected: str) -> str:
    """Say in words where `expected`, a source or a hash, means something else than the source `own`; empty if not."""
    if expected in (own, source_hash(own)):
        return ""
    there, wanted = (_Source(text.rstrip()).text for text in (own, expected))
    if there != wanted and _HASH.fullmatch(expected):
        return OLD_HASH.format(expected)
    at = len([*takewhile(lambda pair: pair[0] == pair[1], zip(there, wanted, strict=False))])
    first, line = max(at - 20, there.rfind("\n", 0, at) + 1), there.count("\n", 0, at) + 1
    has, should = (repr(text[first : first + 60]) for text in (there, wanted))
    return "" if there == wanted else f"In line {line}, the cell has {has} where {should} was expected."


def edited(own: str, source: str) -> str:
    """`own` with what `source` has otherwise, and with its own blanks at the end."""
    body = own.rstrip()
    return _merged(body, source.rstrip(), _line_end(own)) + own[len(body) :]


def _merged(own: str, source: str, end: str) -> str:
    """`own` with what `source` has otherwise; its lines end with `end`."""
    split = (_UNIT if len(own) + len(source) <= MAX_COMPARED_SOURCE_CHARS else _LINE).findall
    before, after = split(own), split(_LINE_END.sub(lambda _: end, source))
    matcher = SequenceMatcher(None, [*map(_key, before)], [*map(_key, after)])
    parts = (before[a:b] if kind == "equal" else after[c:d] for kind, a, b, c, d in matcher.get_opcodes())
    return "".join(chain.from_iterable(parts))


def _line_end(source: str) -> str:
    found = _LINE_END.search(source)
    return found[0] if found else "\n"


def _key(unit: str) -> str:
    """The same for all units that mean the same."""
    text = unit.translate(_SPACES)
    return f"{text.rstrip()}\n" if text.endswith(("\r", "\n")) else text


# -- parts ------------------------------------------------------------------------------------------------------------


def with_edits(own: str, edits: Sequence[Mapping[str, str]]) -> str:
    """`own` with each `old` replaced by its `new`, all at once. Raises NotebookError unless each occurs once."""
    source = _Source(own)
    places = sorted((source.place(number, edit["old"]), number) for number, edit in enumerate(edits))
    for ((_, end), one), ((start, _), other) in pairwise(places):
        if start < end:
            raise NotebookError(OVERLAP.format(one, other))
    line_end, after = _line_end(own), own
    for (start, end), number in reversed(places):
        there, edit = own[start:end], edits[number]
        new = _LINE_END.sub(lambda _: line_end, edit["new"])
        after = after[:start] + (new if there == edit["old"] else _merged(there, new, line_end)) + after[end:]
    return after


class _Source:
    """A source, and its text as it is compared: with one kind of line end and of space, and no blanks at line ends."""

    def __init__(self, own: str) -> None:
        ends, plain = [*_LINE_END.finditer(own)], own.translate(_SPACES)
        self._own, self._starts = own, [0, *(end.end() for end in ends)]
        self._ends = [*(end.start() for end in ends), len(own)]
        self._lines = [plain[start:end].rstrip() for start, end in zip(self._starts, self._ends, strict=True)]
        self._text_starts = [0, *accumulate(len(line) + 1 for line in self._lines[:-1])]
        self.text = "\n".join(self._lines)

    def place(self, number: int, old: str) -> tuple[int, int]:
        """The one place of `old`. Raises NotebookError."""
        if not old:
            raise NotebookError(NO_OLD.format(number))
        wanted = "".join(map(_key, _LINE.findall(old)))
        found = [(self._index(at), self._index(at + len(wanted))) for at in islice(_finds(self.text, wanted), 2)]
        head, end, last = wanted.rpartition("\n")
        bare = f"{head}{end}{last.rstrip()}"
        if bare and bare != wanted:  # these blanks may be at the end of a line
            starts = [*islice(_finds(f"{self.text}\n", f"{bare}\n"), 2)]
            found += [(self._index(at), self._ends[self._line(at + len(bare))]) for at in starts]
        if not found:
            raise NotebookError(NOT_FOUND.format(number, *self._nearest(wanted)))
        if len(found) > 1:
            lines = (bisect_right(self._starts, start) for start, _ in sorted(found)[:2])
            raise NotebookError(NOT_UNIQUE.format(number, *lines))
        return found[0]

    def _line(self, at: int) -> int:
        return bisect_right(self._text_starts, at) - 1

    def _index(self, at: int) -> int:
        line = self._line(at)
        return self._starts[line] + at - self._text_starts[line]

    def _nearest(self, wanted: str) -> tuple[int, str]:
        """Number and text of the lines that are most like `wanted`, by the words of its first one."""
        lines = wanted.strip().split("\n")
        words = {*_WORD.findall(lines[0])}

        def likeness(at: int) -> float:
            found = {*_WORD.findall(self._lines[at])}
            return len(found & words) / (len(found | words) or 1)

        at = max(range(len(self._lines)), key=likeness)
        end = self._ends[min(at + len(lines), len(self._lines)) - 1]
        return at + 1, self._own[self._starts[at] : end][:NEAREST_CHARS]


def _finds(text: str, wanted: str) -> Iterator[int]:
    """Where `wanted` begins, also where it overlaps itself."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)
