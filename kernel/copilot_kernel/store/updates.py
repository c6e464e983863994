"""What each kind of event means for a reader: updates as an agent sends them, and the content of a prompt.

Events that only the program itself needs are left out; unknown kinds that belong to the conversation are kept as such.
`docs/agents.md` lists what counts as internal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ..acp.lenient import as_dict, as_dicts, as_id, as_str, opt_int, opt_str
from ..acp.messages import (
    AudioBlock,
    Block,
    CompactionUpdate,
    Diff,
    EmbeddedResource,
    ImageBlock,
    Json,
    Location,
    ModeUpdate,
    NoticeUpdate,
    ResourceLink,
    ToolCallUpdate,
    UnknownUpdate,
    Update,
)
from .log import LogEvent

_CONVERSATION = ("assistant.", "tool.", "user.")
_INTERNAL_ENDS = ("_start", "_end", "_delta", "_retry", "_progress", ".requested", "usage", "idle", "intent")
# Messages to the user of the terminal that are not part of the conversation.
_INTERNAL_INFOS = frozenset({"authentication", "configuration", "snapshot", "timing"})

_KINDS = {
    "view": "read",
    "show_file": "read",
    "grep": "search",
    "glob": "search",
    "edit": "edit",
    "str_replace": "edit",
    "str_replace_editor": "edit",
    "create": "edit",
    "insert": "edit",
    "apply_patch": "edit",
    "bash": "execute",
    "powershell": "execute",
    "read_bash": "execute",
    "write_bash": "execute",
    "stop_bash": "execute",
    "web_fetch": "fetch",
    "web_search": "search",
    "report_intent": "think",
    "think": "think",
}
_VERBS = {"view": "Viewing", "edit": "Editing", "create": "Creating", "str_replace": "Editing", "insert": "Editing"}


def is_shown(kind: str) -> bool:
    """Whether `update_of` has an update for events of this kind."""
    if kind in _READERS:
        return True
    return kind.startswith(_CONVERSATION) and not kind.endswith(_INTERNAL_ENDS) and "fusion" not in kind


def update_of(event: LogEvent) -> Update | None:
    """What `event` means, if that depends on no other event."""
    reader = _READERS.get(event.type)
    if reader is not None:
        return reader(event)
    return UnknownUpdate(event.type, event.data) if is_shown(event.type) else None


# -- notices and states -------------------------------------------------------------------------------------------


def _notice(severity: str, event: LogEvent) -> Update | None:
    message, tip, url = (as_str(event.data.get(name)) for name in ("message", "tip", "url"))
    if not message or event.data.get("infoType") in _INTERNAL_INFOS:
        return None
    return NoticeUpdate(severity, message, "\n".join(filter(None, (tip, url))))


def _mode(event: LogEvent) -> Update | None:
    mode = as_str(event.data.get("newMode"))
    return ModeUpdate("agent" if mode == "interactive" else mode) if mode else None


def _plan(event: LogEvent) -> Update:
    verb = {"create": "written", "delete": "deleted"}.get(as_str(event.data.get("operation")), "changed")
    return _info(f"The plan was {verb}", event)


def _info(title: str, event: LogEvent) -> Update:
    return NoticeUpdate("info", title, as_str(event.data.get("summary")))


def _compaction_ended(event: LogEvent) -> Update:
    """It is not a failure if there was nothing to compact."""
    status = "completed"
    if event.data.get("success") is False:
        status = "cancelled" if event.data.get("outcome") == "not_applicable" else "failed"
    summary, error = (as_str(event.data.get(name)) or None for name in ("summaryContent", "error"))
    return CompactionUpdate(_compaction_id(event), status, summary, error)


def _compaction_id(event: LogEvent) -> str:
    return as_id(event.data.get("compactionAttemptId")) or "the only one"


def _truncated(event: LogEvent) -> Update:
    count = opt_int(event.data.get("messagesRemovedDuringTruncation"))
    return NoticeUpdate("info", "Context truncated", f"{count} messages left out" if count else "")


def _notification(event: LogEvent) -> Update | None:
    """Something that happened in the background; `content` is for the model."""
    kind = as_dict(event.data.get("kind"))
    what = as_str(kind.get("description")) or as_str(kind.get("displayName")) or as_str(kind.get("summary"))
    name = as_str(kind.get("type")).replace("_", " ")
    return NoticeUpdate("info", ": ".join(filter(None, (name, what)))) if name else None


def _skill(event: LogEvent) -> Update | None:
    """Skills that come with a custom agent are left out."""
    name = as_str(event.data.get("name"))
    if not name or event.data.get("trigger") == "context-load":
        return None
    return NoticeUpdate("info", f"Skill: {name}", as_str(event.data.get("description")))


def _folder(event: LogEvent) -> Update | None:
    """While `pendingGitContext` is set, another event follows that names the repository."""
    cwd, repository, branch = (as_str(event.data.get(name)) for name in ("cwd", "repository", "branch"))
    if not cwd or event.data.get("pendingGitContext"):
        return None
    where = (repository, f"branch {branch}" if branch else "")
    return NoticeUpdate("info", f"Working folder: {cwd}", ", ".join(filter(None, where)))


def _subagent_failed(event: LogEvent) -> Update:
    name = as_str(event.data.get("agentDisplayName")) or as_str(event.data.get("agentName")) or "A sub-agent"
    return NoticeUpdate("warning", f"{name} failed", as_str(event.data.get("error")))


# -- tool calls ---------------------------------------------------------------------------------------------------


def call_id(event: LogEvent) -> str:
    """The call's id, made unique: sub-agents count their calls for themselves."""
    name = as_id(event.data.get("toolCallId"))
    return f"{event.agent}/{name}" if event.agent else name


