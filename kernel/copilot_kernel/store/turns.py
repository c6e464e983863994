"""The turns of a past session, one after the other: a prompt and the conversation that followed.

A log may be larger than memory: only the turn that is being read is kept, and only both ends of huge outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import structs

from ..acp.lenient import as_dict, as_id, as_str
from ..acp.messages import (
    Block,
    Chunk,
    CompactionUpdate,
    Json,
    NoticeUpdate,
    SessionState,
    TextBlock,
    ToolCallUpdate,
    UnknownUpdate,
    Update,
)
from ..conversation import reduce
from ..conversation.model import Conversation, Entries, ToolCall
from .log import LogEvent, ReadStats, events, rewound
from .updates import attachments, call_completed, call_id, is_rejected, is_shown, update_of

MAX_TEXT_CHARS, MAX_LATE_TEXT_CHARS = 100_000, 2_000
"""Of one text, and of one text in a turn that has used up its budget."""
OMITTED = "{:,} more entries of this turn were omitted"
BUDGET_BYTES = 16 * 2**20
"""Of a turn's events before texts are cut shorter; of all assets together."""
MAX_DELTA_CHARS = 2**20
"""Of all messages that are not yet complete."""
MAX_ENTRIES = 2_000
"""Of one turn."""
MAX_MEMBERS, MAX_DEPTH = 1_000, 30
"""Of one JSON value."""
MAX_BINARY_CHARS = 8 * 2**20
"""Of base64: an image is kept whole or not at all."""

# The events of a sub-agent that are shown; its prompt is in the call that started it.
_OF_SUBAGENTS = frozenset({
    "assistant.message",
    "assistant.message_delta",
    "permission.completed",
    "subagent.failed",
    "tool.execution_complete",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
})  # fmt: skip
_DECISIONS = {"approved": (True, "allowed"), "cancelled": (None, "not run"), "denied": (False, "denied")}
_DECIDERS = {"human_response": " by you", "host_policy": " by a rule", "assisted_approval": " by the assistant"}


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One turn. `conversation` holds only its entries; `state` is the session's while the turn ran."""

    prompt: str
    conversation: Conversation
    state: SessionState
    stop_reason: str
    time: str = ""
    """ISO 8601, when the prompt was given."""


def turns(path: Path, stats: ReadStats | None = None) -> Iterator[PastTurn]:
    """The turns in the log at `path`, without those that the user took back. Raises CopilotError."""
    is_rewound, reader = rewound(path), _TurnReader()
    for event in events(path, stats or ReadStats(), lambda kind: kind in _STATEFUL or is_shown(kind)):
        if is_rewound(event) or (event.agent and event.type not in _OF_SUBAGENTS):
            continue
        if _is_prompt(event):
            yield from reader.end()
        reader.read(event)
    yield from reader.end()


def _is_prompt(event: LogEvent) -> bool:
    """Whether the user wrote this message, and not the program in their name."""
    origin = as_str(event.data.get("source"))
    is_typed = origin in ("", "user") and not event.data.get("isAutopilotContinuation")
    return event.type == "user.message" and not event.agent and is_typed


