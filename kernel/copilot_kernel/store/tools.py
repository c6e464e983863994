"""Tool calls of the event log, told as the agent tells them on the wire: title, kind, changes, places, result."""

from __future__ import annotations

from collections.abc import Iterator

from ..acp.lenient import ident, members, text, whole, words
from ..acp.messages import Diff, Json, Location, ToolCallUpdate
from .lines import Event

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


def begun(event: Event) -> ToolCallUpdate:
    """`tool.execution_start`, or `tool.user_requested`."""
    name, arguments = words(event.data.get("toolName")), event.data.get("arguments")
    given = members(arguments)
    path = words(given.get("path") or given.get("file_path") or given.get("fileName"))
    changes = tuple(_changes(given, path))
    return ToolCallUpdate(
        id=call_id(event),
        begins=True,
        title=_title(event.data, name, given, path),
        name=name or None,
        kind=_KINDS.get(_action(name, given), _KINDS.get(name, "other")),
        status="pending",
        content=changes or None,
        locations=(Location(path),) if path else None,
        raw_input=arguments,
        meta={"github.com/copilot": {"agentId": event.agent}} if event.agent else None,
    )


def went_on(event: Event) -> ToolCallUpdate:
    """`tool.execution_progress` and `tool.execution_partial_result`: the output so far, as a whole."""
    output = words(event.data.get("partialOutput")) or words(event.data.get("progressMessage"))
    return ToolCallUpdate(call_id(event), status="in_progress", raw_output={"content": output} if output else None)


def ended(event: Event, raw_input: Json | None = None) -> ToolCallUpdate:
    """`tool.execution_complete`. `raw_input` is that of a call whose changes only the result can tell."""
    if event.data.get("success") is False:
        return ToolCallUpdate(call_id(event), status="failed", raw_output=_failure(event.data))
    result = _result(event.data)
    diff = text(members(result).get("detailedContent")) or ""
    tells = raw_input is not None and "\n@@ " in diff
    return ToolCallUpdate(
        call_id(event),
        status="completed",
        raw_input={**(raw_input or {}), "diff": diff} if tells else None,
        raw_output=result,
    )


def is_rejected(event: Event) -> bool:
    """Whether the call failed because somebody said no."""
    return members(event.data.get("error")).get("code") in ("rejected", "denied")


def call_id(event: Event) -> str:
    """Sub-agents count their calls for themselves."""
    name = ident(event.data.get("toolCallId"))
    return f"{event.agent}/{name}" if event.agent else name


def _title(data: Json, name: str, given: Json, path: str) -> str:
    verb = _VERBS.get(_action(name, given))
    if verb and path:
        return f"{verb} {path}"
    server = words(data.get("mcpServerName"))
    own = words(data.get("mcpToolName")) or name
    said = words(given.get("description")) or words(given.get("intent")) or words(data.get("toolTitle"))
    return said or (f"{server}: {own}" if server else own)


def _action(name: str, given: Json) -> str:
    """`str_replace_editor` is four tools in one."""
    return words(given.get("command")) if name == "str_replace_editor" else name


def _changes(given: Json, path: str) -> Iterator[Diff]:
    old, new, whole_file = (text(given.get(key)) for key in ("old_str", "new_str", "file_text"))
    if path and whole_file is not None:
        yield Diff(path, None, whole_file)
    elif path and old is not None:
        yield Diff(path, old, new or "")


def _result(data: Json) -> Json | str | None:
    """The exit code stands apart where the text does not tell it."""
    result, code = data.get("result"), whole(members(data.get("shellExecution")).get("exitCode"))
    if not isinstance(result, dict):
        return result if isinstance(result, str) else None
    told = code is None or "completed with exit code" in words(result.get("content"))
    return result if told else {**result, "exitCode": code}


def _failure(data: Json) -> Json | str:
    error = data.get("error")
    return error if isinstance(error, dict) else {"message": words(error) or "The tool failed."}
