"""The turns of a past session, one after the other: a prompt and the conversation that followed.

One table says what each kind of event means: messages, thoughts, tool calls, decisions, errors and warnings. All other
kinds are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from ..acp.lenient import as_dict, as_dicts, as_id, as_str, opt_int, opt_str
from ..acp.messages import (
    Chunk,
    Diff,
    Json,
    Location,
    NoticeUpdate,
    ResourceLink,
    SessionState,
    Speaker,
    TextBlock,
    ToolCallUpdate,
)
from ..conversation import reduce
from ..conversation.model import Conversation, Entries, ToolCall
from .session_logs import DAMAGED, PROMPT, START, LogEvent, events

LINE_DAMAGED = "A line of the log is damaged and was left out"
REWOUND = "The user took back some of the turns above"

_DECISIONS = {"approved": (True, "allowed"), "cancelled": (None, "not run"), "denied": (False, "denied")}
_DECIDERS = {"human_response": " by you", "host_policy": " by a rule", "assisted_approval": " by the assistant"}
_KINDS = {
    **dict.fromkeys(("view", "show_file"), "read"),
    **dict.fromkeys(("grep", "glob", "web_search"), "search"),
    **dict.fromkeys(("edit", "str_replace", "str_replace_editor", "create", "insert", "apply_patch"), "edit"),
    **dict.fromkeys(("bash", "powershell", "read_bash", "write_bash", "stop_bash"), "execute"),
    **dict.fromkeys(("report_intent", "think"), "think"),
    "web_fetch": "fetch",
}


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One turn. `conversation` holds only its entries; `state` is the session's when it began."""

    prompt: str
    conversation: Conversation
    state: SessionState
    stop_reason: str
    time: str = ""
    """ISO 8601, when the prompt was given."""


def turns(path: Path) -> Iterator[PastTurn]:
    """The turns in the log at `path`. Raises CopilotError."""
    past: PastTurn | None = None
    conversation = Conversation(state=SessionState(""))
    for event in events(path):
        if event.type == PROMPT and not event.agent and _is_typed(event):
            if past is not None:
                yield _ended(past, conversation)
            past, conversation = _begun(event, conversation)
        elif event.type == "abort" and past is not None and not _was_rejected(conversation):
            past = replace(past, stop_reason="cancelled")
        elif event.type in _MEANINGS and not (event.agent and event.type.startswith("session.")):
            conversation = _MEANINGS[event.type](event, conversation)
    if past is not None:
        yield _ended(past, conversation)


def _is_typed(event: LogEvent) -> bool:
    """Return True if the user wrote this message, and not the program in their name."""
    return as_str(event.data.get("source")) in ("", "user") and not event.data.get("isAutopilotContinuation")


def _begun(event: LogEvent, before: Conversation) -> tuple[PastTurn, Conversation]:
    """Start the turn of a prompt. What came with it is named, not shown."""
    prompt, state = as_str(event.data.get("content")), before.state or SessionState("")
    links = [_link(each) for each in as_dicts(event.data.get("attachments"))]
    begun = reduce.begin_turn(structs.replace(before, entries=Entries()), [TextBlock(prompt), *links])
    return PastTurn(prompt, begun, state, "end_turn", event.time), begun


def _ended(past: PastTurn, conversation: Conversation) -> PastTurn:
    return replace(past, conversation=reduce.end_turn(conversation, past.stop_reason))


def _was_rejected(conversation: Conversation) -> bool:
    """Return True if the last entry is a rejected call: that ends a turn, too, and is not a cancellation."""
    return any(isinstance(each, ToolCall) and each.status == "rejected" for each in conversation.entries[-1:])


def _link(attachment: Json) -> ResourceLink:
    address = next((value for name in ("path", "filePath", "url") if (value := as_str(attachment.get(name)))), "")
    name = as_str(attachment.get("displayName")) or as_str(attachment.get("title"))
    return ResourceLink(address, name or address or as_str(attachment.get("type")))


# -- the meaning of each event ----------------------------------------------------------------------------------------

Meaning = Callable[[LogEvent, Conversation], Conversation]
"""Returns the conversation after an event."""


def _message(event: LogEvent, conversation: Conversation) -> Conversation:
    """A sub-agent's message is a thought of the agent that started it."""
    name = as_id(event.data.get("messageId")) or None
    if thought := as_str(event.data.get("reasoningText")):
        conversation = reduce.reduce(conversation, Chunk("thought", TextBlock(thought), name))
    if text := as_str(event.data.get("content")):
        speaker: Speaker = "thought" if event.agent else "agent"
        conversation = reduce.reduce(conversation, Chunk(speaker, TextBlock(text), name))
    return conversation


