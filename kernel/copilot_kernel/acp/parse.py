"""Read what the agent sends unasked: `session/update` and `session/request_permission`, with their content.

Takes any JSON at all and never raises. What is missing gets a default, what is unknown is kept as `UnknownUpdate` or
`UnknownBlock` with its raw JSON. Spec: session-update, content, tool-calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import dialects
from .lenient import as_dict, as_dicts, as_id, as_list, as_str, opt_int, opt_str
from .messages import (
    KINDS,
    STATUSES,
    AudioBlock,
    AvailableCommand,
    Block,
    Chunk,
    CommandsUpdate,
    CompactionChunk,
    CompactionUpdate,
    ConfigUpdate,
    Diff,
    EmbeddedResource,
    ImageBlock,
    InfoUpdate,
    Json,
    Location,
    ModeUpdate,
    NoticeUpdate,
    PermissionOption,
    PermissionRequest,
    PlanEntry,
    PlanUpdate,
    ResourceLink,
    Speaker,
    TerminalContent,
    TextBlock,
    ToolCallUpdate,
    ToolContent,
    UnknownBlock,
    UnknownUpdate,
    Update,
    UsageUpdate,
)


def parse_update(raw: Any) -> Update:
    """Read the `update` of a `session/update`; one that lacks an essential member is an UnknownUpdate."""
    update = dialects.update(raw)
    kind = as_str(update.get("sessionUpdate"))
    reader = _READERS.get(kind)
    return (reader(update) if reader else None) or UnknownUpdate(kind, raw)


# -- content ------------------------------------------------------------------------------------------------------


def parse_block(raw: Any) -> Block:
    """Read a content block. Anything unreadable is an UnknownBlock."""
    return _known_block(as_dict(raw)) or UnknownBlock(raw)


def parse_content(raw: Any) -> ToolContent:
    """Read one item of a tool call's `content`."""
    item = as_dict(raw)
    match item.get("type"):
        case "content" if "content" in item:
            return parse_block(item["content"])
        case "diff":
            return _diff(item) or UnknownBlock(raw)
        case "terminal" if terminal_id := as_id(item.get("terminalId")):
            return TerminalContent(terminal_id)
    return UnknownBlock(raw)


def _known_block(raw: Json) -> Block | None:
    if raw.get("type") == "text" and isinstance(text := raw.get("text"), str):  # nearly always
        return TextBlock(text)
    data, uri, mime_type = opt_str(raw.get("data")), opt_str(raw.get("uri")), as_str(raw.get("mimeType"))
    match raw.get("type"):
        case "image" if data is not None:
            return ImageBlock(data, mime_type, uri or "")
        case "audio" if data is not None:
            return AudioBlock(data, mime_type)
        case "resource_link" if uri is not None:
            name, title, description = (as_str(raw.get(key)) for key in ("name", "title", "description"))
            return ResourceLink(uri, name, title, description, mime_type, opt_int(raw.get("size")))
        case "resource":
            return _resource(as_dict(raw.get("resource")))
    return None


def _resource(raw: Json) -> Block | None:
    uri = opt_str(raw.get("uri"))
    if uri is None:
        return None
    return EmbeddedResource(uri, opt_str(raw.get("text")), opt_str(raw.get("blob")), as_str(raw.get("mimeType")))


def _diff(raw: Json) -> Diff | None:
    path, old, new = (opt_str(raw.get(name)) for name in ("path", "oldText", "newText"))
    if path is None or (old is None and new is None):
        return None
    return Diff(path, old, new or "")


# -- tool calls and permissions -----------------------------------------------------------------------------------


def parse_permission(params: Any) -> PermissionRequest:
    """Read the parameters of `session/request_permission`."""
    params = dialects.permission_request(params)
    return PermissionRequest(
        tool_call=parse_call(params["toolCall"]),
        options=tuple(option for raw in as_dicts(params.get("options")) if (option := _option(raw))),
    )


def parse_call(raw: Any, *, begins: bool = False) -> ToolCallUpdate:
    """Read a `tool_call`, a `tool_call_update` or a request's `toolCall`. An empty id matches no other call."""
    raw = as_dict(raw)
    kind, status, content = raw.get("kind"), raw.get("status"), raw.get("content")
    return ToolCallUpdate(
        id=as_id(raw.get("toolCallId")),
        begins=begins,
        title=as_str(raw.get("title")) or None,
        name=as_str(raw.get("name")) or None,
        kind=kind if kind is None or (isinstance(kind, str) and kind in KINDS) else "other",
        status=status if isinstance(status, str) and status in STATUSES else None,
        content=None if content is None else tuple(map(parse_content, as_list(content))),
        locations=_locations(raw.get("locations")),
        raw_input=raw.get("rawInput"),
        raw_output=raw.get("rawOutput"),
        meta=_meta(raw),
    )


