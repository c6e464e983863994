"""Context that handlers share: the extension builds it once and passes it to each of them."""

from __future__ import annotations

from dataclasses import dataclass

from .chat.chat_session_manager import ChatSessionManager
from .chat.media import MediaStore
from .limits import Limits
from .metrics import Metrics
from .openai.conversations import ConversationCache
from .pool import AgentPool


@dataclass(frozen=True, slots=True)
class ServerContext:
    """First settings of `CopilotApp`; `is_standalone`: in a server of its own."""

    is_standalone: bool
    cors_origins: tuple[str, ...]
    body_limit: int
    body_seconds: float
    request_log: bool
    default_model: str
    pool: AgentPool
    limits: Limits
    metrics: Metrics
    conversations: ConversationCache
    chats: ChatSessionManager
    media: MediaStore
