"""Streaming markdown, cut into pieces that never change again; where it is cut depends on the text alone.

Once a piece has reached its size, it ends before the first unindented line after an empty line outside a fence.
Without such a line within four times the size, it ends at the next line, and an open fence is closed and reopened in
the next piece. Without a line end within eight times the size, it ends at a space or in the middle of a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .markdown import to_html
from .plain import split_lines

KIB = 1024
# (number of the first piece beyond, characters).
_SIZES = ((16, 16 * KIB), (29, 64 * KIB), (33, 256 * KIB))
_LAST_SIZE = KIB * KIB
_PARAGRAPH_SIZE = 2 * KIB
_FENCE = re.compile(r"(?P<lead>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]?)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)")


def piece_size(number: int) -> int:
    """Minimum characters of piece `number` (from 0): few outputs for a long text, early ones for a short text."""
    return next((size for below, size in _SIZES if number < below), _LAST_SIZE)


class Blocks:
    """Splits one text. `tail` is the piece that still grows.

    `whole`: a piece without an empty line is cut beyond that many characters, by default four times its size.
    """

    def __init__(self, size: Callable[[int], int] = piece_size, whole: int = 0) -> None:
        self._size, self._whole = size, whole
        self._number = 0
        # The line that opened the current fence; empty outside a fence.
        self._fence = ""
        self._start()

    def feed(self, text: str) -> list[str]:
        """Add `text` and return the pieces that it finished. Linear in the text, whatever the chunks."""
        return [piece for part in split_lines(text) for piece in self._take(part)]

    @property
    def tail(self) -> str:
        """The text after the last finished piece."""
        return "".join((*self._lines, *self._line))

    def _start(self) -> None:
        # Whole lines, each with its end, and the parts of the unfinished last one.
        self._lines = [self._fence] if self._fence else []
        self._line: list[str] = []
        # Characters of the piece, without a reopened fence.
        self._length = 0
        self._after_blank = False

    def _take(self, part: str) -> Iterator[str]:
        """`part` belongs to one line, and perhaps has its end."""
        if not self._line and self._ends_before(part):
            yield self._cut()
        while self._length + len(part) > (limit := 2 * self._longest()):
            free = limit - self._length
            yield self._cut_line("".join((*self._line, part[:free])))
            part = part[free:]
        self._line.append(part)
        self._length += len(part)
        if part.endswith("\n"):
            line = "".join(self._line)
            self._lines.append(line)
            self._line = []
            self._after_blank = not line.strip()
            self._fence = _fence_after(line, self._fence)

    def _ends_before(self, part: str) -> bool:
        if self._length >= self._longest():
            return True
        is_long = self._length >= self._size(self._number)
        return is_long and self._after_blank and not self._fence and not part[0].isspace()

    def _longest(self) -> int:
        return self._whole or 4 * self._size(self._number)

    def _cut(self) -> str:
        piece = "".join(self._lines) + _closing(self._fence)
        self._number += 1
        self._start()
        return piece

    def _cut_line(self, line: str) -> str:
        """Everything so far as a piece, with the unfinished last `line` up to a space."""
        space = line.rfind(" ", len(line) // 2) + 1 or len(line)
        self._lines.append(line[:space] + ("\n" if self._fence else ""))
        piece = self._cut()
        self._line, self._length = [line[space:]], len(line) - space
        return piece


class StreamedHtml:
    """HTML of a growing text. A finished paragraph is rendered once; a redraw renders only the last one."""

    def __init__(self) -> None:
        self._pieces = Blocks()
        self._start()

    def _start(self) -> None:
        self._paragraphs = Blocks(lambda number: _PARAGRAPH_SIZE)
        self._waiting: list[str] = []
        self._finished: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Add `text` and return the markdown of the pieces that it finished, each to be rendered as a whole."""
        pieces = self._pieces.feed(text)
        if pieces:
            self._start()
            text = self._pieces.tail
        self._waiting += self._paragraphs.feed(text)
        return pieces

    def html(self) -> str:
        """HTML of the unfinished piece."""
        self._finished += map(to_html, self._waiting)
        self._waiting = []
        return "".join((*self._finished, to_html(self._paragraphs.tail)))

    def source(self) -> str:
        """Markdown of the unfinished piece; its final form is `to_html` of this."""
        return self._pieces.tail


def _fence_after(line: str, fence: str) -> str:
    """The opening line of the fence that is open after `line`, given the one open before it."""
    found = _FENCE.match(line)
    if not fence:
        return line if found and not (found["mark"][0] == "`" and "`" in found["info"]) else ""
    opened = _FENCE.match(fence)
    assert opened is not None
    if ">" in opened["lead"] and ">" not in line:
        return ""
    closes = found and found["mark"].startswith(opened["mark"]) and not found["info"].strip()
    return "" if closes else fence


def _closing(fence: str) -> str:
    opened = _FENCE.match(fence)
    return f"{re.sub(r'[^ >]', ' ', opened['lead'])}{opened['mark']}\n" if opened else ""
