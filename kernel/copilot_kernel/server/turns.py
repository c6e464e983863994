"""What chat completions and responses have in common: one turn of the agent for one request, whole or as a stream."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from tornado.iostream import StreamClosedError

from ..acp.messages import Json
from ..chat import Turn
from ..errors import CopilotError
from . import prompt
from .answer import Answer
from .catalogue import Model
from .dialogue import ApiConversation
from .errors import ApiError, as_json, error_body, for_client
from .handler import Posted
from .schema import LONGEST_KEY, Asked, Message

FIRST = 2.0
"""Seconds for something to go wrong with a status of its own; later, an error is part of the stream."""
PATIENCE = 15.0
"""Seconds of silence, then a comment keeps the stream open."""
READER = 30.0
"""Seconds that a client may take to read a piece; then it is sent away."""
KEY = "X-Copilot-Session"


class Told:
    """One answer: what is the same in all of its pieces."""

    def __init__(self, prefix: str, asked: Asked, model: Model) -> None:
        self.id = f"{prefix}{uuid.uuid4().hex}"
        self.created = int(time.time())
        self.asked, self.model = asked, model.id


class TurnHandler(Posted):
    """A subclass reads the request, and says how an answer and its pieces are written."""

    gone = False
    said_in = "messages"
    """The member of the request that has the messages."""
    _dialogue: ApiConversation | None = None

    def read(self, body: Json) -> tuple[Asked, Sequence[Message]]:
        """The request, and all messages in it. Raises ApiError."""
        raise NotImplementedError

    def told(self, asked: Asked, model: Model) -> Any:
        """The beginning of an answer."""
        raise NotImplementedError

    async def answer(self, body: Json) -> None:
        """Raises ApiError."""
        asked, messages = self.read(body)
        prompt.blocks(messages, self.said_in)  # before an agent is started for what cannot be sent to it
        try:
            async with AsyncExitStack() as after:
                with self.app.turn():
                    async with self.app.dialogues.of(self._key(asked), after) as dialogue:
                        await self._take_turn(dialogue, asked, messages)
        except CopilotError as error:
            raise self._api_error(error) from error

    def on_connection_close(self) -> None:
        """The client has left: the agent need not go on."""
        super().on_connection_close()
        self.gone = True
        self._cancel_if_gone()

    # -- one turn ---------------------------------------------------------------------------------------------------

    async def _take_turn(self, dialogue: ApiConversation, asked: Asked, messages: Sequence[Message]) -> None:
        await dialogue.prepare(messages)
        told = self.told(asked, await dialogue.open(asked.model or ""))
        if self.gone:
            return
        self._dialogue, answer = dialogue, Answer(self._count_first)
        turn = asyncio.create_task(dialogue.ask(messages, answer, self.said_in))
        turn.add_done_callback(lambda done: answer.end())
        try:
            await self._follow(told, turn, answer)
        finally:
            self._dialogue = None
            if not turn.done():
                turn.cancel()
                await asyncio.wait({turn})

    async def _follow(self, told: Any, turn: asyncio.Task[tuple[Turn, Json | None]], answer: Answer) -> None:
        await answer.first(FIRST)
        self._cancel_if_gone()
        if turn.done():
            turn.result()
        self.set_header(f"{KEY}-State", "new" if self._dialogue and self._dialogue.begun else "continued")
        if told.asked.stream:
            await self._stream(told, turn, answer)
            return
        ended, tokens = await turn
        self._count(tokens)
        if not self.gone:
            self.answer_json(self.whole(told, ended, tokens))

    async def _stream(self, told: Any, turn: asyncio.Task[tuple[Turn, Json | None]], answer: Answer) -> None:
        """Once begun, whatever goes wrong is told in the stream."""
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-cache, no-store")
        self.set_header("X-Accel-Buffering", "no")
        await self._send(*self.beginning(told))
        async for piece in answer.pieces(PATIENCE):
            self._cancel_if_gone()
            await self._send(*(self.piece(told, piece) if piece else [b": the agent is at work\n\n"]))
        try:
            ended, tokens = await turn
        except (CopilotError, ApiError) as error:
            problem = self._api_error(error) if isinstance(error, CopilotError) else error
            self.failed = problem.status_code
            await self._send(*self.failure(told, problem))
        else:
            self._count(tokens)
            await self._send(*self.ending(told, ended, tokens))
        if not self.gone:
            self.finish()

    def _api_error(self, error: CopilotError) -> ApiError:
        """What the client is told."""
        self.app.heed(error)
        return for_client(error)

    async def _send(self, *events: bytes) -> None:
        """To a slow reader, slowly; to one that has left, not at all; one that stands still has left."""
        if self.gone:
            return
        try:
            self.write(b"".join(events))
            async with asyncio.timeout(READER):
                await self.flush()
        except StreamClosedError:
            self.on_connection_close()
        except TimeoutError:
            connection: Any = self.request.connection
            connection.close()
            self.on_connection_close()

    def _cancel_if_gone(self) -> None:
        if self.gone and self._dialogue is not None and self._dialogue.cancel():
            self._dialogue = None

    def _count_first(self) -> None:
        self.app.metrics.first_token.observe(self.request.request_time())

    def _count(self, tokens: Json | None) -> None:
        for kind, count in (tokens or {}).items():
            self.app.metrics.tokens.labels(kind.removesuffix("Tokens")).inc(count)

    def _key(self, asked: Asked) -> str:
        """The client's name for a conversation that is kept. Raises ApiError."""
        metadata = (asked.metadata or {}).get("session", "")
        if not isinstance(metadata, str):
            raise ApiError(400, "metadata.session must be a text.", "metadata")
        key = self.request.headers.get(KEY, "") or metadata or asked.user or ""
        if len(key) > LONGEST_KEY:
            raise ApiError(400, f"The name of a session has {LONGEST_KEY} characters at most.")
        return key

    # -- how it is written ------------------------------------------------------------------------------------------

    def whole(self, told: Any, turn: Turn, tokens: Json | None) -> Json:
        """The answer in one."""
        raise NotImplementedError

    def beginning(self, told: Any) -> list[bytes]:
        """What a stream begins with."""
        raise NotImplementedError

    def piece(self, told: Any, text: str) -> list[bytes]:
        """Some more text."""
        raise NotImplementedError

    def ending(self, told: Any, turn: Turn, tokens: Json | None) -> list[bytes]:
        """What a stream ends with."""
        raise NotImplementedError

    def failure(self, told: Any, problem: ApiError) -> list[bytes]:
        """What a stream ends with that went wrong."""
        return [event(error_body(problem.status_code, problem.message, problem.param))]


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + as_json(data) + b"\n\n"
