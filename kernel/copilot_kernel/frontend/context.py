"""What the commands have at hand: the chat, the settings of this kernel, and the sessions that were listed last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ..acp.messages import SessionInfo, SessionState
from ..conversation.model import Conversation
from .cell import Bundle, Cell
from .report import Report
from .sessions import newest_first
from .situation import Situation

if TYPE_CHECKING:
    from ..chat import Chat
    from ..chat.choosing import Offer
    from ..config import Settings
    from .chat_runner import ChatRunner

T = TypeVar("T")


class CommandContext:
    """One for a kernel. `load` reads the settings when they are first needed."""

    def __init__(self, home: ChatRunner, load: Callable[[], Settings]) -> None:
        self.home, self._load = home, load
        self.sessions: tuple[SessionInfo, ...] = ()

    @cached_property
    def settings(self) -> Settings:
        """What a new chat is given; commands may replace it."""
        return self._load()

    @property
    def state(self) -> SessionState | None:
        """The open session; None if none is open."""
        return self.situation().state

    def situation(self, live: bool = True) -> Situation:
        """What is known now, without asking the agent."""
        chat = self.home.chat
        if chat is None:
            return Situation(self.settings, Conversation(), live=live)
        talk = chat.conversation if chat.session else Conversation()
        told = (chat.book, chat.ledger.kept)
        return Situation(chat.settings, talk, chat.info, chat.attached, self.sessions, live, *told)

    async def do(self, work: Callable[[Chat], Coroutine[Any, Any, T]]) -> T:
        """Do something with the chat, which is opened if need be. Raises CopilotError."""
        return await self.home.do(work)

    async def ready(self) -> SessionState | None:
        """The open session; the agent is started if need be. Raises CopilotError."""
        await self.do(lambda chat: chat.ready())
        return self.state

    async def offered(self, what: Offer) -> SessionState:
        """The open session with its modes, models or options; see `Chat.offered`. Raises CopilotError."""
        return await self.do(lambda chat: chat.offered(what))

    async def list_sessions(self, here: bool) -> tuple[SessionInfo, ...]:
        """Ask the agent for its sessions, newest first. Raises UsageError if it does not list them."""
        self.sessions = newest_first(await self.do(lambda chat: chat.sessions(here)))
        return self.sessions

    async def attach(self, paths: Sequence[str]) -> None:
        """These files go with the next prompt. The agent must live: it says what it can take. Raises UsageError."""
        from ..chat.attachments import read

        async def work(chat: Chat) -> None:
            await chat.ready()
            assert chat.info is not None
            found = [await asyncio.to_thread(read, path, chat.info, chat.agent.cwd) for path in paths]
            chat.attach(found)

        await self.do(work)


def drawn(said: Report) -> Bundle:
    """What a command says, as a picture."""
    from ..rendering.report import render_report

    return render_report(**{name: getattr(said, name) for name in Report.__slots__})


def show(cell: Cell, said: Report) -> None:
    """What a command says."""
    cell.display(drawn(said))


def tell(cell: Cell, words: str) -> None:
    """What a command did."""
    from ..rendering.report import render_done

    cell.display(render_done(words))
