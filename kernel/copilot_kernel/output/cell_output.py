"""Commands in a cell: what they show, and a picker where there are widgets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..chat import TurnEnd, TurnOutcome, View
from ..commands.command_output import DECLINED, WIDEN_HINT, WIDENS, Apply, CommandOutput, Menu
from ..errors import UsageError
from ..views.other_questions import Confirmation
from .cell import Bundle, Cell
from .display import Display, ask
from .pickers import Pickers
from .questions import Reporter

NO = "Don't"


class CellOutput(CommandOutput):
    """The `CommandOutput` of a notebook cell, or of a cell in a console. `confirmed`: what the user allowed before."""

    def __init__(self, cell: Cell, reporter: Reporter, pickers: Pickers, confirmed: set[str]) -> None:
        self._cell, self._reporter, self._pickers, self._confirmed = cell, reporter, pickers, confirmed
        self.live, self.wording = cell.live, cell.wording

    def display(self, data: Bundle, /) -> None:
        """Show one more thing."""
        self._cell.display(data)

    async def confirm(self, widening: str, allow: str) -> None:
        """Ask as `CommandOutput.confirm` does. Each question is asked once in a kernel."""
        if not self._cell.live:
            raise UsageError(WIDENS.format(widening), WIDEN_HINT)
        if widening in self._confirmed:
            return
        question = Confirmation(f"{widening}. Allow this?", (allow, NO))
        if (await ask(self._cell, self._reporter, question)).action != "accept":
            raise UsageError(DECLINED.format(widening))
        self._confirmed.add(widening)

    async def choose(self, menu: Menu, apply: Apply) -> None:
        """Offer choices as `CommandOutput.choose` does."""
        await asyncio.sleep(self._cell.traits.hold)
        if self._cell.widgets:
            self._pickers.show(self._cell, menu, apply)
        else:
            self.show(menu.static)

    async def replay(self, folder: str, resume: Callable[[View], Awaitable[TurnOutcome]]) -> TurnOutcome:
        """Show an earlier conversation as `CommandOutput.replay` does."""
        display = Display(self._cell, self._reporter, cwd=folder, replays=True)
        try:
            turn = await resume(display)
            await display.drawn()
            display.finish(TurnEnd.reported(turn, folder))
        finally:
            display.close()
        return turn
