"""Tool calls and the permission to make them (spec: tool-calls)."""

from __future__ import annotations

from typing import Any

from .aliases import spelled
from .blocks import parse_contents
from .lenient import ident, items, members, text, whole, words
from .messages import KINDS, Json, Location, Option, PermissionRequest, Text, ToolCallUpdate

STATUSES = frozenset({"pending", "in_progress", "completed", "failed", "cancelled"})


def parse_call(raw: Any, *, begins: bool = False) -> ToolCallUpdate:
    """`tool_call`, `tool_call_update` or the `toolCall` of a permission request. An empty id matches no other call."""
    raw = spelled("tool call", members(raw))
    return ToolCallUpdate(
        id=ident(raw.get("toolCallId")),
        begins=begins,
        title=words(raw.get("title")) or None,
        name=words(raw.get("name")) or None,
        kind=_kind(raw.get("kind")),
        status=_status(raw.get("status")),
        content=parse_contents(raw.get("content")),
        locations=_locations(raw.get("locations")),
        raw_input=raw.get("rawInput"),
        raw_output=raw.get("rawOutput"),
        meta=_meta(raw),
    )


def parse_permission(params: Any) -> PermissionRequest:
    """`session/request_permission`; a request without a tool call becomes one of its title and description."""
    params = members(params)
    call = parse_call(params["toolCall"]) if "toolCall" in params else _described(params)
    return PermissionRequest(
        session_id=ident(params.get("sessionId")) or None,
        tool_call=call,
        options=tuple(option for raw in items(params.get("options")) if (option := _option(raw))),
        complete="sessionId" in params or "toolCall" in params,
    )


def _described(params: Json) -> ToolCallUpdate:
    description = words(params.get("description"))
    content = (Text(description),) if description else None
    return ToolCallUpdate(id="", title=words(params.get("title")) or None, content=content)


def _option(raw: Any) -> Option | None:
    """An option whose id we cannot send back is no option."""
    raw = members(raw)
    option = raw.get("optionId")
    if not isinstance(option, str):
        return None
    return Option(option, words(raw.get("name")) or words(option), words(raw.get("kind")))


def _kind(raw: Any) -> str | None:
    if raw is None:
        return None
    return raw if isinstance(raw, str) and raw in KINDS else "other"


def _status(raw: Any) -> str | None:
    return raw if isinstance(raw, str) and raw in STATUSES else None


def _locations(raw: Any) -> tuple[Location, ...] | None:
    if not isinstance(raw, list):
        return None
    paths = ((text(members(item).get("path")), whole(members(item).get("line"))) for item in raw)
    return tuple(Location(path, line) for path, line in paths if path)


def _meta(raw: Json) -> Json | None:
    """`_meta`, and under `unread` the words for kind and status that this client does not know."""
    meta = raw.get("_meta")
    unread = {
        name: raw[name]
        for name, known in (("kind", KINDS), ("status", STATUSES))
        if isinstance(raw.get(name), str) and raw[name] not in known
    }
    if unread:
        return {**members(meta), "unread": unread}
    return meta if isinstance(meta, dict) else None
