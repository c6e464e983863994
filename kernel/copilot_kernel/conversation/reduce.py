"""An update and a conversation in, the next conversation out; whatever the agent sends, in whatever order.

An update that names a tool call goes to the newest entry of that id, in whatever turn, since agents go on reporting
after the turn; everything else belongs to the turn that runs, or ran last.
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
    Text,
    ToolCallUpdate,
    Unknown,
    Update,
    UsageUpdate,
)
from ..acp.options import short_name, with_mode, with_options
from . import calls, notices
from .model import FINAL, Attachment, Conversation, Entry, Message, Notice, Plan, ToolCall, Unasked
from .text import Growing

OWN_LINE = re.compile(r"\n*(Info|Error): \S")
"""How Copilot CLI begins what it says itself: a chunk of its own, glued to the model's text on both sides."""

FRESH = re.compile(r"[^\Wa-z\d_]|[#*>`|\[]")
"""How text begins that cannot be the rest of a sentence: with a capital letter or with markup."""


def reduce(before: Conversation, update: Update) -> Conversation:
    """The conversation after `update`; the very same object if nothing changed that anyone could see."""
    match update:
        case Chunk():
            return _chunk(before, update)
        case ToolCallUpdate():
            return _call(before, update)
        case PlanUpdate():
            return _plan(before, update)
        case NoticeUpdate():
            return notices.told(before, update)
        case CompactionUpdate() | CompactionChunk():
            return notices.compacted(before, update)
        case Unknown():
            return notices.unreadable(before, update)
        case _:
            return _state(before, update)


def begin_turn(before: Conversation, blocks: Sequence[Block]) -> Conversation:
    """The next turn: what the user said becomes a message, what is no text in it an attachment each."""
    after = replace(before, turn=before.turn + 1, live=True)
    said = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
    after = _say(after, "user", said)
    for block in blocks:
        if not isinstance(block, Text):
            after = _attach(after, "user", block)
    return after


def end_turn(before: Conversation, stop_reason: str) -> Conversation:
    """The turn is over and its unfinished tool calls are closed: nobody may report them, and none is claimed a success.

    After `cancelled`, or with a question still open, a call stays `cancelled`. Otherwise it is closed only because the
    turn ended, and takes a later `completed` or `failed` from the agent.
    """
    entries = (calls.closed(e, stop_reason) if isinstance(e, ToolCall) else e for e in before.entries)
    return replace(before, live=False, entries=tuple(entries))


def ask(before: Conversation, call: ToolCallUpdate) -> tuple[Conversation, int]:
    """A permission request about `call`: the entry it is about, now `waiting`, and that entry's id.

    It may be the first that we hear of the call, or tell only its id. A call that is over is not asked about again:
    that is another one with the same id.
    """
    entry = _newest(before, call.id)
    if entry is None or entry.status in FINAL or entry.turn != before.turn:
        entry = _new_call(before, call)
    update = replace(call, status=None) if call.status in FINAL else call
    return before.with_entry(calls.asked(calls.merged(entry, update))), entry.id


def decide(before: Conversation, entry_id: int, allowed: bool | None, words: str) -> Conversation:
    """The answer to a question about entry `entry_id`: None is cancelled. `words` say who decided what."""
    entry = before.entries[entry_id]
    return before.with_entry(calls.decided(entry, allowed, words)) if isinstance(entry, ToolCall) else before


def mark(before: Conversation, entry_id: int, unasked: Unasked | None) -> Conversation:
    """Entry `entry_id` went on as `unasked` says."""
    entry = before.entries[entry_id]
    if not isinstance(entry, ToolCall) or entry.unasked == unasked:
        return before
    return before.with_entry(replace(entry, unasked=unasked))


def changed(before: Conversation, after: Conversation) -> list[Entry]:
    """The entries to draw again. Values never change, so another object means another look."""
    if before.entries is after.entries:
        return []
    differ = map(is_not, before.entries, after.entries)
    return [*compress(after.entries, differ), *after.entries[len(before.entries) :]]


# -- messages -------------------------------------------------------------------------------------------------------


def _chunk(before: Conversation, chunk: Chunk) -> Conversation:
    """What the user says in a running turn is the echo of the prompt."""
    if chunk.speaker == "user" and before.live:
        return before
    if isinstance(chunk.block, Text):
        return _say(before, chunk.speaker, chunk.block.text, chunk.message_id)
    return _attach(before, chunk.speaker, chunk.block)


def _say(before: Conversation, speaker: Speaker, text: str, message_id: str | None = None) -> Conversation:
    if not text:
        return before
    last = before.entries[-1] if before.entries else None
    if not (isinstance(last, Message) and _goes_on(last, before.turn, speaker, message_id)):
        return before.with_entry(Message(len(before.entries), before.turn, speaker, Growing(text), message_id))
    grown = last.text.append(_apart(last, text))
    return before.with_entry(replace(last, text=grown, message_id=last.message_id or message_id))


def _goes_on(last: Message, turn: int, speaker: Speaker, message_id: str | None) -> bool:
    same = not (last.message_id and message_id) or last.message_id == message_id
    return last.turn == turn and last.speaker == speaker and same


def _apart(message: Message, text: str) -> str:
    """A model may say "Error: " too: what follows is set apart only if it cannot be the rest of that sentence."""
    before = message.text.last
    if message.speaker != "agent" or before.endswith("\n"):
        return text
    own = OWN_LINE.match(text) or (OWN_LINE.match(before) and FRESH.match(text))
    return "\n\n" + text if own else text


def _attach(before: Conversation, speaker: Speaker, block: Block) -> Conversation:
    return before.with_entry(Attachment(len(before.entries), before.turn, speaker, block))


# -- tool calls and the plan -------------------------------------------------------------------------------------------


def _call(before: Conversation, update: ToolCallUpdate) -> Conversation:
    """Ids repeat: one that begins again, in a later turn than the one it ended in, is another call."""
    call = _newest(before, update.id)
    if call is None or (update.begins and call.status in FINAL and call.turn < before.turn):
        call = _new_call(before, update)
    after = calls.merged(call, update)
    known = call.id < len(before.entries)
    if known and after is call:
        return before
    conversation = before.with_entry(after)
    return notices.ran_anyway(conversation, after) if calls.ran_anyway(call, after) else conversation


def _new_call(before: Conversation, update: ToolCallUpdate) -> ToolCall:
    return ToolCall(len(before.entries), before.turn, update.id)


def _newest(before: Conversation, call_id: str) -> ToolCall | None:
    """An empty id is no id: it matches nothing."""
    entries: Iterable[Entry] = reversed(before.entries) if call_id else ()
    return next((e for e in entries if isinstance(e, ToolCall) and e.call_id == call_id), None)


def _plan(before: Conversation, update: PlanUpdate) -> Conversation:
    """One plan a turn. Copilot CLI since 1.0.92 sends an empty one: that is no plan."""
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
    """A change of mode in a running turn is the agent's own doing, and may change what it asks about: say so."""
    after = replace(before, state=state)
    mode = before.state and before.state.mode
    if not before.live or not mode or not state.mode or state.mode == mode:
        return after
    return after.with_entry(Notice(len(after.entries), after.turn, "info", f"Mode: {short_name(state.mode)}"))
