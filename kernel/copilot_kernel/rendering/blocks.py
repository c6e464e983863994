"""Streaming markdown, cut into pieces that never change again; where it is cut depends on the text alone.

Once a piece has reached its size, it ends before the first unindented line after an empty line outside a fence.
Without such a line within four times the size, it ends at the next line, and an open fence is closed and reopened in
the next piece. Without a line end within eight times the size, it ends at a space or in the middle of a word.

A piece is rendered in units that look the same alone as together, so that a long one does not block the event loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cached_property

from ..conversation.text import GrowingText, split_lines
from .markdown import to_html
from .markup import DEFERRED, Bundle, bundle, escape, pre
from .plain import prose

MAX_MESSAGE_CHARS = 1024 * 1024
"""Limit of one message that is shown, besides its end."""
END_CHARS = 4000

KIB = 1024
# (number of the first piece beyond, characters).
_SIZES = ((4, 8 * KIB), (9, 16 * KIB))
_LAST_SIZE = 47 * KIB
_MAX_UNIT = 32 * KIB
_LONG_HTML, _DEFERRED_SIZE = 96 * KIB, 16 * KIB
# What may begin a line that belongs to what stands above the empty line before it.
_CONTINUING = frozenset("-*+>0123456789")
# The address of a link that may stand anywhere in the text.
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:", re.MULTILINE)
_FENCE = re.compile(r"(?P<lead>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+|>[ \t]?)*)(?P<mark>`{3,}|~{3,})(?P<info>.*)")


def piece_size(number: int) -> int:
    """Minimum characters of piece `number` (from 0): few outputs for a long text, early ones for a short text."""
    return next((size for below, size in _SIZES if number < below), _LAST_SIZE)


class Blocks:
    """Splits one text. `tail` is the piece that still grows.

    `whole`: a piece without an empty line is cut beyond that many characters, by default four times its size.
    `continuing`: no piece ends at an empty line before one of these characters.
    """

    def __init__(
        self, size: Callable[[int], int] = piece_size, whole: int = 0, continuing: Container[str] = ()
    ) -> None:
        self._size, self._whole, self._continuing = size, whole, continuing
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
        self._least = self._size(self._number)
        self._most = self._whole or 4 * self._least

    def _take(self, part: str) -> Iterator[str]:
        """`part` belongs to one line, and perhaps has its end."""
        if not self._line and self._ends_before(part):
            yield self._cut()
        while self._length + len(part) > (limit := 2 * self._most):
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
        if self._length >= self._most:
            return True
        is_long = self._length >= self._least
        if not (is_long and self._after_blank) or self._fence:
            return False
        return not part[0].isspace() and part[0] not in self._continuing

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


class Piece:
    """Markdown that no longer grows: piece `number` of a message. `known` holds the HTML of its units, as far as they
    were rendered before. `ending` is the end of a message of which not all is shown, and says so.
    """

    def __init__(self, source: str, number: int = 0, known: Mapping[str, str] | None = None, ending: str = "") -> None:
        self.source, self.number = source, number
        self._units, self._known, self._ending = _units(source), known or {}, ending
        self._html: list[str] = []

    def prepare(self) -> bool:
        """Render one more unit; False: none was left, and `bundle` is almost ready."""
        unit = next(self._units, None)
        if unit is not None:
            self._html.append(self._known.get(unit) or to_html(unit))
        return unit is not None

    def html(self) -> str:
        """The whole piece."""
        while self.prepare():
            pass
        return _deferred(self._html)

    @cached_property
    def bundle(self) -> Bundle:
        """Complete."""
        return _bundle(self.source, self.html(), self._ending)


class Stream:
    """Text of a message after its last finished piece. A finished unit is rendered once; a redraw renders the last
    paragraph.
    """

    def __init__(self) -> None:
        self._pieces = Blocks()
        self.number = 0
        """Number of the pieces before it."""
        self._read = self._taken = 0
        self._unread = self._ending = ""
        self.is_blank = True
        """There is nothing to see yet."""
        self._start()

    def _start(self) -> None:
        # HTML of the units of the unfinished piece, as far as they were rendered.
        self._rendered: dict[str, str] = {}
        self._cutter, self._finished = _unit_cutter(), list[str]()
        self._start_unit()

    def _start_unit(self) -> None:
        # Else every redraw would colour the whole of a long fence again.
        self._paragraphs, self._parts = Blocks(_unit_size), list[str]()

    @property
    def is_read(self) -> bool:
        """All that was given to `feed` counts."""
        return not self._unread

    def feed(self, text: GrowingText, limit: int = MAX_MESSAGE_CHARS) -> list[Piece]:
        """Read on in `text`, `limit` characters at most; the pieces that are finished by it."""
        new = "".join(part[:MAX_MESSAGE_CHARS] for part in text.parts(self._read))
        new = (self._unread + new if self._unread else new)[: MAX_MESSAGE_CHARS - self._taken]
        self._read, end = len(text), "".join(text.parts(max(len(text) - END_CHARS, MAX_MESSAGE_CHARS)))
        left_out = len(text) - MAX_MESSAGE_CHARS - len(end)
        self._ending = f"… {left_out:,} characters not shown …\n\n{end}" if left_out > 0 else end
        new, self._unread = new[:limit], new[limit:]
        self._taken += len(new)
        return self._add(new)

    def _add(self, text: str) -> list[Piece]:
        first, known, sources = self.number, self._rendered, self._pieces.feed(text)
        if sources:
            self.number += len(sources)
            self._start()
            text = self._pieces.tail
        self._grow(text)
        self.is_blank = (self.is_blank or bool(sources)) and not text.strip()
        return [Piece(source, number, known) for number, source in enumerate(sources, first)]

    def _grow(self, text: str) -> None:
        if units := self._cutter.feed(text):
            self._finished += units
            self._start_unit()
            text = self._cutter.tail
        self._parts += self._paragraphs.feed(text)

    def prepare(self) -> bool:
        """Render one more unit; False: none was left, and `bundle` is almost ready."""
        unit = next((each for each in (*self._finished, *self._parts) if each not in self._rendered), None)
        if unit is not None:
            self._rendered[unit] = to_html(unit)
        return unit is not None

    def html(self) -> str:
        """HTML of the unfinished piece."""
        while self.prepare():
            pass
        done = (self._rendered[each] for each in (*self._finished, *self._parts))
        return _deferred([*done, to_html(self._paragraphs.tail)])

    @property
    def bundle(self) -> Bundle:
        """Return the text as far as it has come."""
        return _bundle(self._pieces.tail, self.html(), self._ending)

    @property
    def last(self) -> Piece:
        """The end of the message, if nothing more comes."""
        return Piece(self._pieces.tail, self.number, self._rendered, self._ending)


def _unit_size(number: int) -> int:
    return 2 * KIB


def _unit_cutter() -> Blocks:
    return Blocks(_unit_size, _MAX_UNIT, _CONTINUING)


def _units(source: str) -> Iterator[str]:
    """`source` in parts that look the same alone: no list, table or fence is cut unless it is very long."""
    if _DEFINITION.search(source):
        yield source
        return
    cutter = _unit_cutter()
    for start in range(0, len(source), _MAX_UNIT):
        yield from cutter.feed(source[start : start + _MAX_UNIT])
    yield cutter.tail


def _deferred(parts: list[str]) -> str:
    """HTML `parts` one after the other; if they are long, in blocks that a browser can leave out."""
    if sum(map(len, parts)) < _LONG_HTML:
        return "".join(parts)
    blocks, block, size = list[str](), list[str](), 0
    for part in parts:
        block.append(part)
        size += len(part)
        if size >= _DEFERRED_SIZE:
            blocks.append(f'<div class="{DEFERRED}">{"".join(block)}</div>')
            block, size = [], 0
    return "".join((*blocks, *block))


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


def _bundle(source: str, html: str, ending: str) -> Bundle:
    """Like `render_text`, with the HTML that exists already."""
    shown = bundle(html, prose(source).strip("\n"))
    added = {"text/html": pre(escape(ending)), "text/plain": f"\n\n{prose(ending)}"}
    return {kind: shown[kind] + text for kind, text in added.items()} if ending else shown
