"""One turn of the agent for one request, answered in one or as a stream of server-sent events.

What chat completions and responses have in common; each has a `ResponseBuilder` for its own form.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from tornado.iostream import StreamClosedError

from ...acp.elicitation import Elicitation, ElicitationAnswer
from ...acp.messages import Json
from ...chat import Turn
from ...conversation.model import Entry, Message
from ...errors import CopilotError
from ...permissions import policy
from ...permissions.question import PermissionAnswer, Question
from ..catalogue import Model
from ..errors import ApiError, api_error, as_json
from ..handler import JsonHandler
from . import prompt
from .conversations import ApiConversation
from .schema import MAX_KEY_CHARS, BaseRequest, FinishReason
from .schema import Message as ChatMessage

FIRST_TEXT_SECONDS = 2.0
"""So long an error still has a status of its own; later, it is part of the stream."""
KEEP_ALIVE_SECONDS = 15.0
"""After so much silence, a comment keeps the stream open."""
READER_SECONDS = 30.0
"""The time limit for a client to read a piece; then it is disconnected."""
SESSION_HEADER = "X-Copilot-Session"
NOBODY = "nobody can be asked over HTTP"
PARAGRAPH = "\n\n"
FINISH_REASONS: dict[str, FinishReason] = {
    "max_tokens": "length",
    "max_turn_requests": "length",
    "refusal": "content_filter",
}


class TextView:
    """A view of one turn: the agent's text goes to `pieces`, its questions are rejected.

    `on_text` is called once, with the first text.
    """

    def __init__(self, on_text: Callable[[], None] = lambda: None) -> None:
        self._on_text: Callable[[], None] | None = on_text
        self._read: dict[int, int] = {}
        self._waiting: list[str] = []
        self._changed = asyncio.Event()
        self._ended = False

    # -- for the chat (see `View`) ----------------------------------------------------------------------------------

    def show(self, entry: Entry) -> None:
        """Take what is new of the agent's messages."""
        if not isinstance(entry, Message) or entry.speaker != "agent" or self._ended:
            return
        if entry.id not in self._read and self._read:
            self._waiting.append(PARAGRAPH)
        text = list(entry.text.parts(self._read.get(entry.id, 0)))
        self._waiting += text
        self._read[entry.id] = entry.text.count
        self._changed.set()
        if self._on_text is not None and any(text):
            self._on_text()
            self._on_text = None

    def status(self, words: str) -> None:
        """Not shown."""

    async def ask(self, question: Question) -> PermissionAnswer:
        """Reject."""
        return PermissionAnswer(policy.reject(question.options), "nobody", NOBODY)

    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        """Decline."""
        return ElicitationAnswer("decline", reason=NOBODY)

    # -- for the client -----------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True
        self._changed.set()

    async def pieces(self, timeout: float) -> AsyncIterator[str]:
        """What came since the last piece; an empty string after `timeout` seconds of silence."""
        while True:
            await self.wait(timeout)
            text, self._waiting = "".join(self._waiting), []
            if self._ended and not text:
                return
            yield text

    async def wait(self, timeout: float) -> None:
        """Until there is text, or the end, or `timeout` seconds have passed."""
        if not self._waiting and not self._ended:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), timeout)
            except TimeoutError:
                return


class ResponseBuilder:
    """Writes one answer: in one (`whole`), or as the events of a stream (`begin`, `text`, `end` or `fail`)."""

    def __init__(self, id_prefix: str, model: Model) -> None:
        self.id = f"{id_prefix}{uuid.uuid4().hex}"
        self.created = int(time.time())
        self.model = model.id

    def whole(self, turn: Turn, tokens: Json | None) -> Any:
        """The JSON of the answer."""
        raise NotImplementedError

    def begin(self) -> bytes:
        """The first events."""
        raise NotImplementedError

    def text(self, text: str) -> bytes:
        """More text."""
        raise NotImplementedError

    def end(self, turn: Turn, tokens: Json | None) -> bytes:
        """The last events."""
        raise NotImplementedError

    def fail(self, problem: ApiError) -> bytes:
        """The last event of a stream that failed."""
        return sse(problem.body)


class TurnRequest(NamedTuple):
    """A request, all its messages, and how it is answered."""

    request: BaseRequest
    messages: Sequence[ChatMessage]
    builder: Callable[[Model], ResponseBuilder]


