"""`POST /v1/chat/completions`: one turn of the agent for each request, in one or as server-sent events."""

from __future__ import annotations

import asyncio
import time
import uuid
from contextlib import AsyncExitStack
from typing import Any

from tornado.iostream import StreamClosedError

from ...acp.messages import Json
from ...chat import TurnOutcome
from ...errors import CopilotError
from ..catalogue import ModelObject, sanitised
from ..errors import ApiError, as_json
from ..handler import Handler
from . import prompt
from .conversations import ApiConversation
from .schema import MAX_KEY_CHARS, ChatRequest, chat_usage, read_chat
from .view import TextView

FIRST_TEXT_SECONDS = 2.0
"""Time in which an error still has a status of its own; later, it is part of the stream."""
KEEP_ALIVE_SECONDS = 15.0
"""Silence after which a comment keeps the stream open."""
READER_SECONDS = 30.0
"""The time limit for a client to read a piece; then it is disconnected."""
SESSION_HEADER = "X-Copilot-Session"
FINISH_REASONS = {
    "max_tokens": "length",
    "max_turn_requests": "length",
    "refusal": "content_filter",
}
KEEP_ALIVE = b": the agent is working\n\n"
DONE = b"data: [DONE]\n\n"


class CompletionBuilder:
    """Writes one answer: in one (`whole`), or as the events of a stream (`delta`, `end`)."""

    def __init__(self, request: ChatRequest, model: ModelObject) -> None:
        self._members = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model["id"]}
        self._with_usage = bool(request.stream_options and request.stream_options.include_usage)

    def whole(self, turn: TurnOutcome) -> Json:
        """The JSON of the answer."""
        return {
            **self._members,
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": turn.text, "refusal": None},
                    "logprobs": None,
                    "finish_reason": _finish_reason(turn),
                }
            ],
            "usage": chat_usage(turn.usage),
        }

    def end(self, turn: TurnOutcome) -> bytes:
        """The last events."""
        usage = self._chunk([], chat_usage(turn.usage)) if self._with_usage else b""
        return self.delta({}, _finish_reason(turn)) + usage + DONE

    def delta(self, delta: Json, reason: str | None = None) -> bytes:
        """What is new of the message; `reason` says why nothing more comes."""
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}], None)

    def _chunk(self, choices: list[Json], usage: Json | None) -> bytes:
        chunk: Json = {**self._members, "object": "chat.completion.chunk", "choices": choices}
        if self._with_usage:  # then every chunk has the member
            chunk["usage"] = usage
        return _event(chunk)


class ChatCompletionsHandler(Handler):
    """One answer of the agent to all messages."""

    route, takes_body = "/v1/chat/completions", True
    _client_left = False
    # Whose turn runs.
    _conversation: ApiConversation | None = None

    async def post(self) -> None:
        """Raises ApiError and CopilotError."""
        request = read_chat(self.read_json())
        prompt.blocks(request.messages)  # fails before an agent is started
        name = self._conversation_name(request)
        async with AsyncExitStack() as after:
            with self.context.limits.turn():
                async with self.context.conversations.use(name, after) as conversation:
                    await self._take_turn(conversation, request)

    def on_connection_close(self) -> None:
        """Cancel the turn: the client has left."""
        super().on_connection_close()
        self._client_left = True
        self._cancel_if_left()

    # -- one turn ---------------------------------------------------------------------------------------------------

    async def _take_turn(self, conversation: ApiConversation, request: ChatRequest) -> None:
        wanted = sanitised(request.model or "") or self.context.default_model
        model = await conversation.open(request.messages, wanted)
        if self._client_left:
            return
        first_token = self.context.metrics.first_token
        self._conversation, view = conversation, TextView(lambda: first_token.observe(self.request.request_time()))
        turn = asyncio.create_task(conversation.ask(request.messages, view))
        turn.add_done_callback(lambda done: view.end())
        try:
            await view.wait(FIRST_TEXT_SECONDS)
            self._cancel_if_left()
            if turn.done():
                turn.result()
            self.set_header(f"{SESSION_HEADER}-State", "new" if conversation.is_new else "continued")
            builder = CompletionBuilder(request, model)
            if request.stream:
                await self._stream(builder, turn, view)
            else:
                await self._answer_whole(builder, turn)
        finally:
            self._conversation = None
            if not turn.done():
                turn.cancel()
                await asyncio.wait({turn})

    async def _answer_whole(self, builder: CompletionBuilder, turn: asyncio.Task[TurnOutcome]) -> None:
        ended = await turn
        self._record_tokens(ended)
        if not self._client_left:
            self.answer_json(builder.whole(ended))

    async def _stream(self, builder: CompletionBuilder, turn: asyncio.Task[TurnOutcome], view: TextView) -> None:
        """Once it has begun, errors are part of the stream."""
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-cache, no-store")
        self.set_header("X-Accel-Buffering", "no")
        await self._send(builder.delta({"role": "assistant", "content": ""}))
        async for piece in view.pieces(KEEP_ALIVE_SECONDS):
            self._cancel_if_left()
            await self._send(builder.delta({"content": piece}) if piece else KEEP_ALIVE)
        try:
            ended = await turn
        except (CopilotError, ApiError) as error:
            problem = self.as_api_error(error)
            self.failed_status = problem.status_code
            await self._send(_event(problem.body))
        else:
            self._record_tokens(ended)
            await self._send(builder.end(ended))
        if not self._client_left:
            self.finish()

    async def _send(self, events: bytes) -> None:
        """Wait for a slow reader; one that reads nothing for READER_SECONDS counts as gone."""
        if self._client_left:
            return
        try:
            self.write(events)
            async with asyncio.timeout(READER_SECONDS):
                await self.flush()
        except (StreamClosedError, TimeoutError):
            connection: Any = self.request.connection
            connection.close()
            self.on_connection_close()

    def _cancel_if_left(self) -> None:
        if self._client_left and self._conversation is not None and self._conversation.runner.cancel():
            self._conversation = None

    def _record_tokens(self, turn: TurnOutcome) -> None:
        for kind, count in (turn.usage or {}).items():
            self.context.metrics.tokens.labels(kind.removesuffix("Tokens")).inc(count)

    def _conversation_name(self, request: ChatRequest) -> str:
        """The client's name for a conversation that is kept, or nothing: `user` names a person. Raises ApiError."""
        session = (request.metadata or {}).get("session", "")
        if not isinstance(session, str):
            raise ApiError(400, "metadata.session must be a string.", "metadata")
        name = self.request.headers.get(SESSION_HEADER, "") or session
        if len(name) > MAX_KEY_CHARS:
            raise ApiError(400, f"The name of a session must have at most {MAX_KEY_CHARS} characters.")
        return name


def _finish_reason(turn: TurnOutcome) -> str:
    """OpenAI's term for how a turn ended."""
    return FINISH_REASONS.get(turn.stop_reason, "stop")


def _event(data: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + as_json(data) + b"\n\n"
