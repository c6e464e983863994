"""One conversation with one agent; the only package that knows the wire, the conversation and the permissions."""

from ..conversation.turn import Turn
from .chat import Chat
from .factory import open_chat
from .turn import View

__all__ = ["Chat", "Turn", "View", "open_chat"]