def _option(raw: Json) -> PermissionOption | None:
    """Return an option; None if its id cannot be sent back."""
    option_id = raw.get("optionId")
    if not isinstance(option_id, str):
        return None
    return PermissionOption(option_id, as_str(raw.get("name")) or as_str(option_id), as_str(raw.get("kind")))


def _locations(raw: Any) -> tuple[Location, ...] | None:
    if not isinstance(raw, list):
        return None
    paths = ((opt_str(item.get("path")), opt_int(item.get("line"))) for item in as_dicts(raw))
    return tuple(Location(path, line) for path, line in paths if path)


def _meta(raw: Json) -> Json | None:
    """`_meta`; kinds and statuses that this client does not know are added under `unread`."""
    meta = raw.get("_meta")
    unread = {
        name: raw[name]
        for name, known in (("kind", KINDS), ("status", STATUSES))
        if isinstance(raw.get(name), str) and raw[name] not in known
    }
    if unread:
        return {**as_dict(meta), "unread": unread}
    return meta if isinstance(meta, dict) else None


# -- updates ------------------------------------------------------------------------------------------------------


def _chunk(speaker: Speaker, raw: Json) -> Update | None:
    if "content" not in raw:
        return None
    return Chunk(speaker, parse_block(raw["content"]), as_id(raw.get("messageId")) or None)


def _tool_call(raw: Json, *, begins: bool = False) -> Update | None:
    call = parse_call(raw, begins=begins)
    return call if call.id or call.title else None


def _plan(raw: Json) -> Update | None:
    if not isinstance(raw.get("entries"), list):
        return None
    return PlanUpdate(tuple(map(_plan_entry, raw["entries"])), as_str(raw.get("description")))


def _plan_update(raw: Json) -> Update | None:
    """An unstable variant, of which only a list of items can be shown as a plan."""
    plan = as_dict(raw.get("plan"))
    return _plan(plan) if plan.get("type") == "items" else None


def _plan_entry(raw: Any) -> PlanEntry:
    content, priority, status = (as_str(as_dict(raw).get(name)) for name in ("content", "priority", "status"))
    return PlanEntry(content, priority or "medium", status or "pending")


def _commands(raw: Json) -> Update | None:
    if not isinstance(raw.get("availableCommands"), list):
        return None
    commands = (_command(command) for command in as_dicts(raw["availableCommands"]))
    return CommandsUpdate(tuple(command for command in commands if command.name))


def _command(raw: Json) -> AvailableCommand:
    hint = as_str(as_dict(raw.get("input")).get("hint"))
    return AvailableCommand(as_str(raw.get("name")), as_str(raw.get("description")), hint)


def _mode(raw: Json) -> Update | None:
    mode = opt_str(raw.get("currentModeId"))
    return ModeUpdate(mode) if mode else None


def _config(raw: Json) -> Update | None:
    options = raw.get("configOptions")
    return ConfigUpdate(read_options(options)) if isinstance(options, list) else None


def read_options(raw: Any) -> tuple[Json, ...]:
    """Read a session's `configOptions`, as JSON."""
    return tuple(dialects.options(raw))


def _info(raw: Json) -> Update | None:
    return InfoUpdate(opt_str(raw.get("title")), raw)


def _usage(raw: Json) -> Update | None:
    used, size, cost = opt_int(raw.get("used")), opt_int(raw.get("size")), raw.get("cost")
    if used is None:
        return None
    return UsageUpdate(used, size or 0, cost if isinstance(cost, dict) else None)


def _notice(raw: Json) -> Update | None:
    severity, title, description = (as_str(raw.get(name)) for name in ("severity", "title", "description"))
    return NoticeUpdate(severity or "other", title, description) if title else None


def _compaction(raw: Json) -> Update | None:
    compaction_id, error, summary = as_id(raw.get("compactionId")), raw.get("error"), raw.get("summary")
    if not compaction_id:
        return None
    if isinstance(error, dict):
        error = error.get("message")
    if isinstance(summary, list):
        summary = "".join(block.text for block in map(parse_block, summary) if isinstance(block, TextBlock))
    return CompactionUpdate(compaction_id, opt_str(raw.get("status")), opt_str(summary), opt_str(error))


def _compaction_chunk(raw: Json) -> Update | None:
    compaction_id, block = as_id(raw.get("compactionId")), parse_block(raw.get("content"))
    return CompactionChunk(compaction_id, block.text) if compaction_id and isinstance(block, TextBlock) else None


_READERS: dict[str, Callable[[Json], Update | None]] = {
    "agent_message_chunk": partial(_chunk, "agent"),
    "agent_thought_chunk": partial(_chunk, "thought"),
    "user_message_chunk": partial(_chunk, "user"),
    "tool_call": partial(_tool_call, begins=True),
    "tool_call_update": _tool_call,
    "plan": _plan,
    "plan_update": _plan_update,
    "available_commands_update": _commands,
    "current_mode_update": _mode,
    "config_option_update": _config,
    "session_info_update": _info,
    "usage_update": _usage,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _compaction_chunk,
}
