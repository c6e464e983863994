"""What the API answers, as JSON Schema: whole answers, and each event of a stream."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
REF = "#/components/schemas/"
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NULLABLE_TEXT: Json = {"type": ["string", "null"]}
USAGE: Json = {"type": ["object", "null"]}
REASONS = ["stop", "length", "content_filter"]
DONE = "[DONE]"
"""The last event of a chat completion that went well; it is no JSON."""


def answers() -> Json:
    """All of them, by name."""
    return {
        **_completions(),
        "Response": _response("completed", "incomplete"),
        **_models(),
        **_states(),
        "Error": _error(),
    }


def chat_events() -> Json:
    """One event of a streamed chat completion (OpenAPI 3.2, `itemSchema`)."""
    told = {"anyOf": [{"$ref": REF + "ChatCompletionChunk"}, {"$ref": REF + "Error"}]}
    return _of_event({"const": "message"}, {"anyOf": [{"const": DONE}, _embedded(told)]})


def response_events() -> Json:
    """One event of a streamed response: its name is the `type` in its data."""
    return {"anyOf": [_of_event({"const": kind}, _embedded(_event(kind, more))) for kind, more in _EVENTS.items()]}


def with_members(**members: Json) -> Json:
    """All of these, and perhaps more."""
    return {"type": "object", "properties": members, "required": list(members)}


# -- streams ----------------------------------------------------------------------------------------------------------

_PLACE: Json = {"item_id": TEXT, "output_index": {"const": 0}, "content_index": {"const": 0}}
_PART = with_members(type={"const": "output_text"}, text=TEXT, annotations={"type": "array"})
_ITEM = with_members(
    type={"const": "message"},
    id=TEXT,
    status={"enum": ["in_progress", "completed", "incomplete"]},
    role={"const": "assistant"},
    content={"type": "array", "items": _PART},
)


def _response(*statuses: str) -> Json:
    return with_members(
        id=TEXT,
        object={"const": "response"},
        created_at=WHOLE,
        status={"enum": statuses},
        model=TEXT,
        output={"type": "array", "items": _ITEM},
        usage=USAGE,
        error={"type": ["object", "null"]},
    )


_STATUS = {"created": "in_progress", "in_progress": "in_progress"}
_EVENTS: dict[str, Json] = {
    **{
        f"response.{kind}": {"response": _response(_STATUS.get(kind, kind))}
        for kind in ("created", "in_progress", "completed", "incomplete", "failed")
    },
    "response.output_item.added": {"output_index": {"const": 0}, "item": _ITEM},
    "response.output_item.done": {"output_index": {"const": 0}, "item": _ITEM},
    "response.content_part.added": {**_PLACE, "part": _PART},
    "response.content_part.done": {**_PLACE, "part": _PART},
    "response.output_text.delta": {**_PLACE, "delta": TEXT},
    "response.output_text.done": {**_PLACE, "text": TEXT},
}


def _of_event(name: Json, data: Json) -> Json:
    """`event` is `message` where a stream does not name its events (HTML, server-sent events)."""
    return {"type": "object", "properties": {"event": name, "data": data}, "required": ["data"]}


def _embedded(schema: Json) -> Json:
    return {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}


def _event(kind: str, more: Json) -> Json:
    return with_members(type={"const": kind}, sequence_number=WHOLE, **more)


# -- answers ----------------------------------------------------------------------------------------------------------


def _completions() -> Json:
    head = {"id": TEXT, "created": WHOLE, "model": TEXT}
    said = with_members(role={"const": "assistant"}, content=TEXT, refusal=NULLABLE_TEXT)
    whole = with_members(index=WHOLE, message=said, finish_reason={"enum": REASONS})
    delta = {"type": "object", "properties": {"role": {"const": "assistant"}, "content": TEXT}}
    piece = with_members(index=WHOLE, delta=delta, finish_reason={"enum": [*REASONS, None]})
    chunk = with_members(
        object={"const": "chat.completion.chunk"}, choices={"type": "array", "maxItems": 1, "items": piece}, **head
    )
    chunk["properties"]["usage"] = USAGE
    choices = {"type": "array", "minItems": 1, "maxItems": 1, "items": whole}
    return {
        "ChatCompletion": with_members(object={"const": "chat.completion"}, choices=choices, usage=USAGE, **head),
        "ChatCompletionChunk": chunk,
    }


def _models() -> Json:
    model = with_members(
        id={"type": "string", "minLength": 1},
        object={"const": "model"},
        created=WHOLE,
        owned_by=TEXT,
        name=TEXT,
        family=NULLABLE_TEXT,
        version=NULLABLE_TEXT,
        maxInputTokens={"type": ["integer", "null"]},
    )
    listed = {"type": "array", "items": {"$ref": REF + "Model"}}
    return {"Model": model, "Models": with_members(object={"const": "list"}, data=listed)}


def _states() -> Json:
    return {
        "Health": with_members(status={"const": "ok"}, models_available=WHOLE),
        "Status": with_members(
            state={"const": "running"},
            alone={"type": "boolean"},
            port=WHOLE,
            models={"type": "array", "items": TEXT},
            sessions=WHOLE,
            agents=WHOLE,
            turns=WHOLE,
        ),
    }


def _error() -> Json:
    return with_members(error=with_members(message=TEXT, type=TEXT, param=NULLABLE_TEXT, code=WHOLE))
