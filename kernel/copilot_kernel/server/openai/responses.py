"""`POST /v1/responses`: text in, text out, in one or as events. Nothing is stored.

All that this endpoint needs beside chat completions is in this module.
"""

from __future__ import annotations

import uuid
from itertools import count
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Tag
from typing_extensions import TypedDict

from ...acp.messages import Json
from ...chat import Turn
from ..catalogue import Model
from ..errors import ApiError
from .schema import (
    BaseRequest,
    ByType,
    Message,
    Text,
    prompt_and_completion,
    read,
    refuse,
    refuse_common,
    refuse_format,
)
from .turns import ResponseBuilder, TurnHandler, TurnRequest, finish_reason, sse

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_STORE = "nothing is stored here; the header X-Copilot-Session keeps a conversation"


class ResponsesRequest(BaseRequest):
    """`POST /v1/responses`; `input` is text, or messages."""

    input: Annotated[Text | Annotated[list[dict[str, Any]], Tag("list")], ByType]
    instructions: str | None = None
    max_output_tokens: int | None = None
    previous_response_id: str | None = None
    conversation: Any = None
    prompt: Any = None
    background: bool | None = None
    text: dict[str, Any] | None = None
    include: list[str] | None = None
    store: bool | None = None


class OutputText(TypedDict):
    """The only part of the message."""

    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[Any]


class OutputMessage(TypedDict):
    """The only item of the output."""

    type: Literal["message"]
    id: str
    status: Literal["in_progress", "completed", "incomplete"]
    role: Literal["assistant"]
    content: list[OutputText]


class Response(TypedDict):
    """The members that say something; OpenAI's others are there, too."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["in_progress", "completed", "incomplete", "failed"]
    model: str
    output: list[OutputMessage]
    usage: dict[str, Any] | None
    error: dict[str, str] | None


class ResponseEvent(TypedDict):
    """One event of a stream; `type` is also its name."""

    type: Literal[
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
    ]
    sequence_number: int
    response: NotRequired[Response]
    item: NotRequired[OutputMessage]
    part: NotRequired[OutputText]
    delta: NotRequired[str]
    text: NotRequired[str]


class ResponsesBuilder(ResponseBuilder):
    """See `ResponseBuilder`."""

    def __init__(self, request: ResponsesRequest, model: Model) -> None:
        super().__init__("resp_", model)
        self._request = request
        self._place = {"item_id": f"msg_{uuid.uuid4().hex}", "output_index": 0, "content_index": 0}
        self._numbers = count()

    def whole(self, turn: Turn, tokens: Json | None) -> Json:
        reason = INCOMPLETE.get(finish_reason(turn))
        status = "incomplete" if reason else "completed"
        details = {"reason": reason} if reason else None
        output = [self._message(status, [_part(turn.text)])]
        return self._response(status, output, incomplete_details=details, usage=_usage(tokens))

    def begin(self) -> bytes:
        empty = self._response("in_progress", [])
        return (
            self._event("created", response=empty)
            + self._event("in_progress", response=empty)
            + self._event("output_item.added", output_index=0, item=self._message("in_progress", []))
            + self._event("content_part.added", **self._place, part=_part(""))
        )

    def text(self, text: str) -> bytes:
        return self._event("output_text.delta", **self._place, delta=text, logprobs=[])

    def end(self, turn: Turn, tokens: Json | None) -> bytes:
        whole = self.whole(turn, tokens)
        return (
            self._event("output_text.done", **self._place, text=turn.text, logprobs=[])
            + self._event("content_part.done", **self._place, part=_part(turn.text))
            + self._event("output_item.done", output_index=0, item=whole["output"][0])
            + self._event(whole["status"], response=whole)
        )

    def fail(self, problem: ApiError) -> bytes:
        error = {"code": "server_error", "message": problem.body["error"]["message"]}
        return self._event("failed", response=self._response("failed", [], error=error))

    def _event(self, kind: str, **members: Any) -> bytes:
        name = f"response.{kind}"
        return sse({"type": name, "sequence_number": next(self._numbers), **members}, name)

    def _message(self, status: str, parts: list[Json]) -> Json:
        id = self._place["item_id"]
        return {"type": "message", "id": id, "status": status, "role": "assistant", "content": parts}

    def _response(self, status: str, output: list[Json], **more: Any) -> Json:
        request = self._request
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "max_output_tokens": request.max_output_tokens,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "store": False,
            "temperature": request.temperature,
            "text": {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": request.top_p,
            "truncation": "disabled",
            "usage": None,
            "user": request.user,
            "metadata": request.metadata or {},
            **more,
        }


class ResponsesHandler(TurnHandler):
    """One answer of the agent."""

    route, messages_param = "/v1/responses", "input"

    def parse(self, body: Json) -> TurnRequest:
        """`instructions` come first, as a system message."""
        request = read_responses(body)
        before = [Message(role="system", content=request.instructions)] if request.instructions else []
        messages = [*before, *read_messages(request.input)]
        return TurnRequest(request, messages, lambda model: ResponsesBuilder(request, model))


def read_responses(body: Json) -> ResponsesRequest:
    """Raises ApiError."""
    request = read(ResponsesRequest, body)
    refuse_common(request)
    refuse(request.prompt is not None, "prompt", "no prompts are stored here; use input and instructions")
    refuse(request.previous_response_id is not None, "previous_response_id", _STORE)
    refuse(request.conversation is not None, "conversation", _STORE)
    refuse(bool(request.background), "background", _STORE)
    refuse(bool(request.include), "include", "there is nothing to include")
    format = (request.text or {}).get("format")
    if not isinstance(format, dict | None):
        raise ApiError(400, "text.format: must be an object.", "text")
    refuse_format(format, "text")
    return request


def read_messages(input: str | list[Json]) -> list[Message]:
    """The messages of a request's `input`. Raises ApiError."""
    if isinstance(input, str):
        return [Message(role="user", content=input)]
    if not input:
        raise ApiError(400, "input: there must be at least one message.", "input")
    for item in input:
        refuse(item.get("type", "message") != "message", "input", "only messages are accepted")
    messages = [read(Message, item, "input", index) for index, item in enumerate(input)]
    if any(message.content is None for message in messages):
        raise ApiError(400, "input: every message needs content.", "input")
    return messages


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(counts: Json | None) -> Json | None:
    if counts is None:
        return None
    prompt, completion = prompt_and_completion(counts)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": counts["cachedReadTokens"]},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": counts["thoughtTokens"]},
        "total_tokens": counts["totalTokens"],
    }


ROUTES = [(r"/v1/responses", ResponsesHandler)]
