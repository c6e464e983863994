"""A growing markdown text, cut into pieces that never change again; the cuts depend on the text alone.

A piece ends before the first line that follows an empty line outside a fence and is not indented, once the piece has
its size. No such line within four times the size: it ends at the next line, and a fence is closed in it and opened
again in the next piece. No line end within eight times the size: it ends at a space or in the middle of a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .markdown import to_html

KIB = 1024
_GROWTH = ((16, 16 * KIB), (29, 64 * KIB), (33, 256 * KIB))
_LAST_SIZE = KIB * KIB
_PARAGRAPH = 2 * KIB
_FENCE = re.compile(r"(?P<lead>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]?)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)")


def piece_size(number: int) -> int:
    """Characters that piece `number` (from 0) has at least: few outputs for a long text, soon finished for a short."""
    return next((size for below, size in _GROWTH if number < below), _LAST_SIZE)


def _paragraph_size(number: int) -> int:
    return _PARAGRAPH


class Blocks:
    """The pieces of one text. `tail` is the piece that still grows."""

    def __init__(self, size: Callable[[int], int] = piece_size) -> None:
        self._size = size
        self._number = 0
        self._fence = ""
        """The line that opened the fence that we are in, else empty."""
        self._start(())

    def feed(self, text: str) -> list[str]:
        """Add `text`; the pieces that it finished. Linear in the text, whatever the chunks."""
        pieces: list[str] = []
        for part in _lines(text):
            self._take(part, pieces)
        return pieces

    @property
    def tail(self) -> str:
        """What came after the last finished piece."""
        return "".join((*self._lines, *self._line))

    def _start(self, lines: tuple[str, ...]) -> None:
        self._lines = list(lines)
        """Whole lines, each with its end."""
        self._line: list[str] = []
        """Parts of the line that has no end yet."""
        self._length = 0
        """Of the piece, without a fence that was opened again."""
        self._after_blank = False

    def _take(self, part: str, pieces: list[str]) -> None:
        """`part` is a piece of one line, perhaps its end."""
        if not self._line and self._ends_before(part):
            pieces.append(self._cut())
        size = 8 * self._size(self._number)
        while self._length + len(part) > size:
            room = size - self._length
            self._add(part[:room])
            pieces.append(self._cut_line())
            part, size = part[room:], 8 * self._size(self._number)
        self._add(part)
        if part.endswith("\n"):
            self._end_line()

    def _add(self, part: str) -> None:
        self._line.append(part)
        self._length += len(part)

    def _ends_before(self, part: str) -> bool:
        size = self._size(self._number)
        if self._length >= 4 * size:
            return True
        return self._length >= size and self._after_blank and not self._fence and not part[0].isspace()

    def _end_line(self) -> None:
        line = "".join(self._line)
        self._lines.append(line)
        self._line = []
        self._after_blank = not line.strip()
        self._fence = _fence_after(line, self._fence)

    def _cut(self) -> str:
        """The whole lines as a piece."""
        piece = "".join(self._lines) + _closing(self._fence)
        self._number += 1
        self._start((self._fence,) if self._fence else ())
        return piece

    def _cut_line(self) -> str:
        """What we have as a piece, though its last line goes on."""
        line = "".join(self._line)
        space = line.rfind(" ", len(line) // 2) + 1 or len(line)
        self._lines.append(line[:space] + ("\n" if self._fence else ""))
        piece = self._cut()
        self._add(line[space:])
        return piece


class StreamedHtml:
    """The HTML of a growing text: a finished paragraph is rendered once, a redraw renders only the last one."""

    def __init__(self) -> None:
        self._pieces = Blocks()
        self._paragraphs = Blocks(_paragraph_size)
        self._waiting: list[str] = []
        self._finished: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Add `text`; the markdown of the pieces that it finished, each to be rendered as a whole."""
        pieces = self._pieces.feed(text)
        if pieces:
            self._paragraphs, self._waiting, self._finished = Blocks(_paragraph_size), [], []
            text = self._pieces.tail
        self._waiting += self._paragraphs.feed(text)
        return pieces

    def html(self) -> str:
        """HTML of what came after the last finished piece, for as long as it grows."""
        self._finished += map(to_html, self._waiting)
        self._waiting = []
        return "".join((*self._finished, to_html(self._paragraphs.tail)))

    def source(self) -> str:
        """Markdown of what came after the last finished piece; its final form is `to_html` of this."""
        return self._pieces.tail


def _lines(text: str) -> list[str]:
    """Cut after line feeds only: `splitlines` knows other ends."""
    *whole, rest = text.split("\n")
    return [*(line + "\n" for line in whole), *([rest] if rest else [])]


def _fence_after(line: str, fence: str) -> str:
    """The opening line of the fence that we are in after `line`, given that of the one before it."""
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
