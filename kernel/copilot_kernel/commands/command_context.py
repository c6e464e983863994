"""Context of commands: the chat, the settings of this kernel, and the sessions that were listed last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from ..acp.messages import AgentInfo, Block, SessionInfo, SessionState
from ..config import Settings
from ..conversation.model import Conversation

if TYPE_CHECKING:
    from ..chat import Chat
    from ..chat.choices import Choice
    from ..chat.trust import Remembered
    from ..notebook.live import LiveNotebook
    from ..permissions.ledger import LedgerEntry
    from ..permissions.rulebook import Rulebook
    from .chat_runner import ChatRunner

Completions: TypeAlias = "tuple[int, Sequence[Choice]]"
"""Place in the text after a command's name where the word begins that is being typed, and its completions."""


@dataclass(frozen=True, slots=True)
class CommandState:
    """State of the chat at one moment.

    `conversation` is empty while no session is open, `info` None while the agent does not run; `sessions` are those
    that it listed last.
    """

    settings: Settings
    conversation: Conversation
    info: AgentInfo | None = None
    attached: tuple[Block, ...] = ()
    sessions: tuple[SessionInfo, ...] = ()
    live: bool = True
    """Somebody is watching: show what differs from run to run."""
    book: Rulebook | None = None
    """The mode and the rules of the chat; None while there is none."""
    decisions: tuple[LedgerEntry, ...] = ()
    """Decisions about permissions, in order."""
    sent: tuple[Block, ...] = ()
    """Blocks that went with the last prompt besides its text."""
    sandbox: str = ""
    """Reach of the agent in its sandbox, or why it has none; empty if the settings want none."""
    sharing: str = ""
    """Notebooks with which the agent is shared, in words; empty if the settings want that with nobody."""

    standing: tuple[str, ...] = ()
    """Changes that the agent's own commands, options and modes have made."""
    trusted: tuple[Remembered, ...] = ()
    """Files that the user trusts, in any folder."""
    unseen: str = ""
    """Limits of the agent in the notebook, in words."""

    @property
    def in_force(self) -> Rulebook:
        """The permission mode and the rules."""
        from ..permissions.rulebook import Rulebook

        return self.book or Rulebook.of(self.settings)

    @property
    def state(self) -> SessionState | None:
        """The open session."""
        return self.conversation.state


class CommandContext:
    """One for a kernel. `load` reads the settings when they are first needed."""

    def __init__(
        self, chat_runner: ChatRunner, load: Callable[[], Settings], notebook: LiveNotebook | None = None
    ) -> None:
        self.chat_runner, self._load, self.notebook = chat_runner, load, notebook
        self.sessions: tuple[SessionInfo, ...] = ()
        self.undone: dict[str, Callable[[Sequence[str], Sequence[str]], None]] = {}
        """Callbacks that show in the cell of a turn, named as for `%undo`, which files and cells were restored."""

    @cached_property
    def settings(self) -> Settings:
        """Settings of a new chat; commands may replace them."""
        return self._load()

    @property
    def known_settings(self) -> Settings | None:
        """`settings`, once they were needed."""
        return vars(self).get("settings")

    @property
    def conversation(self) -> Conversation:
        """The conversation; empty while no session is open."""
        chat = self.chat_runner.chat
        return chat.conversation if chat and chat.session else Conversation()

    def situation(self, live: bool = True) -> CommandState:
        """Return what is known now, without asking the agent."""
        chat = self.chat_runner.chat
        if chat is None:
            return CommandState(self.settings, Conversation(), live=live)
        return CommandState(
            chat.settings,
            self.conversation,
            chat.info,
            chat.attached,
            self.sessions,
            live,
            chat.book,
            chat.permissions.approvals.ledger.kept,
            chat.sent,
            chat.agent.sandbox_state,
            chat.agent.sharing_state,
            chat.commands.standing,
            tuple(chat.trust.store.all()),
            chat.tools.unseen,
        )

    async def ready(self) -> SessionState | None:
        """The open session; the agent is started if need be. Raises CopilotError."""
        await self.chat_runner.do(lambda chat: chat.ready())
        return self.conversation.state

    async def list_sessions(self, here: bool) -> tuple[SessionInfo, ...]:
        """Ask the agent for its sessions, newest first. Raises UsageError if it does not list them."""
        self.sessions = newest_first(await self.chat_runner.do(lambda chat: chat.sessions(here)))
        return self.sessions

    async def attach(self, paths: Sequence[str]) -> None:
        """Attach files to the next prompt. Starts the agent, which says what it can take. Raises UsageError."""
        from ..chat.attachments import read

        async def work(chat: Chat) -> None:
            await chat.ready()
            assert chat.info is not None
            found = [await asyncio.to_thread(read, path, chat.info, chat.settings.folder) for path in paths]
            chat.attach(found)

        await self.chat_runner.do(work)


def newest_first(sessions: Sequence[SessionInfo]) -> tuple[SessionInfo, ...]:
    """Sorted by `updated_at`; sessions without it come last."""
    return tuple(sorted(sessions, key=lambda session: session.updated_at, reverse=True))
