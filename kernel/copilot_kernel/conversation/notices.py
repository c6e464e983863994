"""Notices: what the agent wants the user to know, and what this client has to say about the agent."""

from __future__ import annotations

from dataclasses import replace

from ..acp.messages import CompactionChunk, CompactionUpdate, NoticeUpdate, UnknownUpdate
from .model import Conversation, Notice, ToolCall

MAX_SUMMARY_CHARS = 20_000
"""Of a compaction's summary, the first ones are kept."""
MAX_KIND_CHARS = 60
_COMPACTION = {
    "in_progress": "Compacting the context …",
    "completed": "Context compacted",
    "failed": "Could not compact the context",
    "cancelled": "Context compaction cancelled",
}


def agent_notice(before: Conversation, update: NoticeUpdate) -> Conversation:
    """The agent's own notice; an unknown severity is shown like `info`."""
    severity = update.severity if update.severity in ("info", "warning", "error") else "info"
    return before.with_entry(Notice(len(before.entries), before.turn, severity, update.title, update.description))


def unsupported(before: Conversation, update: UnknownUpdate) -> Conversation:
    """An update of an unknown kind: one notice for each kind and turn, with the first one's JSON and a count."""
    about = f"update {update.kind}"
    notice = _newest(before, about)
    if notice is not None and notice.turn == before.turn:
        count = notice.count + 1
        return before.with_entry(replace(notice, count=count, description=f"{count} times"))
    kind = f"“{update.kind[:MAX_KIND_CHARS]}”" if update.kind else "without a kind"
    return before.with_entry(
        Notice(len(before.entries), before.turn, "unknown", f"Unsupported update {kind}", raw=update.raw, about=about)
    )


def compaction(before: Conversation, update: CompactionUpdate | CompactionChunk) -> Conversation:
    """The agent shortens its context: one notice for each compaction, updated until it ends."""
    about = f"compaction {update.id}"
    found = _newest(before, about)
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


def completed_anyway(before: Conversation, call: ToolCall) -> Conversation:
    """The agent reports as completed what was refused: the user must know that the refusal may not have held."""
    title = f"The agent says it completed a call that was {call.status}: {call.best_title or 'a tool call'}"
    return before.with_entry(Notice(len(before.entries), call.turn, "warning", title, about=f"refused {call.id}"))


def _newest(before: Conversation, about: str) -> Notice | None:
    return next((e for e in reversed(before.entries) if isinstance(e, Notice) and e.about == about), None)
