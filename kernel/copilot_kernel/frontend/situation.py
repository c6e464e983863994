"""What the commands know of the chat when they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..acp.messages import AgentInfo, Block, SessionInfo, SessionState
from ..config import Settings
from ..conversation.model import Conversation

if TYPE_CHECKING:
    from ..permissions.ledger import Decided
    from ..permissions.rulebook import Rulebook


@dataclass(frozen=True, slots=True)
class Situation:
    """`conversation` is empty while no session is open, `info` None while the agent does not run; `sessions` are those
    that it listed last.

    `live` says that somebody is watching: what differs from run to run is shown to them only.
    """

    settings: Settings
    conversation: Conversation
    info: AgentInfo | None = None
    attached: tuple[Block, ...] = ()
    sessions: tuple[SessionInfo, ...] = ()
    live: bool = True
    book: Rulebook | None = None
    """What is in force of permissions, if that is known to be more than the settings say."""
    decisions: tuple[Decided, ...] = ()
    """What was decided about permissions, in that order."""

    @property
    def in_force(self) -> Rulebook:
        """The permission mode and the rules."""
        from ..permissions.rulebook import Rulebook

        return self.book or Rulebook.of(self.settings)

    @property
    def state(self) -> SessionState | None:
        """The open session."""
        return self.conversation.state
