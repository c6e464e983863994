"""A cell's output where nothing can be drawn again (Jupyter console): text as it comes, everything else once.

A tool call is printed when it is over, thoughts and plans when the agent goes on to something else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, assert_never

from ..conversation.model import FINAL, Attachment, Entry, Message, Notice, Plan, ToolCall
from ..rendering.entry import render
from ..rendering.plain import prose
from ..views.pacer import Pacer
from .cell import Bundle, Cell
from .questions import ShownQuestion, TurnOutput


class Console(TurnOutput):
    """Everything that one cell prints."""

    def __init__(self, cell: Cell, loop: asyncio.AbstractEventLoop, cwd: str = "") -> None:
        self._cell, self._cwd = cell, cwd
        self._waiting: dict[int, Entry] = {}
        # The entries, and of a message how many characters.
        self._printed: dict[int, int] = {}
        self._text = ""
        self._line_ended = True
        self._pacer = Pacer(loop, self._flush)

    def put(self, entry: Entry) -> None:
        """Print what is new of `entry`, or keep it until it is over."""
        if entry.id not in self._printed and entry.id not in self._waiting:
            self._print_waiting(calls=False)
        if isinstance(entry, Message) and entry.speaker == "agent":
            self._put_text(entry)
        elif entry.id not in self._printed:
            self._waiting[entry.id] = entry
            if _is_over(entry):
                self._print(entry)

    def open_question(self, shown: ShownQuestion) -> Callable[[Notice], None]:
        """Print a question. Its tool call shows the decision, or, if there is none, a line does."""
        self._display(shown.bundle)
        shown.shown.set()
        return self.put if shown.entry_id < 0 else lambda line: None

    def settle(self) -> None:
        """Print everything that waits."""
        self._print_waiting(calls=True)
        self._flush()

    def add(self, bundle: Bundle, metadata: dict[str, Any]) -> str:
        """Print one thing more, which cannot be updated."""
        self._display(bundle, metadata)
        return ""

    def _put_text(self, message: Message) -> None:
        if message.id not in self._printed:
            self._end_line()
        self._text += "".join(message.text.parts(self._printed.get(message.id, 0)))
        self._printed[message.id] = len(message.text)
        self._pacer.wake()

    def _flush(self) -> None:
        self._pacer.stop()
        if self._text:
            self._pacer.next_at = self._pacer.rest(self._pacer.now, len(self._text))
            self._line_ended = self._text.endswith("\n")
            self._cell.stream(prose(self._text))
            self._text = ""

    def _end_line(self) -> None:
        self._flush()
        if not self._line_ended:
            self._cell.stream("\n")
            self._line_ended = True

    def _display(self, bundle: Bundle, metadata: dict[str, Any] | None = None) -> None:
        self._end_line()
        self._cell.display(bundle, metadata=metadata)

    def _print(self, entry: Entry) -> None:
        self._waiting.pop(entry.id, None)
        self._printed[entry.id] = 0
        self._display(render(entry, self._cwd))

    def _print_waiting(self, calls: bool) -> None:
        for entry in list(self._waiting.values()):
            if calls or not isinstance(entry, ToolCall):
                self._print(entry)


def _is_over(entry: Entry) -> bool:
    """Return True if nothing that matters will be added to an entry."""
    match entry:
        case ToolCall():
            return entry.status in FINAL
        case Message() | Plan():
            return False
        case Attachment() | Notice():
            return True
        case _:
            assert_never(entry)
