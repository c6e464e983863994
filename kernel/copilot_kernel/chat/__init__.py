"""One conversation with one agent; the only package that knows the wire, the conversation and the permissions."""

from .chat import Chat
from .factory import open_chat
from .session_store import SessionStore
from .turn import Turn, Unattended, View

__all__ = ["Chat", "SessionStore", "Turn", "Unattended", "View", "open_chat"]