class _TurnReader:
    """Collects the events of one turn after another."""

    def __init__(self) -> None:
        self._conversation = Conversation(state=SessionState(""))
        self._assets: dict[str, Json] = {}
        self._begin("", "")

    def _begin(self, prompt: str, time: str) -> None:
        self._prompt, self._time, self._reason = prompt, time, "end_turn"
        self._state = self._conversation.state or SessionState("")
        self._deltas: dict[tuple[str, str], list[str]] = {}
        self._thoughts: set[int] = set()
        self._calls: dict[str, int] = {}
        self._bytes_read = self._delta_chars = self._omitted = 0

    def read(self, event: LogEvent) -> None:
        """Apply one more event."""
        max_chars = MAX_TEXT_CHARS if self._bytes_read < BUDGET_BYTES else MAX_LATE_TEXT_CHARS
        self._bytes_read += min(event.size, 4 * max_chars)
        event = replace(event, data=trimmed(event.data, max_chars))
        if event.type in _STATEFUL:
            _STATEFUL[event.type](self, event)
        elif update := update_of(event):
            self._apply(update)

    def end(self) -> Iterator[PastTurn]:
        """The turn that was read, if there is one; the next event belongs to another."""
        if not self._conversation.turn:
            return
        for (_, name), parts in self._deltas.items():
            self._apply(Chunk("agent", TextBlock(shortened("".join(parts), MAX_TEXT_CHARS)), name or None))
        if self._omitted:
            line = NoticeUpdate("warning", OMITTED.format(self._omitted))
            self._conversation = reduce.reduce(self._conversation, line)
        whole = reduce.end_turn(self._conversation, self._reason)
        yield PastTurn(self._prompt, whole, self._state, self._reason, self._time)
        self._conversation = structs.replace(whole, entries=Entries())

    def _apply(self, update: Update) -> None:
        before = self._conversation
        if isinstance(update, NoticeUpdate) and update.severity == "info" and not before.turn:
            return
        if len(before.entries) >= MAX_ENTRIES and self._is_new(update):
            self._omitted += not isinstance(update, ToolCallUpdate) or update.begins
            return
        self._conversation = reduce.reduce(before, update)
        if isinstance(update, ToolCallUpdate) and len(self._conversation.entries) > len(before.entries):
            self._calls[update.id] = len(before.entries)

    def _is_new(self, update: Update) -> bool:
        if isinstance(update, ToolCallUpdate):
            return update.id not in self._calls
        return isinstance(update, Chunk | NoticeUpdate | CompactionUpdate | UnknownUpdate)

    # -- events whose meaning depends on earlier ones -----------------------------------------------------------

    def _on_prompt(self, event: LogEvent) -> None:
        if not _is_prompt(event):
            return
        prompt = as_str(event.data.get("content"))
        blocks: list[Block] = [TextBlock(prompt), *attachments(event.data.get("attachments"), self._assets)]
        self._begin(prompt, event.time)
        self._conversation = reduce.begin_turn(self._conversation, blocks)

    def _on_message(self, event: LogEvent) -> None:
        """Replaces its deltas, if there were any. A sub-agent's message is a thought of the agent that started it."""
        name = as_id(event.data.get("messageId"))
        self._deltas.pop((event.agent, name), None)
        self._think(event, as_str(event.data.get("reasoningText")))
        if text := as_str(event.data.get("content")):
            self._apply(Chunk("thought" if event.agent else "agent", TextBlock(text), name or None))

    def _on_delta(self, event: LogEvent) -> None:
        part = as_str(event.data.get("deltaContent"))
        if not event.agent and self._delta_chars + len(part) <= MAX_DELTA_CHARS:
            self._delta_chars += len(part)
            self._deltas.setdefault(("", as_id(event.data.get("messageId"))), []).append(part)

    def _on_reasoning(self, event: LogEvent) -> None:
        self._think(event, as_str(event.data.get("content")))

    def _think(self, event: LogEvent, thought: str) -> None:
        """Some versions log a thought twice: by itself, and with the message that follows."""
        if thought and hash(thought) not in self._thoughts:
            self._thoughts.add(hash(thought))
            self._apply(Chunk("thought", TextBlock(thought), event.id or None))

    def _on_complete(self, event: LogEvent) -> None:
        call = self._call(call_id(event))
        if is_rejected(event) and call is not None and not call.decision:
            self._decide(call, False, "denied")
        is_blind_edit = call is not None and call.kind == "edit" and not call.content
        self._apply(call_completed(event, as_dict(call.raw_input) if call and is_blind_edit else None))

    def _on_permission(self, event: LogEvent) -> None:
        kind = as_str(as_dict(event.data.get("result")).get("kind"))
        allowed, word = _DECISIONS.get(kind.partition("-")[0], (None, ""))
        call = self._call(call_id(event)) or self._call(as_id(event.data.get("toolCallId")))
        if call is not None and word:
            who = _DECIDERS.get(as_str(event.data.get("decisionSource")), "")
            self._decide(call, allowed, word + who + ", from then on" * kind.startswith("approved-"))

    def _decide(self, call: ToolCall, allowed: bool | None, decision: str) -> None:
        self._conversation = reduce.decide(self._conversation, call.id, allowed, decision)

    def _call(self, name: str) -> ToolCall | None:
        entry = self._conversation.entries[self._calls[name]] if name in self._calls else None
        return entry if isinstance(entry, ToolCall) else None

    def _on_abort(self, event: LogEvent) -> None:
        """A rejected question also ends a turn like this, and is not a cancellation."""
        last = self._conversation.entries[-1:]
        refused = any(isinstance(entry, ToolCall) and entry.status == "rejected" for entry in last)
        self._reason = "end_turn" if refused else "cancelled"

    def _on_turn_start(self, event: LogEvent) -> None:
        self._conversation = structs.replace(self._conversation, live=self._conversation.turn > 0)

    def _on_turn_end(self, event: LogEvent) -> None:
        """The user makes the changes between here and the next start."""
        self._conversation = structs.replace(self._conversation, live=False)
        self._state = self._conversation.state or self._state

    def _on_model(self, event: LogEvent) -> None:
        model = as_str(event.data.get("newModel")) or as_str(event.data.get("selectedModel"))
        state = self._conversation.state or SessionState("")
        session = as_str(event.data.get("sessionId")) or state.id
        self._conversation = structs.replace(
            self._conversation, state=structs.replace(state, id=session, model=model or state.model)
        )

    def _on_asset(self, event: LogEvent) -> None:
        """Keep the newest ones, for the prompt that follows."""
        self._assets[as_id(event.data.get("assetId"))] = event.data
        while (
            len(self._assets) > 1
            and sum(len(as_str(asset.get("data"))) for asset in self._assets.values()) > BUDGET_BYTES
        ):
            del self._assets[next(iter(self._assets))]


