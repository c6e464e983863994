"""One conversation with one agent; the only package that knows the wire, the conversation and the permissions."""

from ..conversation.outcome import TurnOutcome
from .chat import Chat
from .factory import open_chat
from .turn import Unattended, View
from .turn_end import NotebookInTurn, TurnEnd

__all__ = ["Chat", "NotebookInTurn", "TurnEnd", "TurnOutcome", "Unattended", "View", "open_chat"]
