"""A terminal's output as HTML: the sixteen colours, bold and underline; every other sequence is dropped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from .markup import AMBER, BLUE, GREEN, GREY, RED
from .plain import ESCAPE, clean, whole

_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;]*)m")
_COLOURS = ("", RED, GREEN, AMBER, BLUE, "#ba4bba", "#1b8689", "")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9a\x9c-\x9f]")


def final_lines(text: str) -> str:
    """`text` as a terminal leaves it: what a carriage return or a backspace wrote over is gone."""
    readable = whole(text).replace("\r\n", "\n")
    if "\r" in readable:
        readable = "\n".join(_written_over(line) for line in readable.split("\n"))
    return re.sub(r"[^\n\x08]\x08", "", readable) if "\x08" in readable else readable


def ansi_text(text: str) -> str:
    """`text` for a terminal that should not be touched."""
    return clean(final_lines(text))


def ansi_html(text: str) -> str:
    """`text` as escaped HTML with coloured spans."""
    return "".join(_spans(final_lines(text)))


def _written_over(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part), "")


def _spans(text: str) -> Iterator[str]:
    style: dict[str, str] = {}
    for index, part in enumerate(_SGR.split(text)):
        if index % 2:
            style = _styled(style, [int(code[:3] or 0) for code in part.split(";")])
            continue
        shown = html.escape(_CONTROL.sub("", ESCAPE.sub("", part)), quote=False)
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
