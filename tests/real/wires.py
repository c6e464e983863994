"""The three dialects in which agents ask a model: what was said so far in, one step of a script out.

Pure: no socket here. A dialect reads a request into a flat list of what was said and
turns a step into the JSON body, or the server-sent events, that its agents expect.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the conversation that the agent sent along."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model asks for."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model, its name being unique in the conversation; `hang` leaves it without an end."""

    say: str = ""
    think: str = ""
    calls: tuple[Call, ...] = ()
    name: str = "0"
    hang: bool = False
    refuse: int = 0
    pieces: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple(self.say[at : at + 16] for at in range(0, len(self.say), 16)))


class Wire(Protocol):
    """A dialect."""

    def said(self, body: Json) -> list[Said]: ...
    def offers_tools(self, body: Json) -> bool: ...
    def whole(self, step: Step) -> Json: ...
    def events(self, step: Step) -> Iterator[Json]: ...
    def ending(self, step: Step) -> Iterator[Json]: ...


def sse(event: Json) -> bytes:
    """One event of a stream."""
    return f"data: {json.dumps(event)}\n\n".encode()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


class OpenAI:
    """Chat completions."""

    def said(self, body: Json) -> list[Said]:
        return [Said(message["role"], _text(message.get("content"))) for message in body["messages"]]

    def offers_tools(self, body: Json) -> bool:
        return bool(body.get("tools"))

    def whole(self, step: Step) -> Json:
        message = {"role": "assistant", "content": step.say, "tool_calls": _openai_calls(step)}
        choice = {"index": 0, "message": message, "finish_reason": _openai_end(step)}
        return {**_OPENAI, "object": "chat.completion", "choices": [choice], "usage": _OPENAI_USAGE}

    def events(self, step: Step) -> Iterator[Json]:
        yield _openai_chunk({"role": "assistant", "content": ""})
        if step.think:
            yield _openai_chunk({"reasoning_content": step.think, "reasoning_text": step.think})
        yield from (_openai_chunk({"content": piece}) for piece in step.pieces)
        yield from (_openai_chunk({"tool_calls": [call]}) for call in _openai_calls(step))

    def ending(self, step: Step) -> Iterator[Json]:
        yield _openai_chunk({}, _openai_end(step))
        yield {**_OPENAI, "object": "chat.completion.chunk", "choices": [], "usage": _OPENAI_USAGE}


_OPENAI = {"id": "chatcmpl-1", "created": 1767225600, "model": "scripted"}
_OPENAI_USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}


def _openai_end(step: Step) -> str:
    return "tool_calls" if step.calls else "stop"


def _openai_calls(step: Step) -> list[Json]:
    return [
        {
            "index": at,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for at, call in enumerate(step.calls)
    ]


def _openai_chunk(delta: Json, end: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    return {**_OPENAI, "object": "chat.completion.chunk", "choices": [choice]}


class Gemini:
    """generateContent and streamGenerateContent."""

    def said(self, body: Json) -> list[Said]:
        speakers = {"model": "assistant"}
        return [
            Said(speakers.get(message.get("role", "user"), "user"), _text(message.get("parts")))
            for message in body.get("contents", [])
        ]

    def offers_tools(self, body: Json) -> bool:
        return bool(body.get("tools"))

    def whole(self, step: Step) -> Json:
        parts = [part for chunk in self.events(step) for part in chunk["candidates"][0]["content"]["parts"]]
        return _gemini_chunk(parts, end=True)

    def events(self, step: Step) -> Iterator[Json]:
        if step.think:
            yield _gemini_chunk([{"text": step.think, "thought": True}])
        yield from (_gemini_chunk([{"text": piece}]) for piece in step.pieces)
        calls = [{"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in step.calls]
        if calls:
            yield _gemini_chunk(calls)

    def ending(self, step: Step) -> Iterator[Json]:
        yield _gemini_chunk([{"text": ""}], end=True)


def _gemini_chunk(parts: list[Json], end: bool = False) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if end:
        candidate["finishReason"] = "STOP"
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
