"""A terminal's output as HTML: the sixteen colours, bold and underline; every other sequence is dropped.

What is no sequence is shown, hidden characters as codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .markup import AMBER, BLUE, GREEN, GREY, RED, exposed
from .plain import ESCAPE, visible_text, whole

_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;]*)m")
_COLOURS = ("", RED, GREEN, AMBER, BLUE, "#ba4bba", "#1b8689", "")
_PIECES = re.compile(rf"{ESCAPE.pattern}|.", re.DOTALL)


def final_lines(text: str) -> str:
    """`text` as a terminal leaves it: what a carriage return or a backspace wrote over is gone."""
    readable = whole(text).replace("\r\n", "\n")
    if "\r" in readable:
        readable = "\n".join(_written_over(line) for line in readable.split("\n"))
    return _without_backspaces(readable) if "\x08" in readable else readable


def ansi_text(text: str) -> str:
    """`text` for a terminal that should not be touched; hidden characters are shown as codes."""
    return visible_text(ESCAPE.sub("", final_lines(text)), gaps=False)


def ansi_html(text: str) -> str:
    """`text` as escaped HTML with coloured spans; hidden characters are shown as codes."""
    return "".join(_spans(final_lines(text)))


def _without_backspaces(text: str) -> str:
    """A backspace takes back the character before it, but neither a sequence nor what is on another line."""
    kept: list[str] = []
    for piece in _PIECES.findall(text):
        if piece != "\x08":
            kept.append(piece)
        elif kept and len(kept[-1]) == 1 and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _written_over(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part), "")


def _spans(text: str) -> Iterator[str]:
    style: dict[str, str] = {}
    for index, part in enumerate(_SGR.split(text)):
        if index % 2:
            style = _styled(style, [int(code[:3] or 0) for code in part.split(";")])
            continue
        shown = exposed(ESCAPE.sub("", part), gaps=False)
        written = ";".join(f"{name}:{value}" for name, value in style.items() if value)
        yield f'<span style="{written}">{shown}</span>' if shown and written else shown


def _styled(style: dict[str, str], codes: list[int]) -> dict[str, str]:
    style = dict(style)
    for place, code in enumerate(codes):
        if code in (38, 48):
            break  # a colour out of 256 or more: the rest are its numbers
        if code == 0:
            style = {}
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["color"] = GREY if code == 90 else _COLOURS[code % 10]
        else:
            style |= _SWITCHES.get(codes[place], {})
    return style


_SWITCHES = {
    1: {"font-weight": "bold"},
    2: {"color": GREY},
    3: {"font-style": "italic"},
    4: {"text-decoration": "underline"},
    22: {"font-weight": ""},
    23: {"font-style": ""},
    24: {"text-decoration": ""},
    39: {"color": ""},
}