def is_rejected(event: LogEvent) -> bool:
    """Whether the call failed because it was rejected."""
    return as_dict(event.data.get("error")).get("code") in ("rejected", "denied")


def call_completed(event: LogEvent, raw_input: Json | None = None) -> ToolCallUpdate:
    """`tool.execution_complete`; pass the `raw_input` of a call whose changes are known only from the result."""
    data = event.data
    if data.get("success") is False:
        error = data.get("error")
        failure = error if isinstance(error, dict) else {"message": as_str(error) or "The tool failed."}
        return ToolCallUpdate(call_id(event), status="failed", raw_output=failure)
    result, code = data.get("result"), opt_int(as_dict(data.get("shellExecution")).get("exitCode"))
    diff = as_str(as_dict(result).get("detailedContent"))
    if (
        isinstance(result, dict)
        and code is not None
        and "completed with exit code" not in as_str(result.get("content"))
    ):
        result = {**result, "exitCode": code}
    return ToolCallUpdate(
        call_id(event),
        status="completed",
        raw_input={**raw_input, "diff": diff} if raw_input is not None and "\n@@ " in diff else None,
        raw_output=result if isinstance(result, dict | str) else None,
    )


def _call_started(event: LogEvent) -> ToolCallUpdate:
    """`tool.execution_start`, or `tool.user_requested`."""
    name, raw_input = as_str(event.data.get("toolName")), event.data.get("arguments")
    arguments = as_dict(raw_input)
    path = as_str(arguments.get("path") or arguments.get("file_path") or arguments.get("fileName"))
    # `str_replace_editor` is four tools in one.
    action = as_str(arguments.get("command")) if name == "str_replace_editor" else name
    verb = _VERBS.get(action)
    return ToolCallUpdate(
        id=call_id(event),
        begins=True,
        title=f"{verb} {path}" if verb and path else _call_title(event.data, name, arguments),
        name=name or None,
        kind=_KINDS.get(action, _KINDS.get(name, "other")),
        status="pending",
        content=_changes(arguments, path),
        locations=(Location(path),) if path else None,
        raw_input=raw_input,
        meta={"github.com/copilot": {"agentId": event.agent}} if event.agent else None,
    )


