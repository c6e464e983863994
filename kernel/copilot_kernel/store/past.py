"""The turns of a past conversation, one after the other, each with what came of one prompt.

A log may be larger than memory: only the turn that is being read is kept, and of huge outputs only their two ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..acp.lenient import ident, members, words
from ..acp.messages import (
    Block,
    Chunk,
    CompactionUpdate,
    Json,
    NoticeUpdate,
    SessionState,
    Text,
    ToolCallUpdate,
    Unknown,
    Update,
)
from ..conversation import reduce
from ..conversation.model import Conversation, ToolCall
from .attached import attachments
from .legacy import imported
from .lines import Event, Tally, events
from .rewind import dropped
from .told import OF_SUBAGENTS, is_wanted, said, updates
from .tools import call_id, ended, is_rejected
from .trim import shortened, trimmed

LONG, SHORT = 100_000, 2_000
"""Characters that are kept of one text, and of one text in a turn that has used up its budget."""
BUDGET = 16 * 2**20
"""Bytes of a turn's events that are read with care; of all assets together."""
HELD = 2**20
"""Characters of messages that are not yet whole."""
MOST_ENTRIES = 2_000
"""Of one turn: more than anybody looks through."""

_DECISIONS = {"approved": (True, "Allowed"), "cancelled": (None, "Cancelled"), "denied": (False, "Rejected")}
_DECIDERS = {"human_response": " (you)", "host_policy": " (by a rule)", "assisted_approval": " (by the assistant)"}


@dataclass(frozen=True, slots=True)
class Past:
    """One turn. `conversation` holds its entries alone; `state` is the session's as the turn ran."""

    prompt: str
    conversation: Conversation
    state: SessionState
    stop_reason: str
    time: str = ""
    """ISO 8601, when the prompt was given."""


def turns(path: Path, tally: Tally | None = None) -> Iterator[Past]:
    """The turns in the log at `path`, without what was taken back. Raises CopilotError."""
    is_dropped, telling = dropped(path), _Telling()
    for event in events(path, tally or Tally(), is_wanted):
        if is_dropped(event) or (event.agent and event.type not in OF_SUBAGENTS):
            continue
        for each in imported(event) if event.type == "session.import_legacy" else (event,):
            if _is_prompt(each):
                yield from telling.end()
            telling.take(each)
    yield from telling.end()


def _is_prompt(event: Event) -> bool:
    """What the user said; not what the program put into their mouth."""
    origin = words(event.data.get("source"))
    is_typed = origin in ("", "user") and not event.data.get("isAutopilotContinuation")
    return event.type == "user.message" and not event.agent and is_typed


