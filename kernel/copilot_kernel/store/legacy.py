"""A session of a version before the event log, which a later one took over: `session.import_legacy`.

It holds the messages as they went to the model, in the form of OpenAI's chat; they are told as events of today.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..acp.lenient import items, members, objects, words
from ..acp.messages import Json
from .lines import Event


def imported(event: Event) -> Iterator[Event]:
    """The events that would tell what this one holds."""
    for number, message in enumerate(objects(members(event.data.get("legacySession")).get("chatMessages"))):
        match message.get("role"):
            case "user":
                yield Event("user.message", {"content": _said(message)}, time=event.time)
            case "assistant":
                yield from _answer(message, number)
            case "tool":
                result = {"content": _said(message)}
                data = {"toolCallId": message.get("tool_call_id"), "success": True, "result": result}
                yield Event("tool.execution_complete", data)


def _answer(message: Json, number: int) -> Iterator[Event]:
    yield Event("assistant.message", {"messageId": f"imported-{number}", "content": _said(message)})
    for call in objects(message.get("tool_calls")):
        function = members(call.get("function"))
        data = {"toolCallId": call.get("id"), "toolName": function.get("name")}
        yield Event("tool.execution_start", {**data, "arguments": _arguments(function.get("arguments"))})


def _said(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n\n".join(words(members(part).get("text")) for part in items(content) if members(part).get("text"))


def _arguments(raw: Any) -> Any:
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return raw
