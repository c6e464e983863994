"""The turns of a past session, one after the other: a prompt and the conversation that followed.

One table says what each kind of event means: messages, thoughts, tool calls, decisions, notices. All other kinds are
left out. A log may be larger than memory: only the turn that is being read is kept, and only both ends of huge outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import structs

from ..acp.lenient import as_dict, as_dicts, as_id, as_str, opt_int, opt_str
from ..acp.messages import (
    AudioBlock,
    Block,
    Chunk,
    CompactionUpdate,
    Diff,
    ImageBlock,
    Json,
    Location,
    NoticeUpdate,
    ResourceLink,
    SessionState,
    TextBlock,
    ToolCallUpdate,
    Update,
)
from ..conversation import reduce
from ..conversation.model import Conversation, Entries, ToolCall
from .log import LogEvent, ReadStats, events, rewound

OMITTED = "{:,} more entries of this turn were omitted"
MAX_EVENT_CHARS = 100_000
"""Limit of one text."""
BUDGET_BYTES = 16 * 2**20
"""Limit of a turn's events, beyond which nothing new is kept; also of all assets together."""
MAX_MEMBERS, MAX_DEPTH = 1_000, 30
"""Limits of one JSON value."""
MAX_BINARY_CHARS = 8 * 2**20
"""Limit of base64: an image is kept whole or not at all."""

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


def turns(path: Path, stats: ReadStats | None = None) -> Iterator[PastTurn]:
    """The turns in the log at `path`, without those that the user took back. Raises CopilotError."""
    is_rewound, reader = rewound(path), _TurnReader()
    for event in events(path, stats or ReadStats(), _KNOWN.__contains__):
        if is_rewound(event) or (event.agent and event.type not in _OF_SUBAGENTS):
            continue
        if event.type == _PROMPT:
            if _is_typed(event):
                yield from reader.end()
                reader.begin(event)
        else:
            reader.read(event)
    yield from reader.end()


def _is_typed(event: LogEvent) -> bool:
    """Return True if the user wrote this message, and not the program in their name."""
    return as_str(event.data.get("source")) in ("", "user") and not event.data.get("isAutopilotContinuation")


class _TurnReader:
    """Collects the events of one turn after another."""

    def __init__(self) -> None:
        self._conversation = Conversation(state=SessionState(""))
        self._assets: dict[str, Json] = {}
        self._past = PastTurn("", self._conversation, SessionState(""), "end_turn")
        self._bytes_read = self._omitted = 0

    def begin(self, event: LogEvent) -> None:
        """Start the turn of this prompt."""
        self._bytes_read = self._omitted = 0
        data = trimmed(event.data)
        prompt, state = as_str(data.get("content")), self._conversation.state or SessionState("")
        blocks = [TextBlock(prompt), *_attachments(data.get("attachments"), self._assets)]
        self._conversation = reduce.begin_turn(self._conversation, blocks)
        self._past = PastTurn(prompt, self._conversation, state, "end_turn", event.time)

    def end(self) -> Iterator[PastTurn]:
        """The turn that was read, if there is one; the next event belongs to another."""
        if not self._conversation.turn:
            return
        if self._omitted:
            line = NoticeUpdate("warning", OMITTED.format(self._omitted))
            self._conversation = reduce.reduce(self._conversation, line)
        whole = reduce.end_turn(self._conversation, self._past.stop_reason)
        yield replace(self._past, conversation=whole)
        self._conversation = structs.replace(whole, entries=Entries())

    def read(self, event: LogEvent) -> None:
        """Apply one more event."""
        self._bytes_read += min(event.size, 4 * MAX_EVENT_CHARS)
        event = replace(event, data=trimmed(event.data))
        if event.type in _CHANGES:
            _CHANGES[event.type](self, event)
        if event.type in _UPDATES:
            for update in _UPDATES[event.type](event):
                self._apply(update)

    def _apply(self, update: Update) -> None:
        before = self._conversation
        if isinstance(update, NoticeUpdate) and update.severity == "info" and not before.turn:
            return
        is_known = isinstance(update, ToolCallUpdate) and before.call(update.id) is not None
        if is_known or self._bytes_read <= BUDGET_BYTES:
            self._conversation = reduce.reduce(before, update)
        else:
            self._omitted += not isinstance(update, ToolCallUpdate) or update.begins

    # -- events that change what is there ---------------------------------------------------------------------------

    def on_complete(self, event: LogEvent) -> None:
        call = self._conversation.call(_call_id(event))
        if as_dict(event.data.get("error")).get("code") in ("rejected", "denied") and call and not call.decision:
            self._conversation = reduce.decide(self._conversation, call.id, False, "denied")

    def on_permission(self, event: LogEvent) -> None:
        kind = as_str(as_dict(event.data.get("result")).get("kind"))
        allowed, word = _DECISIONS.get(kind.partition("-")[0], (None, ""))
        name = as_id(event.data.get("toolCallId"))
        call = self._conversation.call(_call_id(event)) or self._conversation.call(name)
        if call is not None and word:
            who = _DECIDERS.get(as_str(event.data.get("decisionSource")), "")
            words = word + who + ", from then on" * kind.startswith("approved-")
            self._conversation = reduce.decide(self._conversation, call.id, allowed, words)

    def on_abort(self, event: LogEvent) -> None:
        """A rejected question also ends a turn like this, and is not a cancellation."""
        last = self._conversation.entries[-1:]
        if not any(isinstance(entry, ToolCall) and entry.status == "rejected" for entry in last):
            self._past = replace(self._past, stop_reason="cancelled")

    def on_state(self, event: LogEvent) -> None:
        """Session, model and mode, as the next turn begins with them."""
        state, data = self._conversation.state or SessionState(""), event.data
        model = as_str(data.get("newModel")) or as_str(data.get("selectedModel"))
        mode = {"interactive": "agent"}.get(as_str(data.get("newMode")), as_str(data.get("newMode")))
        session = as_str(data.get("sessionId"))
        state = structs.replace(state, id=session or state.id, model=model or state.model, mode=mode or state.mode)
        self._conversation = structs.replace(self._conversation, state=state)

    def on_asset(self, event: LogEvent) -> None:
        """Keep the newest ones, for the prompt that follows."""
        self._assets[as_id(event.data.get("assetId"))] = event.data
        while (
            len(self._assets) > 1
            and sum(len(as_str(each.get("data"))) for each in self._assets.values()) > BUDGET_BYTES
        ):
            del self._assets[next(iter(self._assets))]


