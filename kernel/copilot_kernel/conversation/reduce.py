"""The reducer: an update and a conversation in, the next conversation out; whatever the agent sends, in any order.

An update about a tool call goes to the newest entry with that id, in any turn that is kept, since agents keep reporting
after the turn; everything else belongs to the current or last turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

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
from ..tags import typed
from . import calls
from .model import FINAL, Attachment, Conversation, Entry, Message, Notice, Plan, ToolCall, Unasked
from .text import GrowingText

COMPLETED_ANYWAY = "The agent says it completed a call that was {}: {}"
OWN_LINE = re.compile(r"\n*(Info|Error): \S")
"""Beginning of Copilot CLI's own messages: in a separate chunk, without space to the model's text around it."""

FRESH = re.compile(r"[^\Wa-z\d_]|[#*>`|\[]")
"""Beginning of text that does not continue a sentence: a capital letter or markup."""

KEPT_TURNS = 50
"""And fewer than as many again before them: no view draws earlier ones any more."""
MAX_SUMMARY_CHARS = 20_000
"""Limit of a compaction's summary; the first characters are kept."""
MAX_KIND_CHARS = 60
_COMPACTION = {
    "in_progress": "Compacting the context …",
    "completed": "Context compacted",
    "failed": "Could not compact the context",
    "cancelled": "Context compaction cancelled",
}


def reduce(before: Conversation, update: Update) -> Conversation:
    """The conversation after `update`; the same object if nothing visible changed."""
    return _REDUCERS.get(type(update), _state)(before, update)


def begin_turn(before: Conversation, blocks: Sequence[Block]) -> Conversation:
    """Start the next turn: the prompt's text becomes a message, every other block an attachment.

    Old turns are forgotten, many at once, so that a long conversation takes neither memory nor time for that.
    """
    turn = before.turn + 1
    kept = before.entries if turn % KEPT_TURNS else before.entries.since_turn(turn - KEPT_TURNS)
    after = replace(before, entries=kept, turn=turn, live=True)
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
    after = replace(before, live=False)
    for each in before.entries.of_turn(before.turn):
        if isinstance(each, Message) and each.half:  # nothing follows: it is shown as what it is
            after = after.with_entry(replace(each, text=each.text.append(each.half), half=""))
    for call in before.entries.unfinished():
        after = after.with_entry(calls.at_turn_end(call, stop_reason))
    return after


def ask(before: Conversation, call: ToolCallUpdate, place: int | None = None) -> tuple[Conversation, int]:
    """Record a permission request about `call`. Returns the conversation and the id of the entry, now `waiting`.

    The request may be the first message about the call, or hold only its id. If the known call is over, this is another
    one with the same id. `place` is the id of an entry that this one replaces.
    """
    entry = ToolCall(place, before.turn, call.id) if place is not None else before.call(call.id)
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
    return after.entries.changed(before.entries)


# -- messages -------------------------------------------------------------------------------------------------------


def _chunk(before: Conversation, chunk: Chunk) -> Conversation:
    """User text in a running turn is an echo of the prompt."""
    if chunk.speaker == "user" and before.live:
        return before
    if not isinstance(chunk.block, TextBlock):
        return _attach(before, chunk.speaker, chunk.block)
    of_task = chunk.speaker == "agent" and _is_of_task(before)
    speaker: Speaker = "thought" if of_task else chunk.speaker
    text = typed(chunk.block.text) if speaker == "user" else chunk.block.text
    return _say(before, speaker, text, chunk.message_id, of_task=of_task)


def _is_of_task(before: Conversation) -> bool:
    """Return True if text is a sub-agent's, which GitHub Copilot does not mark; decided where a message begins."""
    last = before.entries.last
    if (
        isinstance(last, Message)
        and last.turn == before.turn
        and not last.is_over
        and (last.of_task or last.speaker == "agent")
    ):
        return last.of_task
    return any(map(calls.runs_task, before.entries.unfinished()))


def _say(
    before: Conversation, speaker: Speaker, text: str, message_id: str | None = None, *, of_task: bool = False
) -> Conversation:
    if not text:
        return before
    last = before.entries.last
    if (
        not isinstance(last, Message)
        or not (last.turn == before.turn and last.speaker == speaker and last.of_task == of_task)
        or (last.message_id and message_id and last.message_id != message_id)
        or (last.is_over and not text[0].isspace())
    ):
        text, half = _split_half(text)
        said = Message(
            len(before.entries), before.turn, speaker, GrowingText(text), message_id, of_task=of_task, half=half
        )
        return before.with_entry(said)
    text, half = _split_half(last.half + text)
    grown = last.text.append(_apart(last, text)) if text else last.text
    return before.with_entry(replace(last, text=grown, message_id=last.message_id or message_id, half=half))


def _split_half(text: str) -> tuple[str, str]:
    """`text` with its halves of characters joined, and the half that it ends with."""
    half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    text = text[: len(text) - len(half)]
    is_cut = "\udc00" <= text[1:2] <= "\udfff"
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if is_cut else text, half


