"""Lines for the user: what the agent wants to be known, and what this client has to say about the agent."""

from __future__ import annotations

from dataclasses import replace

from ..acp.messages import CompactionChunk, CompactionUpdate, NoticeUpdate, Unknown
from .model import Conversation, Notice, ToolCall

SUMMARY_LIMIT = 20_000
"""Characters of a compaction's summary that are kept, the first ones."""
KIND_LIMIT = 60


def told(before: Conversation, update: NoticeUpdate) -> Conversation:
    """The agent's own notice; a severity that we do not know is shown like `info`."""
    severity = update.severity if update.severity in ("info", "warning", "error") else "info"
    return _add(before, severity, update.title, update.description)


def unreadable(before: Conversation, update: Unknown) -> Conversation:
    """An update that we cannot read: one line for each kind and turn, with the first one's JSON and a count."""
    about = f"update {update.kind}"
    notice = _about(before, about)
    if notice is None or notice.turn != before.turn:
        kind = f"“{update.kind[:KIND_LIMIT]}”" if update.kind else "without a name"
        notice = Notice(len(before.entries), before.turn, "unknown", f"An update {kind} that this client cannot read")
        return before.with_entry(replace(notice, raw=update.raw, about=about))
    count = notice.count + 1
    return before.with_entry(replace(notice, count=count, description=f"{count} times"))


def compacted(before: Conversation, update: CompactionUpdate | CompactionChunk) -> Conversation:
    """The agent shortens its context: one line for each compaction, from its beginning to its end."""
    about = f"compaction {update.id}"
    notice = _about(before, about) or Notice(
        len(before.entries), before.turn, "info", _COMPACTION["in_progress"], about=about
    )
    after = _more(notice, update.text) if isinstance(update, CompactionChunk) else _status(notice, update)
    return before.with_entry(after) if after != notice or notice.id == len(before.entries) else before


def ran_anyway(before: Conversation, call: ToolCall) -> Conversation:
    """The agent reports to have completed what was refused: the user must know that the refusal may not have held."""
    title = f"The agent reports as completed what was {call.status}: {call.best_title or 'a tool call'}"
    notice = Notice(len(before.entries), call.turn, "warning", title, about=f"refused {call.id}")
    return before.with_entry(notice)


_COMPACTION = {
    "in_progress": "Compacting the context …",
    "completed": "Context compacted",
    "failed": "The context could not be compacted",
    "cancelled": "Compacting the context was cancelled",
}


def _status(notice: Notice, update: CompactionUpdate) -> Notice:
    title = _COMPACTION.get(update.status, f"Context compaction: {update.status}") if update.status else notice.title
    said = update.error if update.error is not None else update.summary
    description = notice.description if said is None else said[:SUMMARY_LIMIT]
    return replace(notice, title=title, description=description, severity=_severity(update, notice))


def _severity(update: CompactionUpdate, notice: Notice) -> str:
    return "error" if update.status == "failed" else notice.severity


def _more(notice: Notice, text: str) -> Notice:
    return replace(notice, description=(notice.description + text)[:SUMMARY_LIMIT])


def _about(before: Conversation, about: str) -> Notice | None:
    return next((e for e in reversed(before.entries) if isinstance(e, Notice) and e.about == about), None)


def _add(before: Conversation, severity: str, title: str, description: str) -> Conversation:
    return before.with_entry(Notice(len(before.entries), before.turn, severity, title, description))