# -- the meaning of each event ----------------------------------------------------------------------------------------


def _message(event: LogEvent) -> Iterator[Update]:
    """A sub-agent's message is a thought of the agent that started it."""
    name = as_id(event.data.get("messageId")) or None
    if thought := as_str(event.data.get("reasoningText")):
        yield Chunk("thought", TextBlock(thought), name)
    if text := as_str(event.data.get("content")):
        yield Chunk("thought" if event.agent else "agent", TextBlock(text), name)


def _notice(severity: str) -> Callable[[LogEvent], Iterator[Update]]:
    def update(event: LogEvent) -> Iterator[Update]:
        message, tip, url = (as_str(event.data.get(name)) for name in ("message", "tip", "url"))
        if message:
            yield NoticeUpdate(severity, message, "\n".join(filter(None, (tip, url))))

    return update


def _compaction(event: LogEvent) -> Iterator[Update]:
    summary, error = (as_str(event.data.get(name)) or None for name in ("summaryContent", "error"))
    if event.data.get("outcome") != "not_applicable":
        status = "failed" if event.data.get("success") is False else "completed"
        yield CompactionUpdate(as_id(event.data.get("compactionAttemptId")) or "the only one", status, summary, error)


def _call_id(event: LogEvent) -> str:
    """The call's id, made unique: sub-agents count their calls for themselves."""
    name = as_id(event.data.get("toolCallId"))
    return f"{event.agent}/{name}" if event.agent else name


