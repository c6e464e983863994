"""What lies behind the door of a kernel: the chat, the desk, one prompt, and what is to be said of the settings."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Protocol

from .cell import Cell
from .chat_runner import ChatRunner
from .context import CommandContext
from .presence import NOTICE

if TYPE_CHECKING:
    from ..chat import Chat, Handover, Turn
    from ..config import Settings
    from .asking import Asking
    from .display import Display


EXPOSED = (
    "Careful: {} needs no login, so {} can use it, list its conversations, and act with the rights of whoever started "
    "it. Let the kernel start the agent instead, with its command line: %agent copilot --acp\n"
)


class MakeDisplay(Protocol):
    """What shows a turn in its cell; `cwd` is the folder that paths are shown relative to. See `Display`."""

    def __call__(self, cell: Cell, asking: Asking, *, cwd: str, activity_timeout: float) -> Display: ...


class KernelSession:
    """One for a kernel. `watched`: somebody watches the cell that ran last.

    `before` is where an earlier hall of this process, which has ended, was left: this one goes on there.
    """

    def __init__(self, before: Handover | None = None) -> None:
        self._before = before
        self.home = ChatRunner(self._make_chat)
        self.command_context = CommandContext(self.home, self._load_settings)
        self.watched = False
        self.notices: list[str] = []
        """Lines that the next cell tells, whoever watches."""
        self._unseen: list[tuple[str, str]] = []
        """The session of a client that has gone, and a question that it alone showed: for a cell of another client."""
        self._checked = ""
        """The agent that was last looked at for who else can use it."""
        self._warnings: list[str] = []
        """Rules that mean more than they seem to: for the first who watches a cell, nobody else can heed them."""

    @property
    def left(self) -> Handover | None:
        """What a later hall may go on with."""
        return self.home.chat.left if self.home.chat else self._before

    async def prompt(self, cell: Cell, text: str, make_display: MakeDisplay) -> Turn:
        """One turn with the agent, to its end. Raises CopilotError."""
        from ..acp.messages import Text
        from ..chat.attachments import mentions
        from .asking import Asking

        settings = self.command_context.settings
        folder = settings.folder
        if cell.live:
            await self._check_exposure()
        self.tell_notices(cell)
        display = make_display(cell, Asking(cell, folder), cwd=folder, activity_timeout=settings.activity_timeout)
        try:
            turn = await self.home.ask([Text(text), *mentions(text, folder)], display)
            display.finish(turn)
        finally:
            display.close()
            self._unseen += [(cell.session, title) for title in display.unseen]
        return turn

    def tell_notices(self, cell: Cell) -> None:
        """Tell each once, on the cell's stderr."""
        notices, self.notices = [*self.notices, *self._take_unseen(cell)], []
        if cell.live:
            notices, self._warnings = [*notices, *self._warnings], []
        for notice in notices:
            cell.stream(notice, "stderr")

    async def _check_exposure(self) -> None:
        """Only where somebody watches: the outputs of a run in batch do not depend on the machine."""
        agent = self.command_context.settings.agent
        if agent == self._checked:
            return
        self._checked = agent
        from ..acp.exposure import exposed_to

        if others := await asyncio.to_thread(exposed_to, agent):
            self.notices.append(EXPOSED.format(agent, others))

    def _take_unseen(self, cell: Cell) -> list[str]:
        told = [NOTICE.format(title) for session, title in self._unseen if session != cell.session]
        self._unseen = [each for each in self._unseen if each[0] == cell.session]
        return told

    def _make_chat(self) -> Chat:
        from ..chat import Chat
        from .gateway import notebook_key

        key = notebook_key(os.environ) if self.watched else ""
        place = f"notebook {os.environ['JPY_SESSION_NAME']}" if key else ""
        chat = Chat(self.command_context.settings, key, place=place)
        before, self._before = self._before, None
        if before is not None:
            chat.follow(before)
        return chat

    def _load_settings(self) -> Settings:
        from .. import config
        from ..permissions.rulebook import Rulebook
        from ..store.upgrade import upgrade_notice
        from . import gateway

        settings = gateway.with_notebook_folder(config.load(), os.environ)
        self.notices += gateway.notices(settings, os.environ)
        book = Rulebook.of(settings)
        self.notices += [f"Setting ignored: {problem}\n" for problem in (*settings.problems, *book.problems)]
        self._warnings += [f"Careful: {warning}\n" for warning in book.warnings]
        notice = upgrade_notice(config.state_folder(settings), book)
        self.notices += [notice] if notice else []
        return settings
