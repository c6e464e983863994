"""A kernel's chat: what a cell asks for, from its text to its end, and what the next cell has to report besides."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from ..errors import AuthRequired, CopilotError
from . import vs_code
from .cell import Cell
from .chat_runner import ChatRunner
from .command_context import CommandContext
from .first_status import first_status
from .notebook_turn import CurrentNotebook, MakeNotebook, TurnNotebook
from .page_turn import PageTurn
from .pickers import Pickers
from .saved_notebook import saved_id

if TYPE_CHECKING:
    from ..acp.messages import Block
    from ..chat import Chat, SessionStore, Turn
    from ..config import Settings
    from .display import Display
    from .rerun import OldTurn, Reruns

NOTICE = (
    "A question was cancelled because no open page showed it: {}\n"
    "A page that is reloaded before the notebook is saved loses its open questions. Run the prompt again.\n"
)
"""For the next cell: the page with the one that asked is gone."""
MAX_UNDONE = 20
"""Turns whose cells show that they were undone: the last ones that changed something."""
SIGN_IN = "The agent can sign you in now"
EXPOSED = (
    "Careful: {} needs no login, so {} can use it, list its conversations, and act with the rights of whoever started "
    "it. Let the kernel start the agent instead, with its command line: %agent copilot --acp\n"
)


class KernelSession(ChatRunner):
    """The chat of one kernel, and its cells.

    `before` is what an earlier session of this process left when it ended: this one goes on there. `guard_seconds`:
    see `Card`. The agent gets tools for the notebook of `live`, if there is one. `environ` is the environment with
    which the process was started, and `started_in` the folder, where cells can change them; `own_agent`: see
    `config.load`.
    """

    def __init__(
        self,
        before: SessionStore | None = None,
        guard_seconds: float | None = None,
        live: CurrentNotebook | None = None,
        environ: Mapping[str, str] | None = None,
        own_agent: str = "",
        started_in: str = "",
    ) -> None:
        self._environ, self._own_agent = os.environ if environ is None else environ, own_agent
        self._started_in = started_in or os.getcwd()  # noqa: TID251
        self._before, self._guard_seconds, self._live = before, guard_seconds, live
        super().__init__(self._new_chat)
        self.command_context = CommandContext(self, self._load_settings)
        self._pickers = Pickers(self.idle)
        # Of the last prompt.
        self._page = PageTurn()
        # What commands in cells were allowed to widen.
        self._confirmed: set[str] = set()
        # The cell that ran last was not a batch run's.
        self._watched = False
        self.is_introduced = False
        """What is not the default was said."""
        self.notices: list[str] = []
        """Lines that the next cell reports, also in a batch run."""
        # The session of a client that has gone, and a question that it alone showed: for a cell of another client.
        self._unseen: list[tuple[str, str]] = []
        # The agent whose exposure was checked last.
        self._checked = ""
        # Rules that mean more than they seem to: for the next cell that is not a batch run's.
        self._warnings: list[str] = []

    @property
    def left(self) -> SessionStore | None:
        """What a later session of this process may go on with."""
        return self.chat.store if self.chat else self._before

    async def run(
        self,
        cell: Cell,
        code: str,
        make_notebook: MakeNotebook | None = None,
        values: Mapping[str, str] | None = None,
    ) -> Turn | None:
        """Do what a cell asks for; the turn of its prompt, if it has one. Shows a CopilotError, and raises it.

        `code` is what was written in the cell; `values` go with its prompt, by their names, as data. `make_notebook`
        makes the live notebook of the turn.
        """
        self._watched = cell.live
        if vs_code.is_cell(cell.cell_id) and (path := vs_code.notebook_of(cell.cell_id or "")):
            os.environ["JPY_SESSION_NAME"] = path  # as Jupyter's server does
            cell.saved_id = await asyncio.to_thread(saved_id, path, cell.source)
        with first_status(cell, code):
            try:
                return await self._run(cell, code, make_notebook, dict(values or {}))
            except AuthRequired as error:
                # First of all: an agent that is started again may have forgotten the conversation.
                if cell.live and error.method != "authenticate" and any(each.is_askable for each in error.methods):
                    from .cell_output import CellOutput

                    with suppress(CopilotError):  # which is shown
                        await CellOutput(cell, self._pickers, set()).confirm(SIGN_IN, "Sign in")
                        await self._run(cell, "%login", None, {})
                raise

    async def _run(
        self, cell: Cell, code: str, make_notebook: MakeNotebook | None, values: dict[str, str]
    ) -> Turn | None:
        from ..rendering.failure import render_failure
        from . import commands
        from .cell_output import CellOutput

        turn, key = None, f"{code}{values or ''}"
        try:
            steps = await commands.read(self.command_context, code)
            if steps and isinstance(steps[-1], commands.Prompt):
                kept = await self._reruns.begin(cell, key, self.command_context.settings, make_notebook)
                if kept is not None:
                    return kept.answer
            for step in steps:
                match step:
                    case commands.Command(name):
                        self._pickers.close(name)
                        if name == "undo" and make_notebook is not None:
                            self.command_context.notebook = make_notebook()
                        await commands.run(self.command_context, CellOutput(cell, self._pickers, self._confirmed), step)
                    case commands.Prompt(text):
                        notebook = make_notebook() if make_notebook is not None else None
                        async with self._opened(notebook):
                            turn = await self._prompt(cell, key, text, values, notebook)
        except CopilotError as error:
            cell.display(render_failure(error))
            raise
        finally:
            self._pickers.close_stale()
            self.report_notices(cell)
        if turn is not None and turn.failure is not None:
            raise turn.failure
        return turn

    @cached_property
    def _reruns(self) -> Reruns:
        from .rerun import Reruns

        return Reruns()

    def _opened(self, notebook: TurnNotebook | None) -> AbstractAsyncContextManager[object]:
        """Inside, the live notebook is open to the agent, if that gets tools for it."""
        if self._live is None or notebook is None or not self.command_context.settings.notebook_tools:
            return nullcontext()
        return self._live.turn(notebook, self._agent_title)

    def _agent_title(self) -> str:
        info = self.chat.info if self.chat else None
        return (info.title or info.name) if info else ""

    async def _prompt(
        self, cell: Cell, key: str, text: str, values: dict[str, str], notebook: TurnNotebook | None
    ) -> Turn:
        """The turn, as it is shown in the cell, also if it has failed. `key`: see `OldTurn.prompt`."""
        from .display import Display

        settings, turn = self.command_context.settings, None
        blocks = await self._collect(text, values, notebook)
        if cell.live:
            await self._check_exposure()
        self.report_notices(cell)
        await self._introduce(cell)
        page = self._page = notebook.page_turn if notebook and settings.notebook_tools else PageTurn()
        before = {*cell.shown} - {cell.status_id}
        display = Display(
            cell,
            cwd=settings.folder,
            activity_timeout=settings.activity_timeout,
            page=page,
            guard_seconds=self._guard_seconds,
        )
        try:
            try:
                turn = await self.ask(blocks, display)
            finally:
                undo = self._noted_for_undo(notebook)
            turn = replace(turn, undo=undo)
            await self._finish(turn, display)
        finally:
            display.close()
            self._unseen += [(cell.session, title) for title in display.questions.unseen]
            self._note_rerun(cell, key, turn, display, before)
        return turn

    async def _collect(self, text: str, values: dict[str, str], notebook: TurnNotebook | None) -> list[Block]:
        """What goes to the agent: the text, and what it mentions."""
        from ..acp.messages import TextBlock
        from ..chat.attachments import mentions
        from . import context

        settings = self.command_context.settings
        found = context.value_resources(values)
        if notebook is not None:
            text = context.FIX_PROMPT if text == context.FIX and notebook.has_variables else text
            found += await context.collect(text, notebook, settings)
        return [TextBlock(text), *mentions(text, settings.folder), *found]

    async def _finish(self, turn: Turn, display: Display) -> None:
        """Show what `turn` has changed; an interrupt leaves it its ending."""
        cells, changes = list[tuple[str, str, str]](), None
        try:
            cells += await self._live.touched_cells() if self._live else ()
            changes = await self.changes(turn)
            await display.drawn()
        finally:
            display.finish(turn, cells, changes)

    def _note_rerun(self, cell: Cell, key: str, turn: Turn | None, display: Display, before: set[object]) -> None:
        """Note the turn for the next run of its cell, which showed `before` until then."""
        from .rerun import OldTurn

        is_answer = turn is not None and turn.failure is None
        if is_answer or display.changed_files:  # else nothing was done, and the turn before it is still the last
            is_kept = is_answer and self.command_context.settings.rerun != "run"  # else it is never shown again
            answer = turn if is_kept else None
            shown = tuple(each for name, each in cell.shown.items() if name not in before) if is_kept else ()
            old = OldTurn(key, display.changed_files, shown, answer)
            self._reruns.end(cell, old)
            if turn is not None and turn.undo:
                undone = self.command_context.undone | {turn.undo: partial(_undone, display, old)}
                self.command_context.undone = dict(list(undone.items())[-MAX_UNDONE:])

    async def _introduce(self, cell: Cell) -> None:
        """Say once what is not the default."""
        from ..chat.trust import introduction
        from ..conversation.model import Notice
        from ..rendering.entry import render_notice

        if not self.is_introduced:
            self.is_introduced = True
            now = self.command_context.situation(cell.live)
            if line := await asyncio.to_thread(introduction, now.settings, now.in_force.mode):
                cell.display(render_notice(Notice(-1, 0, "info", line)))
            if vs_code.is_cell(cell.cell_id) and now.settings.notebook_tools:
                cell.display(render_notice(Notice(-1, 0, "info", vs_code.AS_SAVED)))

    def _noted_for_undo(self, notebook: TurnNotebook | None) -> str:
        """Note the cells that the turn has changed. What `%undo` takes for it; empty if it has changed nothing."""
        if self.chat is None:
            return ""
        undo, number = self.chat.undo, self.chat.conversation.turn
        if notebook is not None:
            undo.leave_out(notebook.paths)
            undo.add_cells(number, notebook.log)
        return undo.key(number)

    def report_notices(self, cell: Cell) -> None:
        """Report each once, as a warning in the cell."""
        from ..rendering.report import Report, render_report

        lost = [title for session, title in self._unseen if session != cell.session]
        self._unseen = [each for each in self._unseen if each[0] == cell.session]
        notices, self.notices = [*self.notices, *map(NOTICE.format, lost)], []
        if cell.live:
            notices, self._warnings = [*notices, *self._warnings], []
        for notice in notices:
            cell.display(render_report(Report(note=notice.rstrip(), warns=True)))

    async def _check_exposure(self) -> None:
        """Not in a batch run: its outputs must not depend on the machine."""
        agent = self.command_context.settings.agent
        if agent == self._checked:
            return
        self._checked = agent
        from ..acp.tcp import exposed_to

        if others := await asyncio.to_thread(exposed_to, agent):
            self.notices.append(EXPOSED.format(agent, others))

    async def reserve_chat(self, settings: Settings) -> Chat | None:
        """Open the chat that the first prompt needs, if its settings are still `settings` then; see `reserve`."""
        key = _notebook_key()

        def fits() -> bool:
            return key == self._key and asdict(settings) == asdict(self.command_context.settings)

        return await self.reserve(lambda: self._chat_of(settings, key), fits)

    def _new_chat(self) -> Chat:
        return self._chat_of(self.command_context.settings, self._key)

    @property
    def _key(self) -> str:
        """A batch run begins a session that no notebook remembers."""
        return _notebook_key() if self._watched else ""

    def _chat_of(self, settings: Settings, key: str) -> Chat:
        from ..chat import open_chat

        place = f"notebook {os.environ['JPY_SESSION_NAME']}" if key else ""
        chat = open_chat(settings, key, place=place, live=self._live)
        chat.observers.append(lambda _: self._page.report(chat.standing))
        before, self._before = self._before, None
        if before is not None:
            chat.store.follow(before)
        return chat

    def load(self) -> Settings:
        """Read the settings."""
        from .. import config
        from .gateway import notebook_folder

        start_folder = notebook_folder(self._environ) or self._started_in
        return config.load(self._environ, own_agent=self._own_agent, start_folder=start_folder)

    def _load_settings(self) -> Settings:
        from ..permissions.rulebook import Rulebook
        from . import gateway

        settings = self.load()
        self.notices += gateway.notices(settings, self._environ)
        book = Rulebook.of(settings)
        self.notices += [f"Setting ignored: {problem}\n" for problem in (*settings.problems, *book.problems)]
        self._warnings += [f"Careful: {warning}\n" for warning in book.warnings]
        return settings


def _notebook_key() -> str:
    from .gateway import notebook_key

    return notebook_key(os.environ)


def _undone(display: Display, old: OldTurn, files: Sequence[str], cells: Sequence[str]) -> None:
    """What was restored is no longer what the prompt's last turn changed."""
    display.undone(files, cells)
    old.files = display.changed_files
