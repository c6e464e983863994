"""What lies behind the door of a kernel: the chat, the desk, one prompt, and what is to be said of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..cells.cell import Cell
from .desk import Desk
from .home import Home

if TYPE_CHECKING:
    from ..cells.asking import Asking
    from ..cells.display import Display
    from ..chat import Chat, Left, Turn
    from ..config import Settings


class MakeDisplay(Protocol):
    """What shows a turn in its cell; `cwd` is the folder that paths are shown relative to."""

    def __call__(self, cell: Cell, asking: Asking, *, cwd: str) -> Display: ...


class Hall:
    """One for a kernel. `watched`: somebody watches the cell that ran last.

    `before` is where an earlier hall of this process, which has ended, was left: this one goes on there.
    """

    def __init__(self, before: Left | None = None) -> None:
        self._before = before
        self.home = Home(self._make_chat)
        self.desk = Desk(self.home, self._load_settings)
        self.watched = False
        self.notices: list[str] = []
        """Lines that the next cell tells, whoever watches."""
        self._warnings: list[str] = []
        """Rules that mean more than they seem to: for the first who watches a cell, nobody else can heed them."""

    @property
    def left(self) -> Left | None:
        """What a later hall may go on with."""
        return self.home.chat.left if self.home.chat else self._before

    async def prompt(self, cell: Cell, text: str, make_display: MakeDisplay) -> Turn:
        """One turn with the agent, to its end. Raises CopilotError."""
        from ..acp.messages import Text
        from ..cells.asking import Asking
        from ..chat.attachments import mentions

        folder = self.desk.settings.folder
        self.tell_notices(cell)
        display = make_display(cell, Asking(cell, folder), cwd=folder)
        try:
            turn = await self.home.ask([Text(text), *mentions(text, folder)], display)
            display.finish(turn)
        finally:
            display.close()
        return turn

    def tell_notices(self, cell: Cell) -> None:
        """Tell each once, on the cell's stderr."""
        notices, self.notices = self.notices, []
        if cell.live:
            notices, self._warnings = [*notices, *self._warnings], []
        for notice in notices:
            cell.stream(notice, "stderr")

    def _make_chat(self) -> Chat:
        from ..chat import Chat
        from ..config import notebook

        chat = Chat(self.desk.settings, notebook() if self.watched else "")
        before, self._before = self._before, None
        if before is not None:
            chat.follow(before)
        return chat

    def _load_settings(self) -> Settings:
        from .. import config
        from ..permissions.rulebook import Rulebook
        from ..store.upgrade import upgrade_notice

        settings = config.load()
        book = Rulebook.of(settings)
        self.notices += [f"Setting ignored: {problem}\n" for problem in (*settings.problems, *book.problems)]
        self._warnings += [f"Careful: {warning}\n" for warning in book.warnings]
        notice = upgrade_notice(config.state_folder(settings), book)
        self.notices += [notice] if notice else []
        return settings
