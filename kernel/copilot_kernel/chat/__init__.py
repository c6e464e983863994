"""One conversation with one agent; the only package that knows the wire, the conversation and the permissions."""

from ..conversation.outcome import TurnOutcome
from .chat import Chat
from .factory import open_chat
from .turn import Unattended, View

__all__ = ["Chat", "TurnOutcome", "Unattended", "View", "open_chat"]
