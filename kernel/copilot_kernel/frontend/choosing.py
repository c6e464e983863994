"""Commands in a cell: what they show, and a choice by a picker or a line of input, while the cell waits.

Afterwards a line stands where the picker stood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from copilot_widgets.field import PickerField, Picks

from ..conversation.model import Notice
from ..errors import CopilotError
from ..rendering.entry import render_notice
from ..rendering.question import find_index
from ..rendering.report import render_report
from .answering import MAX_ATTEMPTS, AnswerWidgets, answer_in_cell
from .asking import Asking
from .cell import Bundle, Cell
from .command_output import Apply, CommandOutput, Menu
from .display import Display
from .slots import OpenQuestion

if TYPE_CHECKING:
    from copilot_widgets.picker import Picker

UNCHANGED = "Nothing changed."
FAILED = "This could not be set, or not all of it."
UNSURE = "Interrupted while applying the choice; it may have taken effect."
LEAVE = "leave empty to change nothing"


# The choice that changes nothing.
_NOTHING: Picks = ()


class CellOutput(CommandOutput):
    """The `CommandOutput` of a notebook cell, or of a cell in a console."""

    def __init__(self, cell: Cell) -> None:
        self._cell, self.live = cell, cell.live

    def display(self, data: Bundle, /) -> None:
        """Show one more thing."""
        self._cell.display(data)

    def stream(self, text: str, name: str = "stdout") -> None:
        """Show plain text; `name` is stdout or stderr."""
        self._cell.stream(text, name)

    async def choose(self, menu: Menu, apply: Apply) -> None:
        """Let the user choose, and apply it; in a batch run, show the list. Raises what `apply` raises."""
        if self._cell.widgets or (self._cell.live and not menu.by_button_only):
            await choose(self._cell, menu, apply)
        else:
            self.show(menu.static)

    @contextmanager
    def replay(self, folder: str) -> Iterator[Display]:
        """A view that shows an earlier conversation; paths in `folder` are shown relative to it."""
        display = Display(self._cell, Asking(self._cell, folder), cwd=folder, replays=True)
        try:
            yield display
        finally:
            display.close()


async def choose(cell: Cell, menu: Menu, apply: Apply) -> None:
    """Let the user choose, and apply it. `cell` must be live. Raises what `apply` raises."""
    display_id, pickers = uuid4().hex, list[OpenQuestion]()

    def show(question: OpenQuestion) -> None:
        cell.display({**(question.buttons or {}), **question.bundle}, display_id=display_id)
        if question.buttons:
            pickers.append(question)

    result = UNCHANGED
    try:
        picks = await answer_in_cell(
            cell,
            show,
            static=render_report(menu.static),
            make_widgets=lambda: AnswerWidgets(cell, partial(_picker, menu)),
            typed=partial(_typed, cell, menu.fields),
            unseen=_NOTHING,
            undecided=_NOTHING,
        )
        if picks:
            result = UNSURE
            result = await apply(picks) or UNCHANGED
    except CopilotError:
        result = FAILED
        raise
    finally:
        line = render_notice(Notice(-1, 0, "info", result))
        if not pickers:
            cell.display(line)
        for picker in pickers:
            cell.update(line, display_id=display_id)
            picker.withdraw()


def _picker(menu: Menu, settle: Callable[[Picks], None]) -> Picker:
    from copilot_widgets.picker import Picker

    return Picker(menu.fields, menu.button, lambda picks: settle(picks or _NOTHING))


async def _typed(cell: Cell, fields: Sequence[PickerField]) -> Picks | None:
    """Of several fields, first which one; the others stay. None at the end of input."""
    try:
        place = 0 if len(fields) == 1 else await _line(cell, [field.label for field in fields])
        number = None if place is None else await _line(cell, fields[place].names, fields[place].words)
    except EOFError:
        return None
    if number is None:
        return _NOTHING
    return tuple(number if each == place else field.current for each, field in enumerate(fields))


async def _line(cell: Cell, names: Sequence[str], words: Sequence[str] = ()) -> int | None:
    """The index whose name, word or number was typed; None for an empty line.

    Raises EOFError at the end of input, and after too many lines that are none of these.
    """
    names = [" ".join(name.split()) for name in names]
    prompt = "  ".join(f"{number}) {name}" for number, name in enumerate(names, 1))
    for _ in range(MAX_ATTEMPTS):
        typed = await cell.input(f"{prompt}  ({LEAVE}): ")
        if not typed.strip():
            return None
        if (index := find_index(typed, names, words)) is not None:
            return index
    raise EOFError("no choice was typed")
