"""`POST /v1/chat/completions`: in one, or as server-sent events."""

from __future__ import annotations

from ...acp.messages import Json
from ...chat import Turn
from ..catalogue import Model
from .schema import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatRequest,
    ChatUsage,
    ChunkChoice,
    Delta,
    FinishReason,
    chat_usage,
    read_chat,
)
from .turns import ResponseBuilder, TurnHandler, TurnRequest, finish_reason, sse

DONE = b"data: [DONE]\n\n"


class ChatBuilder(ResponseBuilder):
    """See `ResponseBuilder`."""

    def __init__(self, request: ChatRequest, model: Model) -> None:
        super().__init__("chatcmpl-", model)
        self._with_usage = bool(request.stream_options and request.stream_options.include_usage)

    def whole(self, turn: Turn, tokens: Json | None) -> ChatCompletion:
        return {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": turn.text, "refusal": None},
                    "logprobs": None,
                    "finish_reason": finish_reason(turn),
                }
            ],
            "usage": chat_usage(tokens),
        }

    def begin(self) -> bytes:
        return self._delta({"role": "assistant", "content": ""})

    def text(self, text: str) -> bytes:
        return self._delta({"content": text})

    def end(self, turn: Turn, tokens: Json | None) -> bytes:
        usage = self._chunk([], chat_usage(tokens)) if self._with_usage else b""
        return self._delta({}, finish_reason(turn)) + usage + DONE

    def _delta(self, delta: Delta, reason: FinishReason | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}], None)

    def _chunk(self, choices: list[ChunkChoice], usage: ChatUsage | None) -> bytes:
        chunk: ChatCompletionChunk = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        }
        if self._with_usage:  # then every chunk has the member
            chunk["usage"] = usage
        return sse(chunk)


class ChatCompletionsHandler(TurnHandler):
    """One answer of the agent to all messages."""

    route = "/v1/chat/completions"

    def parse(self, body: Json) -> TurnRequest:
        request = read_chat(body)
        return TurnRequest(request, request.messages, lambda model: ChatBuilder(request, model))


ROUTES = [(r"/v1/chat/completions", ChatCompletionsHandler)]