def _call_progress(event: LogEvent) -> ToolCallUpdate:
    """`tool.execution_progress` and `tool.execution_partial_result`: the whole output so far."""
    output = as_str(event.data.get("partialOutput")) or as_str(event.data.get("progressMessage"))
    return ToolCallUpdate(call_id(event), status="in_progress", raw_output={"content": output} if output else None)


def _call_title(data: Json, name: str, arguments: Json) -> str:
    title = as_str(arguments.get("description")) or as_str(arguments.get("intent")) or as_str(data.get("toolTitle"))
    server = as_str(data.get("mcpServerName"))
    tool = as_str(data.get("mcpToolName")) or name
    return title or (f"{server}: {tool}" if server else tool)


def _changes(arguments: Json, path: str) -> tuple[Diff] | None:
    old, new, whole_file = (opt_str(arguments.get(key)) for key in ("old_str", "new_str", "file_text"))
    if path and whole_file is not None:
        return (Diff(path, None, whole_file),)
    return (Diff(path, old, new or ""),) if path and old is not None else None


_READERS: dict[str, Callable[[LogEvent], Update | None]] = {
    "session.compaction_complete": _compaction_ended,
    "session.compaction_start": lambda event: CompactionUpdate(_compaction_id(event), "in_progress"),
    "session.context_changed": _folder,
    "session.context_cleared": partial(_info, "The agent's context was cleared here"),
    "session.error": partial(_notice, "error"),
    "session.handoff": partial(_info, "The session was handed over"),
    "session.info": partial(_notice, "info"),
    "session.mode_changed": _mode,
    "session.plan_changed": _plan,
    "session.truncation": _truncated,
    "session.warning": partial(_notice, "warning"),
    "skill.invoked": _skill,
    "skill.invoked_ref": _skill,
    "subagent.failed": _subagent_failed,
    "system.notification": _notification,
    "tool.execution_partial_result": _call_progress,
    "tool.execution_progress": _call_progress,
    "tool.execution_start": _call_started,
    "tool.user_requested": _call_started,
}


# -- what came with a prompt --------------------------------------------------------------------------------------


def attachments(raw: Any, assets: Mapping[str, Json]) -> Iterator[Block]:
    """The `attachments` of a `user.message` as content blocks; `assets` are the log's binary assets by id."""
    for each in as_dicts(raw):
        yield _binary(each, assets) or _selection(each) or _link(each)


def _binary(raw: Json, assets: Mapping[str, Json]) -> Block | None:
    asset = assets.get(as_str(raw.get("assetId")), {})
    data = as_str(raw.get("data")) or as_str(asset.get("data"))
    mime_type = as_str(raw.get("mimeType")) or as_str(asset.get("mimeType"))
    if not data:
        return None
    if mime_type.startswith("image/"):
        return ImageBlock(data, mime_type)
    if mime_type.startswith("audio/"):
        return AudioBlock(data, mime_type)
    return EmbeddedResource(_address(raw), blob=data, mime_type=mime_type)


def _selection(raw: Json) -> Block | None:
    """Selected text; its lines count from 0."""
    text = opt_str(raw.get("text"))
    if text is None:
        return None
    selection = as_dict(raw.get("selection"))
    start, end = (opt_int(as_dict(selection.get(name)).get("line")) for name in ("start", "end"))
    lines = "" if start is None or end is None else f"#L{start + 1}-L{end + 1}"
    return EmbeddedResource(_address(raw) + lines, text=text)


def _link(raw: Json) -> Block:
    address = _address(raw)
    name = as_str(raw.get("displayName")) or as_str(raw.get("title")) or as_str(raw.get("name"))
    return ResourceLink(address, name or address or as_str(raw.get("type")), mime_type=as_str(raw.get("mimeType")))


def _address(raw: Json) -> str:
    return as_str(raw.get("path")) or as_str(raw.get("filePath")) or as_str(raw.get("url"))
