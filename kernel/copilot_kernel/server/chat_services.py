"""What the chat's handlers share: the conversations, the files that agents produced, and where they are found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from jupyter_server.utils import url_path_join
from tornado.websocket import WebSocketHandler

from ..errors import UsageError
from ..frontend.context import CommandContext
from .catalogue import choose
from .errors import ApiError
from .media import MediaStore
from .pool import IN_CHAT
from .talk import Host, Limits
from .talks import ChatSessionManager

if TYPE_CHECKING:
    from ..chat import Chat
    from .app import CopilotApp

MOST_SOCKETS = 200
GOING_AWAY, TRY_AGAIN = 1001, 1013
"""Close codes (RFC 6455)."""
MEDIA = "/api/media/"


class ChatServices:
    """Of one server; nothing is started before it is needed."""

    def __init__(self, app: CopilotApp, base_url: str) -> None:
        self._app = app
        self.shelf = MediaStore(url_path_join(base_url, "" if app.root_paths else "copilot", MEDIA))
        limits = Limits(question=app.approval_seconds, idle=app.idle_seconds, talks=app.kept_sessions)
        host = Host(self._desk, self._meet, app.pool.leave, self.shelf.keep, self._turn)
        self.talks = ChatSessionManager(host, limits)
        self._sockets: set[WebSocketHandler] = set()

    def enter(self, socket: WebSocketHandler) -> None:
        """One more; it is closed when there are too many."""
        self._sockets.add(socket)
        if len(self._sockets) > MOST_SOCKETS:
            socket.close(TRY_AGAIN, f"{MOST_SOCKETS} chats are connected already")

    def leave(self, socket: WebSocketHandler) -> None:
        """One less."""
        self._sockets.discard(socket)

    async def close(self) -> None:
        """End every conversation, and remove the files."""
        for socket in tuple(self._sockets):
            socket.close(GOING_AWAY, "the server stops")
        await self.talks.close()
        self.shelf.close()

    async def _desk(self) -> CommandContext:
        settings = self._app.chat_settings
        return CommandContext(await self._app.pool.home(settings, IN_CHAT), lambda: settings)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Counted with the turns over HTTP. Raises UsageError when there are too many."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._app.turn())
            except ApiError as error:
                raise UsageError(error.message, "Send it again in a while.") from error
            yield

    async def _meet(self, chat: Chat) -> None:
        """A new session begins with the model that the server is set to."""
        await self._app.meet(chat)
        wanted = self._app.defaultModel
        if wanted and self._app.catalogue.models:
            with suppress(UsageError):
                await chat.set_model(choose(self._app.catalogue.models, wanted).agent_id)
