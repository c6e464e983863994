"""What a cell reports besides what it does: about settings, an exposed agent, and what is not the default."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..config import UNREAD
from ..output import vs_code
from ..output.cell import Cell
from . import gateway

if TYPE_CHECKING:
    from ..commands.command_context import CommandContext
    from ..config import Settings
    from ..output.cell_output import CellOutput

EXPOSED = (
    "Careful: {} needs no login, so {} can use it, list its conversations, and act with the rights of whoever started "
    "it. Let the kernel start the agent instead, with its command line: %agent copilot --acp\n"
)


class Notices:
    """The notices of one kernel: the next cell reports each once, as a warning."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        """Those that a batch run reports, too."""
        self.is_introduced = False
        """True once the user was told what is not the default."""
        # Rules that mean more than they seem to: for the next cell that is not a batch run's.
        self._warnings: list[str] = []
        # The agent whose exposure was checked last.
        self._checked = ""

    def note(self, settings: Settings, environ: Mapping[str, str]) -> None:
        """Note what is wrong with `settings`, which were read now."""
        from ..permissions.rulebook import Rulebook

        book = Rulebook.of(settings)
        self.lines += gateway.notices(settings, environ)
        problems = [each for each in (*settings.problems, *book.problems) if each not in settings.unread]
        self.lines += [f"Setting ignored: {problem}\n" for problem in problems]
        self._warnings += [f"Careful: {warning}\n" for warning in book.warnings]

    def report(self, cell: Cell) -> None:
        """Report what waits."""
        from ..rendering.report import Report, render_report

        notices, self.lines = self.lines, []
        if cell.live:
            notices, self._warnings = [*notices, *self._warnings], []
        for notice in notices:
            cell.display(render_report(Report(note=notice.rstrip(), warns=True)))

    async def report_before_prompt(self, cell: Cell, context: CommandContext, output: CellOutput) -> None:
        """Report what waits, whether others can use the agent, and once what is not the default."""
        from ..acp.tcp import exposed_to
        from ..chat.introduction import introduction
        from ..commands.permission_commands import offer_variables
        from ..conversation.model import Notice
        from ..rendering.entry import render_notice

        agent = context.settings.agent
        self.lines += [UNREAD.format(each) for each in context.settings.unread]
        if cell.live and agent != self._checked:  # outputs of a batch run must not depend on the machine
            self._checked = agent
            others = await asyncio.to_thread(exposed_to, agent)
            self.lines += [EXPOSED.format(agent, others)] if others else []
        self.report(cell)
        if not self.is_introduced:
            self.is_introduced, now = True, context.situation(cell.live)
            if line := await asyncio.to_thread(introduction, now.settings, now.in_force.mode):
                cell.display(render_notice(Notice(-1, 0, "info", line)))
            await offer_variables(context, output)
            if cell.traits.why_fixed and now.settings.notebook_tools:
                cell.display(render_notice(Notice(-1, 0, "info", vs_code.AS_SAVED)))