def _apart(message: Message, text: str) -> str:
    """Models say "Error: " too: the next chunk becomes a paragraph only if it does not continue that sentence."""
    before = message.text.last
    if message.speaker != "agent" or before.endswith("\n"):
        return text
    own = OWN_LINE.match(text) or (OWN_LINE.match(before) and FRESH.match(text))
    return "\n\n" + text if own else text


def _attach(before: Conversation, speaker: Speaker, block: Block) -> Conversation:
    return before.with_entry(Attachment(len(before.entries), before.turn, speaker, block))


# -- tool calls and the plan ------------------------------------------------------------------------------------------


def _call(before: Conversation, update: ToolCallUpdate) -> Conversation:
    """Ids repeat: a call that begins again, in a later turn than the one it ended in, is another call."""
    call = before.call(update.id)
    if call is None or (update.begins and call.status in FINAL and call.turn < before.turn):
        call = _new_call(before, update)
    after = calls.merged(call, update)
    if after is call and call.id < len(before.entries):
        return before
    conversation = _between_texts(before.with_entry(after), call, after)
    return _completed_anyway(conversation, after) if calls.completed_anyway(call, after) else conversation


def _between_texts(now: Conversation, before: ToolCall, after: ToolCall) -> Conversation:
    """A sub-agent acts, or a call ends (it may be one that ran a sub-agent): who speaks next may be someone else.

    GitHub Copilot does not mark the text of sub-agents.
    """
    has_ended = after.status in FINAL and before.status not in FINAL
    last = now.entries[-1]
    if not isinstance(last, Message) or last.is_over or not (has_ended or calls.is_of_sub_agent(after)):
        return now
    return now.with_entry(replace(last, is_over=True))


def _new_call(before: Conversation, update: ToolCallUpdate) -> ToolCall:
    return ToolCall(len(before.entries), before.turn, update.id)


def _plan(before: Conversation, update: PlanUpdate) -> Conversation:
    """One plan a turn. The empty first plan of Copilot CLI (since 1.0.92) is ignored."""
    plan = before.entries.find(Plan, before.turn)
    empty = Plan(len(before.entries), before.turn, ())
    after = replace(plan or empty, entries=update.entries, description=update.description)
    return before if after == (plan or empty) else before.with_entry(after)


# -- notices: from the agent, or about it ----------------------------------------------------------------------------


def _agent_notice(before: Conversation, update: NoticeUpdate) -> Conversation:
    """The agent's own notice; an unknown severity is shown like `info`."""
    severity = update.severity if update.severity in ("info", "warning", "error") else "info"
    notice = Notice(len(before.entries), before.turn, severity, update.title, update.description, about=update.about)
    return before.with_entry(notice)


def _unsupported(before: Conversation, update: UnknownUpdate) -> Conversation:
    """An update of an unknown kind: one notice for each kind and turn, with the first one's JSON and a count."""
    about = f"update {update.kind}"
    notice = before.entries.find(Notice, about)
    if notice is not None and notice.turn == before.turn:
        count = notice.count + 1
        return before.with_entry(replace(notice, count=count, description=f"{count} times"))
    kind = f"“{update.kind[:MAX_KIND_CHARS]}”" if update.kind else "without a kind"
    return before.with_entry(
        Notice(len(before.entries), before.turn, "unknown", f"Unsupported update {kind}", raw=update.raw, about=about)
    )


def _compaction(before: Conversation, update: CompactionUpdate | CompactionChunk) -> Conversation:
    """The agent shortens its context: one notice for each compaction, updated until it ends."""
    about = f"compaction {update.id}"
    found = before.entries.find(Notice, about)
    after = found or Notice(len(before.entries), before.turn, "info", _COMPACTION["in_progress"], about=about)
    if isinstance(update, CompactionChunk):
        after = replace(after, description=(after.description + update.text)[:MAX_SUMMARY_CHARS])
    else:
        if update.status:
            title = _COMPACTION.get(update.status, f"Context compaction: {update.status}")
            after = replace(after, title=title, severity="error" if update.status == "failed" else after.severity)
        text = update.summary if update.error is None else update.error
        after = replace(after, description=after.description if text is None else text[:MAX_SUMMARY_CHARS])
    return before if after == found else before.with_entry(after)


def _completed_anyway(before: Conversation, call: ToolCall) -> Conversation:
    """The agent reports as completed what was refused: the user must know that the refusal may not have held."""
    title = COMPLETED_ANYWAY.format(call.status, call.best_title or "a tool call")
    return before.with_entry(Notice(len(before.entries), call.turn, "warning", title, about=f"refused {call.id}"))


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
        case InfoUpdate(title, raw):
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


# By the kind of the update; the others are about the session's state.
_REDUCERS: dict[type[Update], Callable[[Conversation, Any], Conversation]] = {
    Chunk: _chunk,
    ToolCallUpdate: _call,
    PlanUpdate: _plan,
    NoticeUpdate: _agent_notice,
    CompactionUpdate: _compaction,
    CompactionChunk: _compaction,
    UnknownUpdate: _unsupported,
}