_STATEFUL: dict[str, Callable[[_TurnReader, LogEvent], None]] = {
    "abort": _TurnReader._on_abort,
    "assistant.message": _TurnReader._on_message,
    "assistant.message_delta": _TurnReader._on_delta,
    "assistant.reasoning": _TurnReader._on_reasoning,
    "assistant.turn_end": _TurnReader._on_turn_end,
    "assistant.turn_start": _TurnReader._on_turn_start,
    "permission.completed": _TurnReader._on_permission,
    "session.binary_asset": _TurnReader._on_asset,
    "session.model_change": _TurnReader._on_model,
    "session.start": _TurnReader._on_model,
    "tool.execution_complete": _TurnReader._on_complete,
    "user.message": _TurnReader._on_prompt,
}


# -- huge values --------------------------------------------------------------------------------------------------


def shortened(text: str, max_chars: int) -> str:
    """`text`, or both of its ends and the number of characters between them."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters not shown …\n{text[-half:]}"


def trimmed(value: Any, max_chars: int, depth: int = 0) -> Any:
    """`value` (JSON) with strings of about `max_chars` characters, fewer members and less depth."""
    if isinstance(value, str):
        return shortened(value, max_chars)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, list):
        return [trimmed(member, max_chars, depth + 1) for member in value[:MAX_MEMBERS]]
    if isinstance(value, dict):
        members = islice(value.items(), MAX_MEMBERS)
        binary = {"data", "blob"} if "mimeType" in value else ()
        return {key: _binary(each) if key in binary else trimmed(each, max_chars, depth + 1) for key, each in members}
    return value


def _binary(member: Any) -> str:
    return member if isinstance(member, str) and len(member) <= MAX_BINARY_CHARS else ""
