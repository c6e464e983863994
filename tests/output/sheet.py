"""A page with a clock and a cell that remember, and what is expected of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from copilot_kernel.conversation.model import Entry, Notice
from copilot_kernel.output.output_area import OutputArea
from copilot_kernel.output.questions import ShownQuestion
from copilot_kernel.rendering.entry import render, render_group, render_text
from copilot_kernel.rendering.status import render_status

from .recording import Bundle, Loop, RecordingCell

LONG_AGO = 60.0
"""Seconds after which everything that waited has been sent."""
QUESTION = {"text/plain": "May it?", "text/html": "<p>May it?</p>"}
END = {"text/plain": "the end"}


class Card:
    """Buttons that note what they are told."""

    def __init__(self, sheet: Sheet, words: str) -> None:
        self._sheet, self._words = sheet, words

    def shifted(self) -> None:
        self._sheet.shifted.append(len(self._sheet.cell.sent))

    def close(self) -> None:
        self._sheet.withdrawn[self._words] = len(self._sheet.cell.sent)


def asked(entry_id: int, bundle: Bundle, buttons: Bundle | None = None, card: Card | None = None) -> ShownQuestion:
    """A question as an output area gets it."""
    return ShownQuestion(entry_id, asyncio.Event(), bundle, buttons, card)


class Sheet:
    """A page, its cell and its clock: after whatever happens, `then` is how much time passes."""

    def __init__(self) -> None:
        self.cell, self.loop = RecordingCell(), Loop()
        self.area = OutputArea(self.cell, self.loop)
        self.withdrawn: dict[str, int] = {}
        """Questions in the order in which they were withdrawn, and how much had been sent before."""
        self.shifted: list[int] = []
        """How much had been sent whenever buttons were told that they move."""

    @property
    def outputs(self) -> list[Bundle]:
        return self.cell.outputs

    def put(self, *entries: Entry, then: float = LONG_AGO) -> None:
        for entry in entries:
            self.area.put(entry)
        self.loop.pass_time(then)

    def status(self, words: str, then: float = LONG_AGO) -> None:
        self.area.status(words)
        self.loop.pass_time(then)

    def ask(
        self, about: int, question: Bundle = QUESTION, buttons: Bundle | None = None, then: float = LONG_AGO
    ) -> Callable[[Notice], None]:
        """Open a question about a call; what closes it."""

        close = self.area.open_question(asked(about, question, buttons, Card(self, question["text/plain"])))
        self.loop.pass_time(then)
        return close

    def end(self) -> None:
        """As a turn ends."""
        self.area.status("")
        self.area.settle()
        self.area.add(END, {})


def shown(*entries: Entry) -> RecordingCell:
    sheet = Sheet()
    for number, entry in enumerate(entries):
        sheet.put(entry, then=LONG_AGO if number < 10 else 0.0)
    sheet.area.settle()
    return sheet.cell


def group(*entries: Any) -> dict[str, Any]:
    return render(entries[0]) if len(entries) == 1 else render_group(entries)


def text(source: str) -> dict[str, Any]:
    return render_text("agent", source)


def passing(words: str) -> dict[str, Any]:
    return render_status(words)
