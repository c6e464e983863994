"""`POST /v1/chat/completions`: plain, or as server-sent events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..acp.messages import Json
from ..chat import Turn
from .answer import finish_reason
from .catalogue import Model
from .schema import Asked, ChatRequest, Message, read_chat
from .turns import Told, TurnHandler, event
from .usage import as_chat

DONE = b"data: [DONE]\n\n"


class Chunks(Told):
    """One completion."""

    def __init__(self, asked: ChatRequest, model: Model) -> None:
        super().__init__("chatcmpl-", asked, model)
        self.with_usage = bool(asked.stream_options and asked.stream_options.include_usage)

    def head(self, kind: str) -> Json:
        """What every object begins with."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def chunk(self, delta: Json, reason: str | None = None) -> bytes:
        """One piece."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return self.event([choice], None)

    def event(self, choices: list[Json], usage: Json | None) -> bytes:
        """With `include_usage`, every chunk has a `usage`."""
        more = {"usage": usage} if self.with_usage else {}
        return event({**self.head("chat.completion.chunk"), "choices": choices, **more})


class Completions(TurnHandler):
    """One answer of the agent to all messages."""

    route = "/v1/chat/completions"

    def read(self, body: Json) -> tuple[Asked, Sequence[Message]]:
        """See `TurnHandler`."""
        asked = read_chat(body)
        return asked, asked.messages

    def told(self, asked: Any, model: Model) -> Chunks:
        """See `TurnHandler`."""
        return Chunks(asked, model)

    def whole(self, told: Chunks, turn: Turn, tokens: Json | None) -> Json:
        """`usage` is null where the agent tells no tokens."""
        message = {"role": "assistant", "content": turn.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(turn)}
        return {**told.head("chat.completion"), "choices": [choice], "usage": as_chat(tokens)}

    def beginning(self, told: Chunks) -> list[bytes]:
        """The role."""
        return [told.chunk({"role": "assistant", "content": ""})]

    def piece(self, told: Chunks, text: str) -> list[bytes]:
        """Text."""
        return [told.chunk({"content": text})]

    def ending(self, told: Chunks, turn: Turn, tokens: Json | None) -> list[bytes]:
        """How it ended, the tokens if they are wanted, and the mark of the end."""
        last = told.chunk({}, finish_reason(turn))
        usage = [told.event([], as_chat(tokens))] if told.with_usage else []
        return [last, *usage, DONE]


ROUTES = [(r"/v1/chat/completions", Completions)]
