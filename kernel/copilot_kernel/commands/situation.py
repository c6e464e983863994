"""What the commands know of the chat when they answer."""

from __future__ import annotations

from dataclasses import dataclass

from ..acp.messages import AgentInfo, Block, SessionInfo, SessionState
from ..config import Settings
from ..conversation.model import Conversation


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

    @property
    def state(self) -> SessionState | None:
        """The open session."""
        return self.conversation.state
