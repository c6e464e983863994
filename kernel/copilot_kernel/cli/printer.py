"""Who writes where: the answer on stdout, all else on stderr, so that no line begins in the middle of another.

What an agent says is written without control characters: it must not move the cursor, write to the clipboard or hide
what a question is about.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TextIO

import anyio

from ..rendering.blocks import KIB, Blocks
from ..rendering.plain import prose
from . import rich_markdown
from .status_line import DIM, PLAIN, REDRAW_SECONDS, StatusLine, takes_escapes

NO_WRITER = -1
_MAX_BLOCK_CHARS = 4 * KIB


class LineStream:
    """A stream that knows whether it is at the start of a line.

    `before` is called before each write, `on_lost` once, when its reader has gone.
    """

    def __init__(self, stream: TextIO, before: Callable[[], None], on_lost: Callable[[], None]) -> None:
        self.used, self.at_start, self.writer = False, True, NO_WRITER
        self._stream, self._before, self._on_lost, self._lost = stream, before, on_lost, False

    @property
    def pending(self) -> str:
        """Text of a message that is not written yet."""
        return ""

    def write(self, text: str, look: str = "") -> None:
        """Write `text` at once."""
        if text := prose(text):
            self._put(text, f"{look}{text}{PLAIN}" if look else text)

    def message(self, text: str, begins: bool) -> None:
        """Write a piece of a message; a blank line separates messages."""
        if begins and self.used:
            self.write("\n")
        self.write(text)

    def fresh(self) -> None:
        """Go to the start of a line."""
        if not self.at_start:
            self.write("\n")

    def _put(self, text: str, written: str) -> None:
        if self._lost:
            return
        self.used, self.at_start = True, text.endswith("\n")
        self._before()
        try:
            self._stream.write(written)
            self._stream.flush()
        except OSError:
            self._lost = True
            self._on_lost()


class MarkdownStream(LineStream):
    """A terminal on which messages are drawn block by block, each as soon as it is whole."""

    def __init__(
        self,
        stream: TextIO,
        before: Callable[[], None],
        on_lost: Callable[[], None],
        render: Callable[[str], str],
    ) -> None:
        super().__init__(stream, before, on_lost)
        self._render, self._blocks = render, _new_blocks()

    @property
    def pending(self) -> str:
        return self._blocks.tail

    def message(self, text: str, begins: bool) -> None:
        for block in self._blocks.feed(text):
            self._draw(block)

    def fresh(self) -> None:
        block, self._blocks = self._blocks.tail, _new_blocks()
        self._draw(block)
        super().fresh()

    def _draw(self, block: str) -> None:
        if drawn := self._render(block):
            text = f"\n{drawn}\n" if self.used else f"{drawn}\n"
            self._put(text, text)


class StreamPrinter:
    """Writes to stdout and stderr. On one screen the streams share its lines, in files each has its own.

    On a terminal the answer is drawn as Markdown if rich is installed, and there is a status line.
    """

    def __init__(
        self, out: TextIO, err: TextIO, on_lost: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._status = StatusLine(err, clock) if takes_escapes(err) else None
        self._err = LineStream(err, self._clear_status, on_lost)
        render = rich_markdown.renderer(out) if takes_escapes(out) else None
        plain = LineStream(out, self._clear_status, on_lost)
        self._out = MarkdownStream(out, self._clear_status, on_lost, render) if render else plain
        self._shared = out.isatty() and err.isatty()
        self._look = DIM if self._status else ""

    @property
    def has_status(self) -> bool:
        """Whether `status` shows anything."""
        return self._status is not None

    def status(self, words: str) -> None:
        """Say what is going on until anything is written or the words are replaced; an empty string says nothing."""
        if self._status:
            self._status.show(words)
            self._draw_status()

    async def keep_status(self, sleep: Callable[[float], Awaitable[None]] = anyio.sleep) -> None:
        """Draw the status line again and again, until cancelled."""
        while self._status:
            await sleep(REDRAW_SECONDS)
            self._draw_status()

    def answer(self, writer: int, text: str, begins: bool) -> None:
        """A piece of message number `writer`; a blank line separates messages, as in the text of the turn."""
        self._switch_to(writer, self._out)
        self._out.message(text, begins)

    def aside(self, writer: int, text: str) -> None:
        """A piece of a thought."""
        self._switch_to(writer, self._err)
        self._err.write(text, self._look)

    def line(self, text: str) -> None:
        """One or more whole lines beside the answer."""
        self._switch_to(NO_WRITER, self._err)
        self._err.write(text.rstrip("\n") + "\n")

    def prompt(self, text: str) -> None:
        """The start of a line that the user will end."""
        self._switch_to(NO_WRITER, self._err)
        self._err.fresh()
        self._err.write(text)

    def entered(self) -> None:
        """The user ended the line."""
        self._err.at_start = True

    def end(self) -> None:
        """Leave both streams at the start of a line, without a status line."""
        self._out.fresh()
        self._err.fresh()
        self.status("")

    def _switch_to(self, writer: int, stream: LineStream) -> None:
        streams = (self._out, self._err) if self._shared else (stream,)
        for each in streams:
            if each.writer != writer:
                each.fresh()
            each.writer = writer

    def _draw_status(self) -> None:
        if self._status and self._err.at_start and (self._out.at_start or not self._shared):
            self._status.draw(self._out.pending)

    def _clear_status(self) -> None:
        if self._status:
            self._status.clear()


def _new_blocks() -> Blocks:
    return Blocks(lambda number: 1, _MAX_BLOCK_CHARS)
