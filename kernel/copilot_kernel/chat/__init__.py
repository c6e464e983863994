"""One conversation with one agent; the only room that knows the wire, the conversation and the permissions."""

from .chat import Chat
from .saved import Handover
from .shared import SharedAgent
from .view import Turn, View

__all__ = ["Chat", "Handover", "SharedAgent", "Turn", "View"]
