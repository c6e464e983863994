"""The chat's WebSocket: actions are done in order, but no answer and no stop waits for a session that is being opened;
messages go out as fast as the other side reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.base.websocket import WS_PING_INTERVAL, WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ..errors import CopilotError, UsageError
from ..frontend.parse import Command
from . import slash
from .actions import Actions
from .chat_services import TRY_AGAIN
from .errors import ApiError
from .handler import Handler
from .outbox import Outbox
from .talk import ChatSession, failed
from .wire import (
    LONGEST,
    Action,
    ApproveTool,
    Done,
    Failed,
    Message,
    NewSession,
    ResumeSession,
    Send,
    Stop,
    UnreadSend,
    compose,
    read,
)

STALLED = 30.0
"""Seconds that one message may take to leave."""
SLOW = "this reader is too slow; connect again and resume"


class ChatSocket(WebSocketMixin, WebSocketHandler, Handler):
    """A `voice.Reader`. With `?view=html` it gets entries as safe HTML instead of deltas."""

    action = HTTP_METHOD_TO_AUTH_ACTION["WEBSOCKET"]
    """The handshake is a GET, but what comes after it makes the agent act."""
    route, has_head = "/api/chat/ws", False
    talk: ChatSession | None = None
    pictures = False

    @property
    def max_message_size(self) -> int:
        """Bytes; a message of less that is still too long is answered, one of more ends the connection (1009)."""
        return 8 * LONGEST

    def check_origin(self, origin: str | None = None) -> bool:
        """Jupyter lets a page of any origin in that knows the token; here the origin counts all the same."""
        return self._is_welcome() or bool(WebSocketMixin.check_origin(self, origin))

    def skip_check_origin(self) -> bool:
        """Never."""
        return False

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        """See `Handler`: 401 without a login, 403 from another origin."""
        await Handler.prepare(self)

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """The handshake (RFC 6455, 4.2). Raises ApiError."""
        self._require_handshake()
        await WebSocketHandler.get(self, *args, **kwargs)

    def _require_handshake(self) -> None:
        """What tornado would refuse, told in the form of our other errors."""
        headers = self.request.headers
        upgrades = [each.strip().lower() for each in headers.get("Connection", "").split(",")]
        if headers.get("Upgrade", "").lower() != "websocket" or "upgrade" not in upgrades:
            raise ApiError(426, "There is a WebSocket here: connect with ws:// or wss://.", Upgrade="websocket")
        if self.get_websocket_protocol() is None:
            raise ApiError(426, "Connect with version 13 of the protocol.", Sec_WebSocket_Version="13")
        if not (headers.get("Host") and headers.get("Sec-WebSocket-Key")) or self.received:
            raise ApiError(400, "This is no handshake of a WebSocket: it has no Sec-WebSocket-Key, or it has a body.")

    @property
    def ping_interval(self) -> float:
        """Seconds between two pings; tornado's own, since Jupyter counts in milliseconds and tornado does not."""
        return float(self.settings.get("ws_ping_interval", WS_PING_INTERVAL)) / 1000

    @property
    def ping_timeout(self) -> float:
        """Seconds until a reader that does not answer them is gone."""
        return self.ping_interval

    def open(self, *args: str, **kwargs: str) -> None:
        """Connected."""
        self.pictures = self.get_query_argument("view", "") == "html"
        self._box = Outbox()
        self._writing = asyncio.create_task(self._write())
        self._actions = Actions(self._do, self._leave)
        self.app.chat_services.enter(self)

    def on_message(self, message: str | bytes) -> None:
        """One action; whatever is wrong with it is told, and the connection stays."""
        with self._telling():
            action = read(message)
            with self._telling(action):
                self._take_up(action)

    def on_close(self) -> None:
        """What came before is done, and the conversation goes on."""
        super().on_close()
        self.app.chat_services.leave(self)
        self._actions.close()
        self._writing.cancel()

    def hear(self, message: Message) -> None:
        """See `Reader`. Who has let too much wait is sent away; what is lost, it finds when it comes back."""
        if self.ws_connection is None:
            return
        self._box.put(message)
        if self._box.full:
            self._send_away()

    # -- actions ------------------------------------------------------------------------------------------------------

    def _overtakes(self, action: Action) -> bool:
        """It is about what goes on here, whatever is being opened."""
        match action:
            case ApproveTool(call_id=call_id):
                return not self._actions.waiting or (self.talk is not None and self.talk.voice.asks(call_id))
            case Stop():
                return not self._actions.waiting or (self.talk is not None and self.talk.running)
        return False

    def _take_up(self, action: Action) -> None:
        if self._overtakes(action):
            self._act_now(action)
        else:
            self._actions.put(action)

    def _act_now(self, action: Action) -> None:
        match action:
            case ApproveTool():
                self.here.voice.answer(action)
            case Stop():
                self.here.stop()

    async def _do(self, action: Action) -> None:
        with self._telling(action):
            match action:
                case NewSession():
                    self._take(await self.app.chat_services.talks.new(self))
                case ResumeSession(session_id=session_id):
                    self._take(await self.app.chat_services.talks.resume(session_id, self))
                case Send(text=text):
                    await self._send(text)
                case _:
                    self._act_now(action)

    @contextmanager
    def _telling(self, action: Action | None = None) -> Iterator[None]:
        """What goes wrong; for a `send`, that is the end of the response, too."""
        sent = isinstance(action, Send)
        try:
            yield
            return
        except CopilotError as error:
            self.hear(failed(error))
            sent = sent or isinstance(error, UnreadSend)
        # A bug in one action must not end the connection, nor the task that does the actions after it.
        except Exception:
            self.log.exception("an action of the chat failed")
            self.hear(Failed("Something in this server broke; its log says what."))
        if sent:
            self.hear(Done("error"))

    async def _send(self, text: str) -> None:
        """`/new` and `/resume ID` are for the socket: the conversation that it has goes on without it."""
        switch = slash.switch(text)
        if switch is None:
            self.here.send(text)
            return
        await self._switch(switch)
        self.hear(Done("command"))

    async def _switch(self, switch: Command) -> None:
        if switch.rest:
            session_id = await slash.find(self.here.command_context, switch.rest)
            self._take(await self.app.chat_services.talks.resume(session_id, self))
        else:
            self._take(await self.app.chat_services.talks.new(self))

    @property
    def here(self) -> ChatSession:
        """The conversation that was taken up. Raises UsageError."""
        if self.talk is None:
            raise UsageError("There is no session yet.", "Begin with new_session or resume_session.")
        return self.talk

    def _take(self, talk: ChatSession) -> None:
        """From now on it is this one."""
        if talk is not self.talk:
            self._leave()
        self.talk = talk

    def _leave(self) -> None:
        if self.talk is not None:
            self.talk.leave(self)
            self.talk = None

    # -- out ----------------------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        try:
            while (message := await self._box.next()) is not None:
                async with asyncio.timeout(STALLED):
                    await self.write_message(compose(message, self.pictures))
        except TimeoutError:
            self._send_away()
        except WebSocketClosedError:
            return

    def _send_away(self) -> None:
        self._leave()
        self.close(TRY_AGAIN, SLOW)


ROUTES = [(r"/api/chat/ws", ChatSocket)]
OWN_ROUTES = [(r"/chat/ws", ChatSocket)]
