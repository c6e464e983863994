"""Commands in a cell: what they show, a picker where there are widgets, and a typed choice in consoles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from copilot_widgets.field import PickerField

from ..conversation.model import Notice
from ..errors import UsageError
from ..rendering.entry import render_notice
from ..rendering.report import render_done, render_report
from ..rendering.typed_answer import find_index
from .answering import MAX_ATTEMPTS
from .asking import Asking
from .cell import Bundle, Cell
from .command_output import DECLINED, UNCHANGED, WIDEN_HINT, WIDENS, Apply, CommandOutput, Menu
from .display import Display
from .pickers import Pickers
from .vs_code import HOLD_SECONDS, is_cell

NO = "Don't"
LEAVE = "leave empty to change nothing"


class CellOutput(CommandOutput):
    """The `CommandOutput` of a notebook cell, or of a cell in a console. `confirmed`: what the user allowed before."""

    def __init__(self, cell: Cell, pickers: Pickers, confirmed: set[str]) -> None:
        self._cell, self._pickers, self._confirmed, self.live = cell, pickers, confirmed, cell.live

    def display(self, data: Bundle, /) -> None:
        """Show one more thing."""
        self._cell.display(data)

    def stream(self, text: str, name: str = "stdout") -> None:
        """Show plain text; `name` is stdout or stderr."""
        self._cell.stream(text, name)

    async def confirm(self, widening: str, allow: str) -> None:
        """See `CommandOutput.confirm`. Each is asked once in a kernel."""
        if not self._cell.live:
            raise UsageError(WIDENS.format(widening), WIDEN_HINT)
        if widening in self._confirmed:
            return
        display = Display(self._cell, Asking(self._cell))
        try:
            if not await display.confirm(f"{widening}. Allow this?", (allow, NO)):
                raise UsageError(DECLINED.format(widening))
        finally:
            display.close()
        self._confirmed.add(widening)

    async def choose(self, menu: Menu, apply: Apply) -> None:
        """See `CommandOutput.choose`. A console waits for a line of input."""
        if is_cell(self._cell.cell_id):
            await asyncio.sleep(HOLD_SECONDS)
        if self._cell.widgets:
            self._pickers.show(self._cell, menu, apply)
        elif self._cell.live and self._cell.cell_id is None and not menu.by_button_only:
            await choose_typed(self._cell, menu, apply)
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


async def choose_typed(cell: Cell, menu: Menu, apply: Apply) -> None:
    """Show what can be chosen, and apply what is typed. Raises what `apply` raises."""
    cell.display(render_report(menu.static))
    pick = await _typed(cell, menu.fields)
    line = await apply(*pick) if pick else ""
    cell.display(render_done(line) if line else render_notice(Notice(-1, 0, "info", UNCHANGED)))


async def _typed(cell: Cell, fields: Sequence[PickerField]) -> tuple[int, int] | None:
    """Of several fields, first which one."""
    try:
        field = 0 if len(fields) == 1 else await _line(cell, [field.label for field in fields])
        choice = None if field is None else await _line(cell, fields[field].names, fields[field].words)
    except EOFError:
        return None
    return None if field is None or choice is None else (field, choice)


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
