"""`POST /v1/responses`: text in, text out, plain or as its own kinds of events. Nothing is stored."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import count
from typing import Any

from ..acp.messages import Json
from ..chat import Turn
from .answer import finish_reason
from .catalogue import Model
from .errors import ApiError
from .schema import Asked, Message, ResponsesRequest, read_messages, read_responses
from .turns import Told, TurnHandler, event
from .usage import as_response

REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class Response(Told):
    """One response, whose output is one message."""

    def __init__(self, asked: ResponsesRequest, model: Model) -> None:
        super().__init__("resp_", asked, model)
        self.request = asked
        self.item_id = f"msg_{uuid.uuid4().hex}"
        self._numbers = count()

    def event(self, kind: str, **more: Any) -> bytes:
        """Events are numbered."""
        return event({"type": kind, "sequence_number": next(self._numbers), **more}, kind)

    def body(self, status: str, output: list[Json], usage: Json | None = None, **more: Any) -> Json:
        """The whole response, as it is now."""
        asked = self.request
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": asked.instructions,
            "max_output_tokens": asked.max_output_tokens,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "store": False,
            "temperature": asked.temperature,
            "text": {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": asked.top_p,
            "truncation": "disabled",
            "usage": usage,
            "user": asked.user,
            "metadata": asked.metadata or {},
            **more,
        }

    def part(self, text: str) -> Json:
        """The only part of the message."""
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def item(self, status: str, parts: list[Json]) -> Json:
        """The message."""
        return {"type": "message", "id": self.item_id, "status": status, "role": "assistant", "content": parts}

    def ended(self, turn: Turn, tokens: Json | None) -> Json:
        """The whole response, at the end."""
        reason = REASONS.get(finish_reason(turn))
        status = "incomplete" if reason else "completed"
        more = {"incomplete_details": {"reason": reason}} if reason else {}
        return self.body(status, [self.item(status, [self.part(turn.text)])], as_response(tokens), **more)


class Responses(TurnHandler):
    """One answer of the agent."""

    route, said_in = "/v1/responses", "input"

    def read(self, body: Json) -> tuple[Asked, Sequence[Message]]:
        """`instructions` come first, as a message of the system."""
        asked = read_responses(body)
        before = [Message(role="system", content=asked.instructions)] if asked.instructions else []
        messages = [*before, *read_messages(asked.input)]
        if any(message.content is None for message in messages):
            raise ApiError(400, "input: every message must say something.", "input")
        return asked, messages

    def told(self, asked: Any, model: Model) -> Response:
        """See `TurnHandler`."""
        return Response(asked, model)

    def whole(self, told: Response, turn: Turn, tokens: Json | None) -> Json:
        """`usage` is null where the agent tells no tokens."""
        return told.ended(turn, tokens)

    def beginning(self, told: Response) -> list[bytes]:
        """The response, its message and its part, all of them empty."""
        empty = told.body("in_progress", [])
        return [
            told.event("response.created", response=empty),
            told.event("response.in_progress", response=empty),
            told.event("response.output_item.added", output_index=0, item=told.item("in_progress", [])),
            told.event("response.content_part.added", **_place(told), part=told.part("")),
        ]

    def piece(self, told: Response, text: str) -> list[bytes]:
        """Text."""
        return [told.event("response.output_text.delta", **_place(told), delta=text, logprobs=[])]

    def ending(self, told: Response, turn: Turn, tokens: Json | None) -> list[bytes]:
        """All of it once more, from the inside out."""
        whole = told.ended(turn, tokens)
        item = whole["output"][0]
        return [
            told.event("response.output_text.done", **_place(told), text=turn.text, logprobs=[]),
            told.event("response.content_part.done", **_place(told), part=told.part(turn.text)),
            told.event("response.output_item.done", output_index=0, item=item),
            told.event(f"response.{whole['status']}", response=whole),
        ]

    def failure(self, told: Response, problem: ApiError) -> list[bytes]:
        """See `TurnHandler`."""
        error = {"code": "server_error", "message": problem.body["error"]["message"]}
        return [told.event("response.failed", response=told.body("failed", [], error=error))]


def _place(told: Response) -> Json:
    return {"item_id": told.item_id, "output_index": 0, "content_index": 0}


ROUTES = [(r"/v1/responses", Responses)]
