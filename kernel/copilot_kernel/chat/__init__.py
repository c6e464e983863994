"""One conversation with one agent; the only room that knows the wire, the conversation and the permissions."""

from .chat import Chat
from .saved import Left
from .shared import Shared
from .view import Turn, View

__all__ = ["Chat", "Left", "Shared", "Turn", "View"]
