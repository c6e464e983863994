"""Commands in a cell: what they show, a picker where there are widgets, and a typed choice in consoles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from copilot_widgets.field import PickerField

from ..conversation.form import InputError
from ..conversation.model import Notice
from ..errors import UsageError
from ..rendering.entry import render_notice
from ..rendering.report import render_done
from ..rendering.typed_answer import find_index, read_line
from .cell import Bundle, Cell
from .command_output import DECLINED, UNCHANGED, WIDEN_HINT, WIDENS, Apply, CommandOutput, Menu
from .display import Display, ask
from .open_question import AskLine
from .other_questions import Confirmation
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
        """Ask as `CommandOutput.confirm` does. Each question is asked once in a kernel."""
        if not self._cell.live:
            raise UsageError(WIDENS.format(widening), WIDEN_HINT)
        if widening in self._confirmed:
            return
        if (await ask(self._cell, Confirmation(f"{widening}. Allow this?", (allow, NO)))).action != "accept":
            raise UsageError(DECLINED.format(widening))
        self._confirmed.add(widening)

    async def choose(self, menu: Menu, apply: Apply) -> None:
        """Offer choices as `CommandOutput.choose` does. A console waits for a line of input."""
        if is_cell(self._cell.cell_id):
            await asyncio.sleep(HOLD_SECONDS)
        if self._cell.widgets:
            self._pickers.show(self._cell, menu, apply)
        elif self._cell.live and self._cell.cell_id is None and not menu.by_button_only:
            self.show(menu.static)
            pick = await read_pick(self._cell.input, menu.fields)
            line = await apply(*pick) if pick else ""
            self.display(render_done(line) if line else render_notice(Notice(-1, 0, "info", UNCHANGED)))
        else:
            self.show(menu.static)

    @contextmanager
    def replay(self, folder: str) -> Iterator[Display]:
        """A view that shows an earlier conversation; paths in `folder` are shown relative to it."""
        display = Display(self._cell, cwd=folder, replays=True)
        try:
            yield display
        finally:
            display.close()


async def read_pick(ask: AskLine, fields: Sequence[PickerField]) -> tuple[int, int] | None:
    """The field that is typed, if there are several, and the choice for it; None for an empty line, or none."""
    with suppress(EOFError):
        field = 0 if len(fields) == 1 else await _choice(ask, [each.label for each in fields])
        choice = None if field is None else await _choice(ask, fields[field].names, fields[field].words)
        return None if field is None or choice is None else (field, choice)
    return None


async def _choice(ask: AskLine, names: Sequence[str], words: Sequence[str] = ()) -> int | None:
    """The index whose name, word or number was typed; None for an empty line."""
    names = [" ".join(name.split()) for name in names]
    prompt = "  ".join(f"{number}) {name}" for number, name in enumerate(names, 1))

    def read(line: str) -> int | None:
        index = find_index(line, names, words)
        if index is None and line.strip():
            raise InputError
        return index

    return await read_line(ask, f"{prompt}  ({LEAVE}): ", read)
