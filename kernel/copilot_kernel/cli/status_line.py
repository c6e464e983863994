"""The line that says what is going on while nothing is written: replaced in place, gone before anything else is."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from ..rendering.plain import visible_line

DIM, PLAIN = "\x1b[2m", "\x1b[0m"
REDRAW_SECONDS = 0.25
_MARKS = "◐◓◑◒"
_SECONDS = re.compile(r"\d s\b")
_ERASE = "\r\x1b[K"
# While the line is drawn the terminal does not wrap: what is too long is cut, however wide its characters are.
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_MAX_PENDING_CHARS = 60


def takes_escapes(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that understands escape sequences."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


class StatusLine:
    """Drawn on a terminal whose cursor is at the start of a line."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._words, self._since = "", 0.0
        self._is_drawn = False

    def show(self, words: str) -> None:
        """Draw `words` from now on; an empty string draws none."""
        if words != self._words:
            self._words, self._since = words, self._clock()

    def draw(self, pending: str = "") -> None:
        """Draw the line, after the end of the `pending` text that cannot be written yet."""
        shown = " · ".join(filter(None, (visible_line(pending)[-_MAX_PENDING_CHARS:], visible_line(self._text()))))
        if not shown:
            self.clear()
            return
        mark = _MARKS[int(self._clock() / REDRAW_SECONDS) % len(_MARKS)]
        self._is_drawn = True
        self._write(f"{_ERASE}{_NO_WRAP}{DIM}{mark} {shown}{PLAIN}{_WRAP}")

    def clear(self) -> None:
        """Remove the line from the screen."""
        if self._is_drawn:
            self._is_drawn = False
            self._write(_ERASE)

    def _text(self) -> str:
        """The words, and how long they have been true unless they say so."""
        seconds = int(self._clock() - self._since)
        says_time = not self._words or _SECONDS.search(self._words)
        return self._words if says_time or not seconds else f"{self._words} · {seconds} s"

    def _write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
