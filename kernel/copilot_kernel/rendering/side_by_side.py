"""A change as a person must see it to allow it: every line, old and new side by side where there is room.

What is removed and what is added are two boxes in a row that wraps: where it does, the change reads as a unified diff.
That needs no style sheet, so it stays when Jupyter takes a saved notebook's style sheets out. The buttons of an open
question bring one besides (`copilot_widgets`), for lines that stay level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from .diff import Change, Line, with_return
from .diff_view import BACKGROUND, remarks
from .markup import FONT, GREY, TINT, escape, exposed

_BOX = (
    f"margin:4px 0;padding:6px 0;background-color:{TINT};border-radius:4px;max-height:360px;overflow:auto;"
    f"white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal;line-height:1.4;font-size:13px;{FONT}"
)
_ROW = "display:flex;flex-wrap:wrap"
_SIDE = "display:block;flex:1 1 400px;min-width:0"
_LINE = "display:block;padding:0 10px"
_Number = Callable[[int | None], str]


def change_box(change: Change, name: str) -> str:
    """All lines in a box that scrolls, also by keyboard; `name` is what a screen reader calls it."""
    if not change.lines:
        return ""
    width = len(str(max(max(line.old or 0, line.new or 0) for line in change.lines)))

    def number(value: int | None) -> str:
        return ("" if value is None else str(value)).rjust(width)

    rows = "".join(_rows(change, number))
    return f'<pre style="{_BOX}" tabindex="0" role="region" aria-label="{escape(name)}">{rows}</pre>'


def heading(path: str, remark: str, change: Change) -> str:
    """What stands above it."""
    return f'<span style="font-weight:bold">{exposed(path)}</span>{remark} {remarks(change)}'


def _rows(change: Change, number: _Number) -> Iterator[str]:
    lines = change.lines[1:] if not change.lines[0].text else change.lines
    for marks, group in groupby(lines, key=lambda line: _sort(line, change)):
        if marks == "changed":
            yield from (_pair(block, number) for block in _blocks(list(group)))
        else:
            yield from (_line(line, number) for line in group)


def _sort(line: Line, change: Change) -> str:
    """A file that is new or deleted has only one side."""
    return "changed" if line.mark in "+-" and change.what == "changed" else line.mark


def _blocks(lines: list[Line]) -> Iterator[list[Line]]:
    """Each: what is removed, then what is added in its place."""
    block: list[Line] = []
    for line in lines:
        if line.mark == "-" and block and block[-1].mark == "+":
            yield block
            block = []
        block.append(line)
    yield block


def _pair(block: list[Line], number: _Number) -> str:
    sides = ([line for line in block if line.mark == mark] for mark in "-+")
    old, new = ("".join(_line(line, number) for line in side) for side in sides)
    return _row(_side("old", old), _side("new", new))


def _row(*sides: str) -> str:
    return f'<span class="cq-row" style="{_ROW}">{"".join(sides)}</span>'


def _side(name: str, body: str) -> str:
    return f'<span class="cq-side cq-{name}" style="{_SIDE}">{body}</span>'


def _line(line: Line, number: _Number) -> str:
    if line.mark == "@":
        return f'<span style="{_LINE};color:{GREY}">⋯ {exposed(line.text)}\n</span>'
    end = "" if line.ends else f' <span style="color:{GREY}">(no line feed at the end)</span>'
    style = f"{_LINE};{BACKGROUND.get(line.mark, '')}".rstrip(";")
    numbers = f"{_numbered('old', number(line.old))} {_numbered('new', number(line.new))}"
    return f'<span style="{style}">{numbers} {line.mark} {exposed(with_return(line.text))}{end}\n</span>'


def _numbered(name: str, text: str) -> str:
    return f'<span class="cq-number-{name}" style="color:{GREY}">{text}</span>'
