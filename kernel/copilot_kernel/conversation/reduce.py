"""The reducer: an update and a conversation in, the next conversation out; whatever the agent sends, in any order.

An update about a tool call goes to the newest entry with that id, in any turn, since agents keep reporting after the
turn; everything else belongs to the current or last turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress
from operator import is_not

from ..acp.messages import (
    Block,
    Chunk,
    CommandsUpdate,
    CompactionChunk,
    CompactionUpdate,
    ConfigUpdate,
    InfoUpdate,
    ModeUpdate,
    NoticeUpdate,
    PlanUpdate,
    SessionState,
    Speaker,
    TextBlock,
    ToolCallUpdate,
    UnknownUpdate,
    Update,
    UsageUpdate,
)
from ..acp.results import short_name, with_mode, with_options
from . import calls, notices
from .model import FINAL, Attachment, Conversation, Entry, Message, Notice, Plan, ToolCall, Unasked
from .text import GrowingText

OWN_LINE = re.compile(r"\n*(Info|Error): \S")
"""How Copilot CLI begins messages of its own: in a separate chunk, without space to the model's text around it."""

FRESH = re.compile(r"[^\Wa-z\d_]|[#*>`|\[]")
"""How text begins that does not continue a sentence: with a capital letter or markup."""


def reduce(before: Conversation, update: Update) -> Conversation:
    """The conversation after `update`; the same object if nothing visible changed."""
    match update:
        case Chunk():
            return _chunk(before, update)
        case ToolCallUpdate():
            return _call(before, update)
        case PlanUpdate():
            return _plan(before, update)
        case NoticeUpdate():
            return notices.agent_notice(before, update)
        case CompactionUpdate() | CompactionChunk():
            return notices.compaction(before, update)
        case UnknownUpdate():
            return notices.unsupported(before, update)
        case _:
            return _state(before, update)


def begin_turn(before: Conversation, blocks: Sequence[Block]) -> Conversation:
    """Start the next turn: the prompt's text becomes a message, every other block an attachment."""
    after = replace(before, turn=before.turn + 1, live=True)
    said = "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock))
    after = _say(after, "user", said)
    for block in blocks:
        if not isinstance(block, TextBlock):
            after = _attach(after, "user", block)
    return after


def end_turn(before: Conversation, stop_reason: str) -> Conversation:
    """End the turn and close its unfinished tool calls, none of them as a success.

    After `cancelled`, or with a question still open, a call stays `cancelled`. Otherwise it is closed only because the
    turn ended, and accepts a later `completed` or `failed` from the agent.
    """
    entries = (calls.at_turn_end(e, stop_reason) if isinstance(e, ToolCall) else e for e in before.entries)
    return replace(before, live=False, entries=tuple(entries))


def ask(before: Conversation, call: ToolCallUpdate) -> tuple[Conversation, int]:
    """Record a permission request about `call`. Returns the conversation and the id of the entry, now `waiting`.

    The request may be the first message about the call, or hold only its id. If the known call is over, this is another
    one with the same id.
    """
    entry = _newest(before, call.id)
    if entry is None or entry.status in FINAL or entry.turn != before.turn:
        entry = _new_call(before, call)
    update = replace(call, status=None) if call.status in FINAL else call
    return before.with_entry(calls.with_question(calls.merged(entry, update))), entry.id


def decide(before: Conversation, entry_id: int, allowed: bool | None, words: str) -> Conversation:
    """Record the answer to a question about entry `entry_id`: None is cancelled. `words` say who decided what."""
    entry = before.entries[entry_id]
    return before.with_entry(calls.with_answer(entry, allowed, words)) if isinstance(entry, ToolCall) else before


def mark(before: Conversation, entry_id: int, unasked: Unasked | None) -> Conversation:
    """Record how entry `entry_id` went on without a question."""
    entry = before.entries[entry_id]
    if not isinstance(entry, ToolCall) or entry.unasked == unasked:
        return before
    return before.with_entry(replace(entry, unasked=unasked))


def changed(before: Conversation, after: Conversation) -> list[Entry]:
    """The entries to redraw. Entries are immutable, so only another object can look different."""
    if before.entries is after.entries:
        return []
    differ = map(is_not, before.entries, after.entries)
    return [*compress(after.entries, differ), *after.entries[len(before.entries) :]]


