"""What each kind of event means for a reader: updates as an agent sends them on the wire.

Kinds that only the program itself needs are quiet; an unknown kind that belongs to what was said is kept as such.
`docs/agents.md` lists what counts as internal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..acp.lenient import ident, members, whole, words
from ..acp.messages import (
    Chunk,
    CompactionUpdate,
    InfoUpdate,
    Json,
    ModeUpdate,
    NoticeUpdate,
    Speaker,
    Text,
    Unknown,
    Update,
)
from .lines import Event
from .tools import begun, went_on

STATEFUL = frozenset({
    "abort",
    "assistant.message",
    "assistant.message_delta",
    "assistant.reasoning",
    "assistant.reasoning_delta",
    "assistant.turn_end",
    "assistant.turn_start",
    "permission.completed",
    "session.binary_asset",
    "session.import_legacy",
    "session.model_change",
    "session.start",
    "tool.execution_complete",
    "user.message",
})  # fmt: skip
"""Kinds whose meaning depends on what came before: `past.py` knows them."""

OF_SUBAGENTS = frozenset({
    "assistant.message",
    "assistant.message_delta",
    "permission.completed",
    "subagent.failed",
    "tool.execution_complete",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
})  # fmt: skip
"""What a sub-agent does that is shown; its prompt is in the call that started it."""

_SAID = ("assistant.", "tool.", "user.")
_QUIET_ENDS = ("_start", "_end", "_delta", "_retry", "_progress", "usage", "idle", "intent")
_QUIET = frozenset({"assistant.message_start", "tool.requested"})
_QUIET_INFOS = frozenset({"authentication", "configuration", "snapshot", "timing"})
"""Said to whoever sat there, and nothing of the conversation."""


def is_wanted(kind: str) -> bool:
    """Whether events of this kind are shown, or change what is shown."""
    return kind in STATEFUL or kind in _READERS or _is_unknown(kind)


def updates(event: Event) -> Iterator[Update]:
    """What `event` means, if that depends on nothing else."""
    reader = _READERS.get(event.type)
    if reader is not None:
        yield from filter(None, [reader(event)])
    elif _is_unknown(event.type):
        yield Unknown(event.type, event.data)


def said(event: Event, text: str, name: str = "") -> Chunk:
    """A whole message or thought; a sub-agent's message is a thought of the agent that sent it."""
    speaker: Speaker = "thought" if event.agent or event.type.startswith("assistant.reasoning") else "agent"
    return Chunk(speaker, Text(text), name or None)


def _is_unknown(kind: str) -> bool:
    quiet = kind in _QUIET or kind.endswith(_QUIET_ENDS) or "fusion" in kind
    return kind.startswith(_SAID) and not quiet and kind not in STATEFUL and kind not in _READERS


def _notice(severity: str) -> Callable[[Event], Update | None]:
    def read(event: Event) -> Update | None:
        message, more = words(event.data.get("message")), (words(event.data.get(name)) for name in ("tip", "url"))
        is_shown = message and event.data.get("infoType") not in _QUIET_INFOS
        return NoticeUpdate(severity, message, "\n".join(filter(None, more))) if is_shown else None

    return read


def _title(event: Event) -> Update:
    return InfoUpdate(words(event.data.get("title")), None, event.data)


def _mode(event: Event) -> Update | None:
    mode = words(event.data.get("newMode"))
    return ModeUpdate("agent" if mode == "interactive" else mode) if mode else None


def _plan(event: Event) -> Update:
    done = {"create": "written", "update": "changed", "delete": "deleted"}.get(words(event.data.get("operation")), "")
    return NoticeUpdate("info", f"The plan was {done or 'changed'}", words(event.data.get("summary")))


def _compacting(event: Event) -> Update:
    return CompactionUpdate(_compaction(event.data), "in_progress")


def _compacted(event: Event) -> Update:
    """That there was nothing to compact is no failure."""
    data, status = event.data, "completed"
    if data.get("success") is False:
        status = "cancelled" if data.get("outcome") == "not_applicable" else "failed"
    summary, error = (words(data.get(name)) or None for name in ("summaryContent", "error"))
    return CompactionUpdate(_compaction(data), status, summary, error)


def _compaction(data: Json) -> str:
    return ident(data.get("compactionAttemptId")) or "the only one"


def _truncated(event: Event) -> Update:
    count = whole(event.data.get("messagesRemovedDuringTruncation"))
    return NoticeUpdate("info", "Context truncated", f"{count} messages left out" if count else "")


def _cleared(event: Event) -> Update:
    return NoticeUpdate("info", "The agent's memory of the conversation was cleared here")


def _handoff(event: Event) -> Update:
    return NoticeUpdate("info", "The session was handed over", words(event.data.get("summary")))


def _notified(event: Event) -> Update | None:
    """What happened in the background; `content` is for the model."""
    kind = members(event.data.get("kind"))
    what = words(kind.get("description")) or words(kind.get("displayName")) or words(kind.get("summary"))
    name = words(kind.get("type")).replace("_", " ")
    return NoticeUpdate("info", ": ".join(filter(None, (name, what)))) if name else None


def _skill(event: Event) -> Update | None:
    """A custom agent comes with skills that nobody asked for."""
    name = words(event.data.get("name"))
    if not name or event.data.get("trigger") == "context-load":
        return None
    return NoticeUpdate("info", f"Skill: {name}", words(event.data.get("description")))


def _folder(event: Event) -> Update | None:
    """While `pendingGitContext` is set, another event follows that names the repository."""
    cwd, repository, branch = (words(event.data.get(name)) for name in ("cwd", "repository", "branch"))
    if not cwd or event.data.get("pendingGitContext"):
        return None
    where = (repository, f"branch {branch}" if branch else "")
    return NoticeUpdate("info", f"Working folder: {cwd}", ", ".join(filter(None, where)))


def _subagent_failed(event: Event) -> Update:
    name = words(event.data.get("agentDisplayName")) or words(event.data.get("agentName")) or "A sub-agent"
    return NoticeUpdate("warning", f"{name} failed", words(event.data.get("error")))


_READERS: dict[str, Callable[[Event], Update | None]] = {
    "session.compaction_complete": _compacted,
    "session.compaction_start": _compacting,
    "session.context_changed": _folder,
    "session.context_cleared": _cleared,
    "session.error": _notice("error"),
    "session.handoff": _handoff,
    "session.info": _notice("info"),
    "session.mode_changed": _mode,
    "session.plan_changed": _plan,
    "session.title_changed": _title,
    "session.truncation": _truncated,
    "session.warning": _notice("warning"),
    "skill.invoked": _skill,
    "skill.invoked_ref": _skill,
    "subagent.failed": _subagent_failed,
    "system.notification": _notified,
    "tool.execution_partial_result": went_on,
    "tool.execution_progress": went_on,
    "tool.execution_start": begun,
    "tool.user_requested": begun,
}
