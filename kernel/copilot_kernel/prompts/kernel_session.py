"""A kernel's chat: what a cell asks for, from its text to its end, and what the next cell has to report besides."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import cached_property, partial
from typing import TYPE_CHECKING

from ..acp.messages import Block, TextBlock
from ..commands.chat_runner import ChatRunner
from ..commands.command_context import CommandContext
from ..config_reader import load_settings
from ..environment import environment_of
from ..errors import AgentNotFound, AuthRequired, CopilotError
from ..output import vs_code
from ..output.cell import Cell
from ..output.pickers import Pickers
from ..pages.page_notebook import PageNotebook
from ..pages.page_reporter import PageReporter
from ..pages.saved_notebook import saved_id
from . import gateway
from .agent_menu import AgentMenu
from .notices import Notices

if TYPE_CHECKING:
    from ..chat import Chat, TurnOutcome
    from ..commands.command_table import Command
    from ..config import Settings
    from ..output.cell_output import CellOutput
    from ..output.display import Display
    from ..rendering.markup import Bundle
    from .rerun import OldTurn, Reruns

MAX_UNDONE = 20
"""Turns whose cells show that they were undone: the last ones that changed something."""


class KernelSession:
    """The chat of one kernel, and its cells.

    The agent gets tools for `notebook`, if there is one. `environ` is the environment with which the process was
    started, and `started_in` the folder, where cells can change them; `own_agent`: see `load_settings`.
    """

    def __init__(
        self,
        notebook: PageNotebook | None = None,
        environ: Mapping[str, str] | None = None,
        own_agent: str = "",
        started_in: str = "",
    ) -> None:
        self._environ, self._own_agent = os.environ if environ is None else environ, own_agent
        self._started_in = started_in or os.getcwd()  # noqa: TID251
        self._notebook = notebook
        self.runner, self.notices = (
            ChatRunner(lambda: self._chat_of(self.command_context.settings, self._key)),
            Notices(),
        )
        self.command_context = CommandContext(self.runner, self._load_settings, notebook)
        self._pickers = Pickers(self.runner.idle)
        self._menu = AgentMenu(self.command_context, self.load, notebook.pages) if notebook and notebook.pages else None
        # The view of the command that runs.
        self._asker: Display | None = None
        # What commands in cells were allowed to widen.
        self._confirmed: set[str] = set()
        # The cell that ran last was not a batch run's.
        self._watched = False

    async def run(self, cell: Cell, code: str, values: Mapping[str, str] | None = None) -> TurnOutcome | None:
        """Do what a cell asks for; the turn of its prompt, if it has one. Shows a CopilotError, and raises it.

        `code` is what was written in the cell; `values` go with its prompt, by their names, as data.
        """
        if path := vs_code.notebook_of(cell.cell_id or ""):
            os.environ["JPY_SESSION_NAME"] = path  # as Jupyter's server does
            cell.saved_id = await asyncio.to_thread(saved_id, path, cell.source)
        async with self._notebook.asked_by(cell) if self._notebook else nullcontext():
            self._watched = cell.live  # known only here: a page may have claimed it
            try:
                return await self._run(cell, code, dict(values or {}))
            except AuthRequired as error:
                if not (cell.live and error.is_askable and error.method != "authenticate"):
                    raise
                from ..output.display import ask
                from ..views.other_questions import SignIn

                timeout = self.command_context.settings.activity_timeout
                if (await ask(cell, self._reporter, SignIn(), timeout)).action != "accept":
                    raise
                # At once: an agent that is started again may have forgotten the conversation.
                await self._run(cell, "%login", {})
                return await self._run(cell, code, dict(values or {}))

    async def _run(self, cell: Cell, code: str, values: dict[str, str]) -> TurnOutcome | None:
        from ..commands import command_table
        from ..rendering.failure import render_failure

        turn = None
        try:
            commands, prompt = await command_table.read(self.command_context, code)
            turn = await self._do(cell, commands, prompt, f"{code}{values or ''}", values)
        except CopilotError as error:
            cell.display(render_failure(error, cell.wording))
            raise
        finally:
            self._pickers.close_stale()
            self.notices.report(cell)
            if self._menu:
                self._menu.report()
        if turn is not None and turn.failure is not None:
            raise turn.failure
        return turn

    async def _do(
        self, cell: Cell, commands: Sequence[Command], prompt: str, key: str, values: dict[str, str]
    ) -> TurnOutcome | None:
        """Run commands, then a prompt, which may have been answered before. `key`: see `OldTurn.prompt`."""
        from ..commands import command_table

        if prompt:
            kept = await self._reruns.begin(cell, key, self.command_context.settings, self._notebook, self._reporter)
            if kept is not None:
                return kept.answer
        for command in commands:
            self._pickers.close(command.name)
            with self._asked_in(cell):
                await command_table.run(self.command_context, self._output(cell), command)
        return await self._prompt(cell, key, prompt, values) if prompt else None

    @contextmanager
    def _asked_in(self, cell: Cell) -> Iterator[None]:
        """Inside, `cell` asks what has to be known before the agent starts, as a prompt would."""
        from ..output.display import Display

        settings = self.command_context.settings
        self._asker = display = Display(
            cell, self._reporter, cwd=settings.folder, activity_timeout=settings.activity_timeout
        )
        try:
            yield
        finally:
            self._asker = None
            display.close()

    @property
    def _reporter(self) -> PageReporter:
        return self._notebook.reporter if self._notebook else PageReporter()

    def _output(self, cell: Cell) -> CellOutput:
        from ..output.cell_output import CellOutput

        return CellOutput(cell, self._reporter, self._pickers, self._confirmed)

    @cached_property
    def _reruns(self) -> Reruns:
        from .rerun import Reruns

        return Reruns()

    def _agent_title(self) -> str:
        info = self.runner.chat.info if self.runner.chat else None
        return (info.title or info.name) if info else ""

    async def _prompt(self, cell: Cell, key: str, text: str, values: dict[str, str]) -> TurnOutcome:
        """The turn, as it is shown in the cell, also if it has failed. `key`: see `OldTurn.prompt`."""
        from ..output.display import Display

        settings, reporter = self.command_context.settings, self._reporter
        reporter.begin(self._agent_title)
        blocks = await self._collect(text, values)
        await self.notices.report_before_prompt(cell, self.command_context, self._output(cell))
        before = {*cell.shown}
        display = Display(cell, reporter, cwd=settings.folder, activity_timeout=settings.activity_timeout)
        try:
            turn = await self.runner.ask(blocks, display)
            await self._finish(turn, display)
        finally:
            display.close()
            self._note_rerun(cell, key, display, before)
        return turn

    async def _collect(self, text: str, values: dict[str, str]) -> list[Block]:
        """Collect what goes to the agent: the text, and what it mentions."""
        from ..chat.attachments import mentions
        from . import context

        settings, notebook = self.command_context.settings, self._notebook
        found = context.value_resources(values)
        if notebook is not None:
            text = context.FIX_PROMPT if text == context.FIX and notebook.has_variables else text
            found += await context.collect(text, notebook, settings)
        return [TextBlock(text), *mentions(text, settings.folder), *found]

    async def _finish(self, turn: TurnOutcome, display: Display) -> None:
        """Show what `turn` has changed; an interrupt leaves it its ending."""
        from ..chat import TurnEnd

        end = TurnEnd.reported(turn, self.command_context.settings.folder)
        try:
            end = await self.runner.chat.end_of(turn) if self.runner.chat else end
            await display.drawn()
        finally:
            display.finish(end)

    def _note_rerun(self, cell: Cell, key: str, display: Display, before: set[object]) -> None:
        """Note the turn for the next run of its cell, which showed `before` until then."""
        from .rerun import OldTurn

        end = display.end
        if end and (end.answer or end.changed_files):  # else nothing was done, and the turn before it is still the last
            answer = end.answer if self.command_context.settings.rerun != "run" else None  # else it is not shown again
            shown = tuple(each for name, each in cell.shown.items() if name not in before) if answer else ()
            old = OldTurn(key, end.changed_files, shown, answer)
            self._reruns.end(cell, old)
            if end.outcome.undo:
                undone = self.command_context.undone | {end.outcome.undo: partial(_undone, display, old)}
                self.command_context.undone = dict(list(undone.items())[-MAX_UNDONE:])

    async def reserve_chat(self, settings: Settings) -> Chat | None:
        """Open the chat that the first prompt needs, if its settings are still `settings` then."""
        key = gateway.notebook_key(os.environ)

        def fits() -> bool:
            return key == self._key and asdict(settings) == asdict(self.command_context.settings)

        return await self.runner.reserve(lambda: self._chat_of(settings, key), fits)

    @property
    def _key(self) -> str:
        """A batch run begins a session that no notebook remembers."""
        return gateway.notebook_key(os.environ) if self._watched else ""

    def _chat_of(self, settings: Settings, key: str) -> Chat:
        from ..chat import open_chat

        place = f"notebook {os.environ['JPY_SESSION_NAME']}" if key else ""
        chat = open_chat(settings, key, place=place, live=self._notebook)
        chat.state.session_observers.append(lambda: self._reporter.report(chat.commands.standing))
        if self._menu:
            chat.state.session_observers.append(self._menu.report)
        chat.trust.asker = lambda: self._asker
        return chat

    def load(self) -> Settings:
        """Read the settings."""
        environment = environment_of(self._started_in)
        if any("JPY_SESSION_NAME" in names for names in environment.named().values()):
            del os.environ["JPY_SESSION_NAME"]  # no server has set it
        environ = environment.variables(environ=self._environ)
        start_folder = gateway.notebook_folder(environ) or self._started_in
        return load_settings(self._environ, own_agent=self._own_agent, start_folder=start_folder)

    def missing_agent(self) -> Bundle | None:
        """Return the card for the agent of the next prompt if it is not found; None if it is.

        Settings that are not used yet are not kept: they may change before the first prompt.
        """
        from ..acp.locate import located
        from ..rendering.failure import render_failure

        try:
            located(self.command_context.known_settings or self.load())
        except AgentNotFound as error:
            return render_failure(error)
        except CopilotError:  # the first prompt shows it
            return None
        return None

    def _load_settings(self) -> Settings:
        settings = self.load()
        self.notices.note(settings, self._environ)
        return settings


def _undone(display: Display, old: OldTurn, files: Sequence[str], cells: Sequence[str]) -> None:
    """Note that files were restored: the prompt's last turn no longer changed them."""
    old.files = display.undone(files, cells).changed_files
