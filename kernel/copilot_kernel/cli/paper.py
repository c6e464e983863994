"""What one turn writes to a terminal: the answer on stdout, all else on stderr, no line begun in the middle of another.

What an agent says is written without control characters: it must not move the cursor, write to the clipboard or hide
what a question is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from ..rendering.plain import clean

DIM, PLAIN = "\x1b[2m", "\x1b[0m"
NOBODY = -1


class LineStream:
    """A stream that knows whether it is at the start of a line. `on_lost` is called once, if its reader has gone."""

    def __init__(self, stream: TextIO, on_lost: Callable[[], None]) -> None:
        self.used, self.at_start, self.writer = False, True, NOBODY
        self._stream, self._on_lost, self._lost = stream, on_lost, False

    def write(self, text: str, look: str = "") -> None:
        """Write `text` at once."""
        text = clean(text)
        if not text or self._lost:
            return
        self.used, self.at_start = True, text.endswith("\n")
        try:
            self._stream.write(f"{look}{text}{PLAIN}" if look else text)
            self._stream.flush()
        except OSError:
            self._lost = True
            self._on_lost()

    def fresh(self) -> None:
        """Go to the start of a line."""
        if not self.at_start:
            self.write("\n")


class StreamPrinter:
    """Both streams. On one screen they share its lines, in files each has its own."""

    def __init__(self, out: TextIO, err: TextIO, on_lost: Callable[[], None]) -> None:
        self._out, self._err = LineStream(out, on_lost), LineStream(err, on_lost)
        self._shared = out.isatty() and err.isatty()
        self._look = DIM if err.isatty() else ""

    def answer(self, writer: int, text: str, begins: bool) -> None:
        """A piece of message number `writer`; a blank line parts messages, as it does in the whole text."""
        self._pass_to(writer, self._out)
        if begins and self._out.used:
            self._out.write("\n")
        self._out.write(text)

    def aside(self, writer: int, text: str) -> None:
        """A piece of a thought."""
        self._pass_to(writer, self._err)
        self._err.write(text, self._look)

    def line(self, text: str) -> None:
        """One or more whole lines beside the answer."""
        self._pass_to(NOBODY, self._err)
        self._err.write(text.rstrip("\n") + "\n")

    def prompt(self, text: str) -> None:
        """The start of a line that the user will end."""
        self._pass_to(NOBODY, self._err)
        self._err.fresh()
        self._err.write(text)

    def entered(self) -> None:
        """The user ended the line."""
        self._err.at_start = True

    def end(self) -> None:
        """Leave both streams at the start of a line."""
        self._out.fresh()
        self._err.fresh()

    def _pass_to(self, writer: int, pen: LineStream) -> None:
        pens = (self._out, self._err) if self._shared else (pen,)
        for each in pens:
            if each.writer != writer:
                each.fresh()
            each.writer = writer
