"""All conversations behind sockets, by the ids of their sessions."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from tornado.websocket import WebSocketHandler

from ...errors import AgentRefused, AuthRequired, ResourceNotFound, SessionInUse, UsageError
from ...rendering.status import STARTING
from ..store import ConversationStore
from .broadcaster import Subscriber
from .chat_session import ChatLimits, ChatServices, ChatSession
from .history import Line
from .wire import event

MAX_RELEASED = 200
"""Released conversations whose last messages are kept."""
MAX_SOCKETS = 200
GOING_AWAY, TRY_AGAIN_LATER = 1001, 1013
"""Close codes (RFC 6455)."""

Opened = tuple[ChatSession, str]
"""A conversation, and how it continues; see `ChatSession.join`."""


class ChatSessionManager:
    """`close` ends all conversations, and the `sockets` that are connected."""

    def __init__(self, services: ChatServices, limits: ChatLimits) -> None:
        self.store: ConversationStore[ChatSession] = ConversationStore(limits.conversations, self._release)
        self.services, self._limits = services, limits
        self._released: OrderedDict[str, tuple[tuple[Line, ...], asyncio.Task[None]]] = OrderedDict()
        self._opening: dict[str, asyncio.Task[Opened]] = {}
        self.sockets: set[WebSocketHandler] = set()

    async def new(self, subscriber: Subscriber) -> ChatSession:
        """A new conversation that `subscriber` has joined. Raises CopilotError."""
        session, _ = await self._open_once(f"new {id(subscriber)}", self._begin, subscriber)
        session.join(subscriber)
        return session

    async def resume(self, session_id: str, subscriber: Subscriber) -> ChatSession:
        """The same for a session that began before: it is still open, or the agent loads it, or its last messages are
        known. Raises CopilotError."""
        session, resumed = self.store.find(session_id), "live"
        if session is None:
            session, resumed = await self._open_once(session_id, lambda: self._load(session_id), subscriber)
        session.join(subscriber, resumed)
        return session

    def register(self, socket: WebSocketHandler) -> None:
        """Keep an open socket, or close it when there are too many."""
        self.sockets.add(socket)
        if len(self.sockets) > MAX_SOCKETS:
            socket.close(TRY_AGAIN_LATER, f"{MAX_SOCKETS} chats are already connected")

    async def close(self) -> None:
        """End everything, in bounded time."""
        for socket in tuple(self.sockets):
            socket.close(GOING_AWAY, "the server is stopping")
        for task in self._opening.values():
            task.cancel()
        closing = [*(session.close() for session in self.store.clear()), *(task for _, task in self._released.values())]
        await asyncio.gather(*closing, return_exceptions=True)

    # -- opening ----------------------------------------------------------------------------------------------------

    async def _open_once(
        self, key: str, make: Callable[[], Coroutine[Any, Any, Opened]], subscriber: Subscriber
    ) -> Opened:
        """Several sockets may wait for one conversation; it is opened even if they leave."""
        if not self.services.pool.hubs:
            subscriber.receive(event("status", content=STARTING))
        if key not in self._opening:
            task = asyncio.create_task(make())
            self._opening[key] = task
            task.add_done_callback(lambda done: self._opening.pop(key, None))
        return await asyncio.shield(self._opening[key])

    async def _begin(self, earlier: tuple[Line, ...] = ()) -> Opened:
        session = await self._create()
        try:
            await session.begin(earlier)
        except BaseException:
            await session.close()
            raise
        self.store.add(session.id, session)
        return session, "context"

    async def _load(self, session_id: str) -> Opened:
        history, releasing = self._released.get(session_id, (None, None))
        if releasing is not None:
            await asyncio.wait({releasing})
        session = await self._create()
        try:
            await session.resume(session_id, history or ())
        except BaseException as error:
            await session.close()
            if isinstance(error, AuthRequired | SessionInUse) or not isinstance(error, AgentRefused | UsageError):
                raise
            if history is None:
                why = "" if isinstance(error, ResourceNotFound) else f" {error}"
                raise UsageError("Session not found", f"Start with new_session.{why}") from error
            return await self._begin(history)
        self.store.add(session_id, session)
        return session, "loaded"

    async def _create(self) -> ChatSession:
        if not await self.store.make_room(len(self._opening)):
            raise UsageError(f"{self.store.size} conversations are already open.", "Close one of them first.")
        context = self.services.new_context()
        return ChatSession(context, self.services, self._limits, lambda session: self.store.add(session.id, session))

    # -- releasing ----------------------------------------------------------------------------------------------------

    async def _release(self, session: ChatSession, names: list[str]) -> None:
        """Close a conversation in a task of its own, for which `_load` waits if the session is wanted again."""
        releasing = asyncio.create_task(session.close())
        for name in names:
            self._released[name] = session.last, releasing
            self._released.move_to_end(name)
        while len(self._released) > MAX_RELEASED:
            self._released.popitem(last=False)
        await asyncio.shield(releasing)