def _call_started(event: LogEvent) -> Iterator[Update]:
    name, raw_input = as_str(event.data.get("toolName")), event.data.get("arguments")
    arguments = as_dict(raw_input)
    path = as_str(arguments.get("path") or arguments.get("file_path") or arguments.get("fileName"))
    # `str_replace_editor` is four tools in one.
    action = as_str(arguments.get("command")) if name == "str_replace_editor" else name
    title = as_str(arguments.get("description")) or as_str(event.data.get("toolTitle")) or f"{name} {path}".strip()
    yield ToolCallUpdate(
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


def _changes(arguments: Json, path: str) -> tuple[Diff] | None:
    old, new, whole_file = (opt_str(arguments.get(key)) for key in ("old_str", "new_str", "file_text"))
    if path and whole_file is not None:
        return (Diff(path, None, whole_file),)
    return (Diff(path, old, new or ""),) if path and old is not None else None


def _call_progress(event: LogEvent) -> Iterator[Update]:
    """The whole output so far."""
    output = as_str(event.data.get("partialOutput")) or as_str(event.data.get("progressMessage"))
    yield ToolCallUpdate(_call_id(event), status="in_progress", raw_output={"content": output} if output else None)


def _call_completed(event: LogEvent) -> Iterator[Update]:
    data, result = event.data, event.data.get("result")
    if data.get("success") is False:
        error = data.get("error")
        failure = error if isinstance(error, dict) else {"message": as_str(error) or "The tool failed."}
        yield ToolCallUpdate(_call_id(event), status="failed", raw_output=failure)
        return
    code = opt_int(as_dict(data.get("shellExecution")).get("exitCode"))
    if (
        isinstance(result, dict)
        and code is not None
        and "completed with exit code" not in as_str(result.get("content"))
    ):
        result = {**result, "exitCode": code}
    output = result if isinstance(result, dict | str) else None
    yield ToolCallUpdate(_call_id(event), status="completed", raw_output=output)


_PROMPT = "user.message"
_UPDATES: Mapping[str, Callable[[LogEvent], Iterable[Update]]] = {
    "assistant.message": _message,
    "session.compaction_complete": _compaction,
    "session.error": _notice("error"),
    "session.info": _notice("info"),
    "session.warning": _notice("warning"),
    "tool.execution_complete": _call_completed,
    "tool.execution_partial_result": _call_progress,
    "tool.execution_progress": _call_progress,
    "tool.execution_start": _call_started,
    "tool.user_requested": _call_started,
}
_CHANGES: Mapping[str, Callable[[_TurnReader, LogEvent], None]] = {
    "abort": _TurnReader.on_abort,
    "permission.completed": _TurnReader.on_permission,
    "session.binary_asset": _TurnReader.on_asset,
    "session.mode_changed": _TurnReader.on_state,
    "session.model_change": _TurnReader.on_state,
    "session.start": _TurnReader.on_state,
    "tool.execution_complete": _TurnReader.on_complete,
}
_KNOWN = frozenset({_PROMPT, *_UPDATES, *_CHANGES})
# A sub-agent's prompt is in the call that started it.
_OF_SUBAGENTS = frozenset(kind for kind in _KNOWN if kind.startswith(("assistant.", "permission.", "tool.execution_")))


def _attachments(raw: Any, assets: Mapping[str, Json]) -> Iterator[Block]:
    """Return what came with a prompt: pictures and sounds, and links to all else. `assets` are the log's, by id."""
    for each in as_dicts(raw):
        asset = assets.get(as_str(each.get("assetId")), {})
        data, mime_type = (as_str(each.get(name)) or as_str(asset.get(name)) for name in ("data", "mimeType"))
        block = {"image": ImageBlock, "audio": AudioBlock}.get(mime_type.partition("/")[0])
        if data and block:
            yield block(data, mime_type)
            continue
        address = as_str(each.get("path")) or as_str(each.get("filePath")) or as_str(each.get("url"))
        name = as_str(each.get("displayName")) or as_str(each.get("title"))
        yield ResourceLink(address, name or address or as_str(each.get("type")), mime_type=mime_type)


# -- huge values ------------------------------------------------------------------------------------------------------


def shortened(text: str) -> str:
    """`text`, or both of its ends and the number of characters between them."""
    if len(text) <= MAX_EVENT_CHARS:
        return text
    half = MAX_EVENT_CHARS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters not shown …\n{text[-half:]}"


def trimmed(value: Any, depth: int = 0) -> Any:
    """`value` (JSON) with shorter strings, fewer members and less depth; a picture is kept whole or not at all."""
    if isinstance(value, str):
        return shortened(value)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, list):
        return [trimmed(member, depth + 1) for member in value[:MAX_MEMBERS]]
    if isinstance(value, dict):
        members, is_media = islice(value.items(), MAX_MEMBERS), "mimeType" in value
        return {key: _binary(each) if is_media and key == "data" else trimmed(each, depth + 1) for key, each in members}
    return value


def _binary(member: Any) -> str:
    return member if isinstance(member, str) and len(member) <= MAX_BINARY_CHARS else ""
