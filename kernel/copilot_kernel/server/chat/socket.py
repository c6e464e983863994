"""The chat's WebSocket: actions are handled in order, but answers and stops do not wait for a session to open; messages
are sent as fast as the client reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.base.websocket import WS_PING_INTERVAL
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ...commands.command_table import Command
from ...commands.session_commands import find_by_id
from ...errors import CopilotError, UsageError
from ..handler import Handler
from . import chat_commands
from .chat_session import INTERNAL_ERROR, ChatSession
from .chat_session_manager import TRY_AGAIN_LATER
from .feed import Update
from .outbox import Outbox
from .wire import (
    MAX_FRAME_CHARS,
    Action,
    ApproveTool,
    NewSession,
    ResumeSession,
    Send,
    StopAction,
    UnreadableSend,
    done,
    failure,
    read,
)

MAX_ACTIONS = 50
"""Actions that may wait for a session to open."""
WRITE_SECONDS = 30.0
"""The time limit for sending one message."""
TOO_SLOW = "this client reads too slowly; connect again and resume"


class ChatSocket(WebSocketHandler, Handler):
    """A `Subscriber`. With `?view=html` it gets entries as safe HTML instead of deltas."""

    action = HTTP_METHOD_TO_AUTH_ACTION["WEBSOCKET"]
    """The handshake is a GET, but what follows makes the agent act."""
    route, has_head, is_of_chat = "/api/chat/ws", False, True
    session: ChatSession | None = None
    wants_html = False
    max_message_size = 8 * MAX_FRAME_CHARS
    """Bytes; a longer message ends the connection (1009). One that is a little too long is answered."""

    def check_origin(self, origin: str = "") -> bool:
        """Check the origin as everywhere; tornado's own check knows no allowed origins."""
        return Handler.check_origin(self)

    def skip_check_origin(self) -> bool:
        """Check the origin of pages that have the token, too, unlike Jupyter."""
        return False

    @property
    def ping_interval(self) -> float:
        """Seconds between two pings; Jupyter's setting is in milliseconds, tornado's in seconds."""
        return float(self.settings.get("ws_ping_interval", WS_PING_INTERVAL)) / 1000

    @property
    def ping_timeout(self) -> float:
        """Seconds until a client that does not answer counts as gone."""
        return self.ping_interval

    def open(self, *args: str, **kwargs: str) -> None:
        """Start to send messages, and to handle actions."""
        self.wants_html = self.get_query_argument("view", "") == "html"
        self._outbox = Outbox(self.wants_html)
        self._writer = asyncio.create_task(self._write())
        self._actions: asyncio.Queue[Action | None] = asyncio.Queue()
        self._worker = asyncio.create_task(self._work())
        self.context.chats.register(self)

    def on_message(self, message: str | bytes) -> None:
        """Take one action; errors are reported, and the connection stays open."""
        with self._reporting():
            action = read(message)
            with self._reporting(action):
                if self._is_urgent(action):
                    self._control(action)
                elif self._actions.qsize() < MAX_ACTIONS:
                    self._actions.put_nowait(action)
                else:
                    raise UsageError(f"{MAX_ACTIONS} actions are already waiting.", "Wait for the session to open.")

    def on_close(self) -> None:
        """Finish what came before; the conversation continues."""
        super().on_close()
        self.context.chats.sockets.discard(self)
        self._actions.put_nowait(None)
        self._writer.cancel()

    def receive(self, update: Update) -> None:
        """Take an update, as `Subscriber` says. A client that is too slow is disconnected; it can resume."""
        if self.ws_connection is None:
            return
        self._outbox.put(update)
        if self._outbox.overflowed:
            self._disconnect()

    # -- actions ------------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while (action := await self._actions.get()) is not None:
            await self._handle(action)
        self._leave()

    def _is_urgent(self, action: Action) -> bool:
        """Return True if an action concerns the present conversation, whatever is being opened."""
        if self.session is None:
            return False
        match action:
            case ApproveTool(call_id=call_id):
                return call_id in self.session.broadcaster.approvals
            case StopAction():
                return self.session.prompts.is_running
        return False

    def _control(self, action: Action) -> None:
        match action:
            case ApproveTool():
                self._current.broadcaster.approvals.answer(action)
            case StopAction():
                self._current.prompts.stop()

    async def _handle(self, action: Action) -> None:
        with self._reporting(action):
            match action:
                case NewSession():
                    self._switch_to(await self.context.chats.new(self))
                case ResumeSession(session_id=session_id):
                    self._switch_to(await self.context.chats.resume(session_id, self))
                case Send(text=text):
                    await self._send(text)
                case _:
                    self._control(action)

    @contextmanager
    def _reporting(self, action: Action | None = None) -> Iterator[None]:
        """Report errors to the client; after a `send`, they end the response, too."""
        is_send = isinstance(action, Send)
        try:
            yield
            return
        except CopilotError as error:
            self.receive(chat_commands.failure(error))
            is_send = is_send or isinstance(error, UnreadableSend)
        # A bug in one action must not end the connection, nor the task that handles the actions after it.
        except Exception:
            self.log.exception("an action of the chat failed")
            self.receive(failure(INTERNAL_ERROR))
        if is_send:
            self.receive(done("error"))

    async def _send(self, text: str) -> None:
        """`/new` and `/resume ID` switch this socket; the conversation that it leaves continues."""
        switch = chat_commands.parse_switch(text)
        if switch is None:
            self._current.prompts.send(text)
            return
        await self._run_switch(switch)
        self.receive(done("command"))

    async def _run_switch(self, switch: Command) -> None:
        chats = self.context.chats
        if switch.rest:
            found = await find_by_id(self._current.context, switch.rest)
            self._switch_to(await chats.resume(found.id, self))
        else:
            self._switch_to(await chats.new(self))

    @property
    def _current(self) -> ChatSession:
        """The conversation of this socket. Raises UsageError."""
        if self.session is None:
            raise UsageError("No session is open yet.", "Start with new_session or resume_session.")
        return self.session

    def _switch_to(self, session: ChatSession) -> None:
        if session is not self.session:
            self._leave()
        self.session = session

    def _leave(self) -> None:
        if self.session is not None:
            self.session.leave(self)
            self.session = None

    # -- sending ------------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        try:
            while (text := await self._outbox.next()) is not None:
                async with asyncio.timeout(WRITE_SECONDS):
                    await self.write_message(text)
        except TimeoutError:
            self._disconnect()
        except WebSocketClosedError:
            return

    def _disconnect(self) -> None:
        self._leave()
        self.close(TRY_AGAIN_LATER, TOO_SLOW)