def _notice(severity: str, title: str = "") -> Meaning:
    """A line with this title, or with the event's own message."""

    def meaning(event: LogEvent, conversation: Conversation) -> Conversation:
        words = title or as_str(event.data.get("message"))
        line = NoticeUpdate(severity, words, as_str(event.data.get("url")))
        return reduce.reduce(conversation, line) if words else conversation

    return meaning


def _call_id(event: LogEvent) -> str:
    """The call's id, made unique: sub-agents count their calls for themselves."""
    name = as_id(event.data.get("toolCallId"))
    return f"{event.agent}/{name}" if event.agent else name


def _call_started(event: LogEvent, conversation: Conversation) -> Conversation:
    name, raw_input = as_str(event.data.get("toolName")), event.data.get("arguments")
    arguments = as_dict(raw_input)
    path = as_str(arguments.get("path") or arguments.get("file_path") or arguments.get("fileName"))
    # `str_replace_editor` is four tools in one.
    action = as_str(arguments.get("command")) if name == "str_replace_editor" else name
    title = as_str(arguments.get("description")) or as_str(event.data.get("toolTitle")) or f"{name} {path}".strip()
    call = ToolCallUpdate(
        id=_call_id(event),
        begins=True,
        title=title,
        name=name or None,
        kind=_KINDS.get(action, _KINDS.get(name, "other")),
        status="pending",
        content=_changes(arguments, path),
        locations=(Location(path),) if path else None,
        raw_input=raw_input,
        meta={"github.com/copilot": {"agentId": event.agent}} if event.agent else None,
    )
    return reduce.reduce(conversation, call)


def _changes(arguments: Json, path: str) -> tuple[Diff] | None:
    old, new, whole_file = (opt_str(arguments.get(key)) for key in ("old_str", "new_str", "file_text"))
    if path and whole_file is not None:
        return (Diff(path, None, whole_file),)
    return (Diff(path, old, new or ""),) if path and old is not None else None


def _call_completed(event: LogEvent, conversation: Conversation) -> Conversation:
    if event.data.get("success") is not False:
        output = _output(event.data)
        return reduce.reduce(conversation, ToolCallUpdate(_call_id(event), status="completed", raw_output=output))
    error = event.data.get("error")
    failure = error if isinstance(error, dict) else {"message": as_str(error) or "The tool failed."}
    failed = ToolCallUpdate(_call_id(event), status="failed", raw_output=failure)
    call = conversation.call(_call_id(event))
    if failure.get("code") in ("rejected", "denied") and call is not None and not call.decision:
        conversation = reduce.decide(conversation, call.id, False, "denied")
    return reduce.reduce(conversation, failed)


def _output(data: Json) -> Any:
    """The output of a call; the exit code of a command may stand beside it."""
    result, code = data.get("result"), opt_int(as_dict(data.get("shellExecution")).get("exitCode"))
    if not isinstance(result, dict):
        return result if isinstance(result, str) else None
    is_shown = code is None or "completed with exit code" in as_str(result.get("content"))
    return result if is_shown else {**result, "exitCode": code}


def _decided(event: LogEvent, conversation: Conversation) -> Conversation:
    kind = as_str(as_dict(event.data.get("result")).get("kind"))
    allowed, word = _DECISIONS.get(kind.partition("-")[0], (None, ""))
    call = conversation.call(_call_id(event)) or conversation.call(as_id(event.data.get("toolCallId")))
    if call is None or not word:
        return conversation
    who = _DECIDERS.get(as_str(event.data.get("decisionSource")), "")
    words = word + who + ", from then on" * kind.startswith("approved-")
    return reduce.decide(conversation, call.id, allowed, words)


def _state(event: LogEvent, conversation: Conversation) -> Conversation:
    """Session, model and mode, as the next turn begins with them."""
    state, data = conversation.state or SessionState(""), event.data
    model = as_str(data.get("newModel")) or as_str(data.get("selectedModel"))
    mode = {"interactive": "agent"}.get(as_str(data.get("newMode")), as_str(data.get("newMode")))
    session = as_str(data.get("sessionId"))
    state = structs.replace(state, id=session or state.id, model=model or state.model, mode=mode or state.mode)
    return structs.replace(conversation, state=state)


_MEANINGS: Mapping[str, Meaning] = {
    "assistant.message": _message,
    "permission.completed": _decided,
    "session.error": _notice("error"),
    "session.mode_changed": _state,
    "session.model_change": _state,
    "session.snapshot_rewind": _notice("info", REWOUND),
    "session.warning": _notice("warning"),
    "tool.execution_complete": _call_completed,
    "tool.execution_start": _call_started,
    "tool.user_requested": _call_started,
    DAMAGED: _notice("warning", LINE_DAMAGED),
    START: _state,
}