class TurnHandler(JsonHandler):
    """A subclass parses the request."""

    messages_param = "messages"
    """The member of the request that has the messages."""
    _client_left = False
    _conversation: ApiConversation | None = None
    """Whose turn runs."""

    def parse(self, body: Json) -> TurnRequest:
        """Raises ApiError."""
        raise NotImplementedError

    async def answer(self, body: Json) -> None:
        """Raises ApiError."""
        parsed = self.parse(body)
        prompt.blocks(parsed.messages, self.messages_param)  # fails before an agent is started
        name = self._conversation_name(parsed.request)
        try:
            async with AsyncExitStack() as after:
                with self.context.limits.turn():
                    async with self.context.conversations.use(name, after) as conversation:
                        await self._take_turn(conversation, parsed)
        except CopilotError as error:
            raise self._api_error(error) from error

    def on_connection_close(self) -> None:
        """Cancel the turn: the client has left."""
        super().on_connection_close()
        self._client_left = True
        self._cancel_if_left()

    # -- one turn ---------------------------------------------------------------------------------------------------

    async def _take_turn(self, conversation: ApiConversation, parsed: TurnRequest) -> None:
        await conversation.prepare(parsed.messages)
        model = await conversation.open(self.context.conversations.model_name(parsed.request.model))
        if self._client_left:
            return
        self._conversation, view = conversation, TextView(self._record_first_text)
        turn = asyncio.create_task(conversation.ask(parsed.messages, view, self.messages_param))
        turn.add_done_callback(lambda done: view.end())
        try:
            await view.wait(FIRST_TEXT_SECONDS)
            self._cancel_if_left()
            if turn.done():
                turn.result()
            self.set_header(f"{SESSION_HEADER}-State", "new" if conversation.is_new else "continued")
            builder = parsed.builder(model)
            await (self._stream if parsed.request.stream else self._answer_whole)(builder, turn, view)
        finally:
            self._conversation = None
            if not turn.done():
                turn.cancel()
                await asyncio.wait({turn})

    async def _answer_whole(
        self, builder: ResponseBuilder, turn: asyncio.Task[tuple[Turn, Json | None]], view: TextView
    ) -> None:
        ended, tokens = await turn
        self._record_tokens(tokens)
        if not self._client_left:
            self.answer_json(builder.whole(ended, tokens))

    async def _stream(
        self, builder: ResponseBuilder, turn: asyncio.Task[tuple[Turn, Json | None]], view: TextView
    ) -> None:
        """Once it has begun, errors are part of the stream."""
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-cache, no-store")
        self.set_header("X-Accel-Buffering", "no")
        await self._send(builder.begin())
        async for piece in view.pieces(KEEP_ALIVE_SECONDS):
            self._cancel_if_left()
            await self._send(builder.text(piece) if piece else b": the agent is working\n\n")
        try:
            ended, tokens = await turn
        except (CopilotError, ApiError) as error:
            problem = self._api_error(error) if isinstance(error, CopilotError) else error
            self.failed_status = problem.status_code
            await self._send(builder.fail(problem))
        else:
            self._record_tokens(tokens)
            await self._send(builder.end(ended, tokens))
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
        except StreamClosedError:
            self.on_connection_close()
        except TimeoutError:
            connection: Any = self.request.connection
            connection.close()
            self.on_connection_close()

    def _api_error(self, error: CopilotError) -> ApiError:
        self.context.pool.note_failure(error)
        return api_error(error)

    def _cancel_if_left(self) -> None:
        if self._client_left and self._conversation is not None and self._conversation.cancel():
            self._conversation = None

    def _record_first_text(self) -> None:
        self.context.metrics.first_token.observe(self.request.request_time())

    def _record_tokens(self, tokens: Json | None) -> None:
        for kind, count in (tokens or {}).items():
            self.context.metrics.tokens.labels(kind.removesuffix("Tokens")).inc(count)

    def _conversation_name(self, request: BaseRequest) -> str:
        """The client's name for a conversation that is kept, or nothing. Raises ApiError."""
        session = (request.metadata or {}).get("session", "")
        if not isinstance(session, str):
            raise ApiError(400, "metadata.session must be a string.", "metadata")
        name = self.request.headers.get(SESSION_HEADER, "") or session or request.user or ""
        if len(name) > MAX_KEY_CHARS:
            raise ApiError(400, f"The name of a session must have at most {MAX_KEY_CHARS} characters.")
        return name


def finish_reason(turn: Turn) -> FinishReason:
    """OpenAI's term for how a turn ended."""
    return FINISH_REASONS.get(turn.stop_reason, "stop")


def sse(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + as_json(data) + b"\n\n"