class _Telling:
    """The turn that is being read."""

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
        self._read = self._held = self._left_out = 0

    def take(self, event: Event) -> None:
        """Read on."""
        most = LONG if self._read < BUDGET else SHORT
        self._read += min(event.size, 4 * most)
        event = replace(event, data=trimmed(event.data, most))
        reader = _STATEFUL.get(event.type)
        if reader is not None:
            reader(self, event)
        for update in updates(event):
            self._apply(update)

    def end(self) -> Iterator[Past]:
        """The turn as far as it came, if one was begun; what comes next belongs to another one."""
        if not self._conversation.turn:
            return
        for (_, name), parts in self._deltas.items():
            self._apply(Chunk("agent", Text(shortened("".join(parts), LONG)), name or None))
        if self._left_out:
            line = NoticeUpdate("warning", f"{self._left_out:,} more entries of this turn are not shown")
            self._conversation = reduce.reduce(self._conversation, line)
        whole = reduce.end_turn(self._conversation, self._reason)
        yield Past(self._prompt, whole, self._state, self._reason, self._time)
        self._conversation = replace(whole, entries=())

    def _apply(self, update: Update) -> None:
        before = self._conversation
        if isinstance(update, NoticeUpdate) and update.severity == "info" and not before.turn:
            return
        if len(before.entries) >= MOST_ENTRIES and self._is_new(update):
            self._left_out += not isinstance(update, ToolCallUpdate) or update.begins
            return
        self._conversation = reduce.reduce(before, update)
        if isinstance(update, ToolCallUpdate) and len(self._conversation.entries) > len(before.entries):
            self._calls[update.id] = len(before.entries)

    def _is_new(self, update: Update) -> bool:
        if isinstance(update, ToolCallUpdate):
            return update.id not in self._calls
        return isinstance(update, Chunk | NoticeUpdate | CompactionUpdate | Unknown)

    # -- kinds whose meaning depends on what came before ------------------------------------------------------------

    def _on_prompt(self, event: Event) -> None:
        if not _is_prompt(event):
            return
        prompt = words(event.data.get("content"))
        blocks: list[Block] = [Text(prompt), *attachments(event.data.get("attachments"), self._assets)]
        self._begin(prompt, event.time)
        self._conversation = reduce.begin_turn(self._conversation, blocks)

    def _on_message(self, event: Event) -> None:
        """Its deltas, if there were any, said the same."""
        name = ident(event.data.get("messageId"))
        self._deltas.pop((event.agent, name), None)
        self._think(event, words(event.data.get("reasoningText")))
        if text := words(event.data.get("content")):
            self._apply(said(event, text, name))

    def _on_delta(self, event: Event) -> None:
        part = words(event.data.get("deltaContent"))
        if not event.agent and self._held + len(part) <= HELD:
            self._held += len(part)
            self._deltas.setdefault(("", ident(event.data.get("messageId"))), []).append(part)

    def _on_reasoning(self, event: Event) -> None:
        self._think(event, words(event.data.get("content")))

    def _think(self, event: Event, thought: str) -> None:
        """Some versions tell a thought twice: by itself, and with the message that came of it."""
        if thought and hash(thought) not in self._thoughts:
            self._thoughts.add(hash(thought))
            self._apply(Chunk("thought", Text(thought), event.id or None))

    def _on_complete(self, event: Event) -> None:
        call = self._call(call_id(event))
        if is_rejected(event) and call is not None and not call.decision:
            self._decide(call, False, "Rejected")
        is_blind_edit = call is not None and call.kind == "edit" and not call.content
        self._apply(ended(event, members(call.raw_input) if call and is_blind_edit else None))

    def _on_permission(self, event: Event) -> None:
        kind = words(members(event.data.get("result")).get("kind"))
        allowed, word = _DECISIONS.get(kind.partition("-")[0], (None, ""))
        call = self._call(call_id(event)) or self._call(ident(event.data.get("toolCallId")))
        if call is not None and word:
            lasting = " from then on" if kind.startswith("approved-") else ""
            self._decide(call, allowed, word + lasting + _DECIDERS.get(words(event.data.get("decisionSource")), ""))

    def _decide(self, call: ToolCall, allowed: bool | None, decision: str) -> None:
        self._conversation = reduce.decide(self._conversation, call.id, allowed, decision)

    def _call(self, name: str) -> ToolCall | None:
        entry = self._conversation.entries[self._calls[name]] if name in self._calls else None
        return entry if isinstance(entry, ToolCall) else None

    def _on_abort(self, event: Event) -> None:
        """A "no" to a question also ends a turn like this, and is no cancel."""
        last = self._conversation.entries[-1:]
        refused = any(isinstance(entry, ToolCall) and entry.status == "rejected" for entry in last)
        self._reason = "end_turn" if refused else "cancelled"

    def _on_turn_start(self, event: Event) -> None:
        self._conversation = replace(self._conversation, live=self._conversation.turn > 0)

    def _on_turn_end(self, event: Event) -> None:
        """What changes from here on, up to the next start, the user changed between two turns."""
        self._conversation = replace(self._conversation, live=False)
        self._state = self._conversation.state or self._state

    def _on_model(self, event: Event) -> None:
        model = words(event.data.get("newModel")) or words(event.data.get("selectedModel"))
        state = self._conversation.state or SessionState("")
        session = words(event.data.get("sessionId")) or state.id
        self._conversation = replace(self._conversation, state=replace(state, id=session, model=model or state.model))

    def _on_asset(self, event: Event) -> None:
        """The newest ones, for the prompt that comes after them."""
        self._assets[ident(event.data.get("assetId"))] = event.data
        while len(self._assets) > 1 and sum(len(words(asset.get("data"))) for asset in self._assets.values()) > BUDGET:
            del self._assets[next(iter(self._assets))]


_STATEFUL: dict[str, Callable[[_Telling, Event], None]] = {
    "abort": _Telling._on_abort,
    "assistant.message": _Telling._on_message,
    "assistant.message_delta": _Telling._on_delta,
    "assistant.reasoning": _Telling._on_reasoning,
    "assistant.turn_end": _Telling._on_turn_end,
    "assistant.turn_start": _Telling._on_turn_start,
    "permission.completed": _Telling._on_permission,
    "session.binary_asset": _Telling._on_asset,
    "session.model_change": _Telling._on_model,
    "session.start": _Telling._on_model,
    "tool.execution_complete": _Telling._on_complete,
    "user.message": _Telling._on_prompt,
}
