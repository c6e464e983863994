"""Updates of the conversation: those of its session, which agents send also before they have said its id."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..acp.agent_connection import Session
from ..acp.messages import Update
from .state import ConversationState

# The session that each names, and the update.
Early = list[tuple[str, Update]]


@dataclass(slots=True)
class _Opening:
    """A session that is being opened, and the updates that came before it was known what they belong to."""

    # Empty for a new session, which has no id yet.
    id: str
    updates: Early = field(default_factory=list)


class SessionUpdates:
    """`session` is the one that is open, or was when the agent ended."""

    def __init__(self, state: ConversationState) -> None:
        self.session: Session | None = None
        self._state = state
        self._opening: _Opening | None = None

    @property
    def current(self) -> Session | None:
        """The open session, if the agent lives."""
        return None if self.session is None or self.session.closed.is_set() else self.session

    def begin(self, session_id: str) -> None:
        """Keep what comes until the session is open; a new one has no id yet."""
        self._opening = _Opening(session_id)

    def end(self) -> Early:
        """Return what was kept."""
        opening, self._opening = self._opening, None
        return opening.updates if opening else []

    def serves(self, session_id: str) -> bool:
        """Return True if a request that names the session is for us; agents know the id of a new one before we do."""
        return any(each is not None and each.id in ("", session_id) for each in (self.session, self._opening))

    def receive(self, session_id: str, update: Update) -> None:
        """Take in an update, unless it is of another session, as over TCP; one that may be of a new session waits."""
        is_ours = self.session is not None and session_id in ("", self.session.id)
        if self._opening and (session_id == self._opening.id or not is_ours):
            self._opening.updates.append((session_id, update))
        elif is_ours:
            self._state.receive(update)
