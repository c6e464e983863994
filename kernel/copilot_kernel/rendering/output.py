"""Output of tools: terminal text as HTML or plain text, folded when long, and never cut without saying so.

Of escape sequences, the sixteen colours, bold, italic and underline are drawn, the others dropped. Hidden characters
are shown as codes.
"""

from __future__ import annotations

import re

from .markup import AMBER, BLUE, GREEN, GREY, RED, exposed, fold, muted, pre, text_colour
from .plain import ESCAPE, visible_text, whole

SHORT = 12
"""Lines shown without a click."""
LONG = 60
"""Lines shown in a terminal, where nothing can be folded."""
MAX_OUTPUT_CHARS = 100_000
MAX_GROWING_CHARS = 5_000
"""Of output that still grows: each redraw draws its end alone."""
_MAX_SUMMARY_CHARS = 80
_SCROLLS = "max-height:24em"

_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;]*)m")
_PIECES = re.compile(rf"{ESCAPE.pattern}|.", re.DOTALL)
_COLOURS = ("", RED, GREEN, AMBER, BLUE, text_colour("#ba4bba"), text_colour("#1b8689"), "")
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


def shortened(text: str, max_chars: int = MAX_OUTPUT_CHARS) -> str:
    """`text`, or its two ends with the number of characters left out between them."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters not shown …\n{text[-half:]}"


def end_of(text: str) -> str:
    """`text`, or its last `MAX_GROWING_CHARS`, from a line's beginning if they hold one, with the number of others."""
    if len(text) <= MAX_GROWING_CHARS:
        return text
    start = text.find("\n", len(text) - MAX_GROWING_CHARS, -1) + 1 or len(text) - MAX_GROWING_CHARS
    return f"… {start:,} characters not shown …\n{text[start:]}"


def output_html(text: str, name: str = "output", tail: int = 0) -> str:
    """Terminal text as HTML; beyond `SHORT` lines folded, with the last one in the summary after `name`, or below.

    Unfolded, a long one scrolls: what follows stays near. `tail`: so many of the last lines stay in view below.
    """
    text = text.rstrip("\n")
    if not text.strip():
        return ""
    count = text.count("\n") + 1
    shown = ansi_html(shortened(text))
    if count <= SHORT:
        return pre(shown)
    body = pre(shown, _SCROLLS, name)
    summary = f"{name} {muted(_line_count(count))}"
    if not tail:
        return fold(f"{summary}{_last_line(text)}", body)
    return fold(summary, body) + pre(ansi_html("\n".join(shortened(text).split("\n")[-tail:])))


def output_text(text: str, long: int = LONG) -> str:
    """Terminal text for a terminal: beyond `long` lines the first and the last ones."""
    lines = ansi_text(shortened(text.rstrip("\n"))).split("\n")
    if len(lines) > long:
        lines[long // 2 : long // 2 - long] = [f"… {_line_count(len(lines) - long)} not shown …"]
    return "\n".join(lines)


def ansi_text(text: str) -> str:
    """`text` without escape sequences, so that it cannot control the reader's terminal."""
    return visible_text(ESCAPE.sub("", final_lines(text)), gaps=False)


def ansi_html(text: str) -> str:
    """`text` as escaped HTML with coloured spans."""
    spans, style = "", dict[str, str]()
    for index, part in enumerate(_SGR.split(final_lines(text))):
        if index % 2:
            style = _styled(style, [int(code[:3] or 0) for code in part.split(";")])
            continue
        shown = exposed(ESCAPE.sub("", part), gaps=False)
        written = ";".join(f"{name}:{value}" for name, value in style.items() if value)
        spans += f'<span style="{written}">{shown}</span>' if shown and written else shown
    return spans


def _line_count(count: int) -> str:
    return f"{count:,} line{'s' * (count != 1)}"


def _last_line(text: str) -> str:
    last = ansi_text(text[-1000:].rsplit("\n", 1)[-1]).strip()
    short = last[:_MAX_SUMMARY_CHARS] + "…" * (len(last) > _MAX_SUMMARY_CHARS)
    return muted(f" · … {short}") if short else ""


def final_lines(text: str) -> str:
    """`text` as a terminal leaves it: what a carriage return or backspace overwrote is gone."""
    readable = whole(text).replace("\r\n", "\n")
    if "\r" in readable:
        lines = (line.split("\r") for line in readable.split("\n"))
        readable = "\n".join(next((part for part in reversed(parts) if part), "") for parts in lines)
    return _without_backspaces(readable) if "\x08" in readable else readable


def _without_backspaces(text: str) -> str:
    """A backspace removes the character before it, but no escape sequence and nothing on another line."""
    kept: list[str] = []
    for piece in _PIECES.findall(text):
        if piece != "\x08":
            kept.append(piece)
        elif kept and len(kept[-1]) == 1 and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _styled(style: dict[str, str], codes: list[int]) -> dict[str, str]:
    style = dict(style)
    for code in codes:
        if code in (38, 48):
            break  # an extended colour; the rest are its parameters
        if code == 0:
            style = {}
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["color"] = GREY if code == 90 else _COLOURS[code % 10]
        else:
            style |= _SWITCHES.get(code, {})
    return style
