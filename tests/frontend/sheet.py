"""A page with a clock and a cell that remember, and what is expected of them."""

from __future__ import annotations

from typing import Any

from copilot_kernel.conversation.model import Entry
from copilot_kernel.frontend.output_area import OutputArea
from copilot_kernel.rendering.entry import render, render_group, render_text
from copilot_kernel.rendering.status import render_status

from .recording import Loop, RecordingCell

LONG_AGO = 60.0
"""Seconds after which everything that waited has been sent."""


def page() -> tuple[OutputArea, RecordingCell, Loop]:
    cell, loop = RecordingCell(), Loop()
    return OutputArea(cell, loop), cell, loop  # type: ignore[arg-type]


def shown(*entries: Entry) -> RecordingCell:
    sheet, cell, loop = page()
    for number, entry in enumerate(entries):
        sheet.put(entry)
        loop.pass_time(LONG_AGO if number < 10 else 0.0)
    sheet.settle()
    return cell


def group(*entries: Any) -> dict[str, Any]:
    return render(entries[0]) if len(entries) == 1 else render_group(entries)


def text(source: str) -> dict[str, Any]:
    return render_text("agent", source)


def passing(words: str) -> dict[str, Any]:
    return render_status(words)