# -- messages -------------------------------------------------------------------------------------------------------


def _chunk(before: Conversation, chunk: Chunk) -> Conversation:
    """User text in a running turn is an echo of the prompt."""
    if chunk.speaker == "user" and before.live:
        return before
    if isinstance(chunk.block, TextBlock):
        return _say(before, chunk.speaker, chunk.block.text, chunk.message_id)
    return _attach(before, chunk.speaker, chunk.block)


def _say(before: Conversation, speaker: Speaker, text: str, message_id: str | None = None) -> Conversation:
    if not text:
        return before
    last = before.entries[-1] if before.entries else None
    if (
        not isinstance(last, Message)
        or (last.turn, last.speaker) != (before.turn, speaker)
        or (last.message_id and message_id and last.message_id != message_id)
    ):
        return before.with_entry(Message(len(before.entries), before.turn, speaker, GrowingText(text), message_id))
    grown = last.text.append(_apart(last, text))
    return before.with_entry(replace(last, text=grown, message_id=last.message_id or message_id))


def _apart(message: Message, text: str) -> str:
    """Models say "Error: " too: the next chunk becomes a paragraph only if it does not continue that sentence."""
    before = message.text.last
    if message.speaker != "agent" or before.endswith("\n"):
        return text
    own = OWN_LINE.match(text) or (OWN_LINE.match(before) and FRESH.match(text))
    return "\n\n" + text if own else text


def _attach(before: Conversation, speaker: Speaker, block: Block) -> Conversation:
    return before.with_entry(Attachment(len(before.entries), before.turn, speaker, block))


# -- tool calls and the plan -------------------------------------------------------------------------------------------


def _call(before: Conversation, update: ToolCallUpdate) -> Conversation:
    """Ids repeat: a call that begins again, in a later turn than the one it ended in, is another call."""
    call = _newest(before, update.id)
    if call is None or (update.begins and call.status in FINAL and call.turn < before.turn):
        call = _new_call(before, update)
    after = calls.merged(call, update)
    if after is call and call.id < len(before.entries):
        return before
    conversation = before.with_entry(after)
    return notices.completed_anyway(conversation, after) if calls.completed_anyway(call, after) else conversation


def _new_call(before: Conversation, update: ToolCallUpdate) -> ToolCall:
    return ToolCall(len(before.entries), before.turn, update.id)


def _newest(before: Conversation, call_id: str) -> ToolCall | None:
    """An empty id matches nothing."""
    entries: Iterable[Entry] = reversed(before.entries) if call_id else ()
    return next((e for e in entries if isinstance(e, ToolCall) and e.call_id == call_id), None)


def _plan(before: Conversation, update: PlanUpdate) -> Conversation:
    """One plan a turn. The empty first plan of Copilot CLI (since 1.0.92) is ignored."""
    plan = next((e for e in reversed(before.entries) if isinstance(e, Plan) and e.turn == before.turn), None)
    empty = Plan(len(before.entries), before.turn, ())
    after = replace(plan or empty, entries=update.entries, description=update.description)
    return before if after == (plan or empty) else before.with_entry(after)


# -- the session's state --------------------------------------------------------------------------------------------


def _state(
    before: Conversation, update: CommandsUpdate | ModeUpdate | ConfigUpdate | InfoUpdate | UsageUpdate
) -> Conversation:
    state = before.state or SessionState("")
    match update:
        case CommandsUpdate(commands):
            return replace(before, commands=commands)
        case ModeUpdate(mode_id):
            return _with_state(before, with_mode(state, mode_id))
        case ConfigUpdate(options):
            return _with_state(before, with_options(state, options))
        case InfoUpdate(title, _, raw):
            return before if title is None and "title" not in raw else replace(before, title=title or "")
        case UsageUpdate():
            return replace(before, usage=update)


def _with_state(before: Conversation, state: SessionState) -> Conversation:
    """A mode change in a running turn is the agent's own and may change what it asks about, so it is shown."""
    after = replace(before, state=state)
    mode = before.state and before.state.mode
    if not before.live or not mode or not state.mode or state.mode == mode:
        return after
    return after.with_entry(Notice(len(after.entries), after.turn, "info", f"Mode: {short_name(state.mode)}"))
