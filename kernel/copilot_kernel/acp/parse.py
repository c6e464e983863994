"""What the agent says, from JSON to the values of `messages.py`: any JSON at all, and nothing here ever raises.

What is missing gets a default, what is unknown is kept as `Unknown` or `UnknownBlock` with its raw JSON; the names of
older dialects are in `aliases.py`. `session/update` is read here (spec: session-update), the rest in the files beside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .aliases import spelled, spelled_plan, spelled_plan_entry, spelled_update
from .blocks import parse_block
from .calls import parse_call, parse_permission
from .handshake import parse_initialize, parse_messages, parse_prompt_result, parse_session, parse_sessions
from .lenient import ident, items, members, objects, text, whole, words
from .messages import (
    Chunk,
    Command,
    CommandsUpdate,
    CompactionChunk,
    CompactionUpdate,
    ConfigUpdate,
    InfoUpdate,
    Json,
    ModeUpdate,
    NoticeUpdate,
    PlanEntry,
    PlanUpdate,
    Speaker,
    Text,
    Unknown,
    Update,
    UsageUpdate,
)
from .options import read_options

__all__ = [
    "parse_block",
    "parse_initialize",
    "parse_messages",
    "parse_permission",
    "parse_prompt_result",
    "parse_session",
    "parse_sessions",
    "parse_update",
]


def parse_update(raw: Any) -> Update:
    """The `update` of a `session/update`; one that lacks what it is about is Unknown."""
    update = spelled_update(members(raw))
    kind = words(update.get("sessionUpdate"))
    reader = _READERS.get(kind)
    return (reader(update) if reader else None) or Unknown(kind, raw)


def _chunk(speaker: Speaker) -> Callable[[Json], Update | None]:
    def read(raw: Json) -> Update | None:
        if "content" not in raw:
            return None
        return Chunk(speaker, parse_block(raw["content"]), ident(raw.get("messageId")) or None)

    return read


def _tool_call(raw: Json) -> Update | None:
    return parse_call(raw, begins=True) if _is_about_a_call(raw) else None


def _tool_call_update(raw: Json) -> Update | None:
    return parse_call(raw) if _is_about_a_call(raw) else None


def _is_about_a_call(raw: Json) -> bool:
    return bool(ident(raw.get("toolCallId")) or words(raw.get("title")))


def _plan(raw: Json) -> Update | None:
    plan = spelled_plan(raw)
    if not isinstance(plan.get("entries"), list):
        return None
    return PlanUpdate(tuple(map(_plan_entry, plan["entries"])), words(plan.get("description")))


def _plan_update(raw: Json) -> Update | None:
    """An unstable variant; only its list of items is a plan that we can show as one."""
    return _plan(raw) if members(raw.get("plan")).get("type") == "items" else None


def _plan_entry(raw: Any) -> PlanEntry:
    raw = spelled_plan_entry(raw)
    content, priority, status = (words(raw.get(name)) for name in ("content", "priority", "status"))
    return PlanEntry(content, priority or "medium", status or "pending")


def _commands(raw: Json) -> Update | None:
    if not isinstance(raw.get("availableCommands"), list):
        return None
    commands = (_command(command) for command in objects(raw["availableCommands"]))
    return CommandsUpdate(tuple(command for command in commands if command.name))


def _command(raw: Json) -> Command:
    hint = words(members(raw.get("input")).get("hint"))
    return Command(words(raw.get("name")), words(raw.get("description")), hint)


def _mode(raw: Json) -> Update | None:
    mode = text(spelled("mode", raw).get("currentModeId"))
    return ModeUpdate(mode) if mode else None


def _config(raw: Json) -> Update | None:
    options = raw.get("configOptions")
    return ConfigUpdate(read_options(options)) if isinstance(options, list) else None


def _info(raw: Json) -> Update | None:
    return InfoUpdate(text(raw.get("title")), text(raw.get("updatedAt")), raw)


def _usage(raw: Json) -> Update | None:
    used, size, cost = whole(raw.get("used")), whole(raw.get("size")), raw.get("cost")
    if used is None:
        return None
    return UsageUpdate(used, size or 0, cost if isinstance(cost, dict) else None)


def _notice(raw: Json) -> Update | None:
    severity, title, description = (words(raw.get(name)) for name in ("severity", "title", "description"))
    return NoticeUpdate(severity or "other", title, description) if title else None


def _compaction(raw: Json) -> Update | None:
    compaction = ident(raw.get("compactionId"))
    if not compaction:
        return None
    return CompactionUpdate(compaction, text(raw.get("status")), _summary(raw.get("summary")), _error(raw.get("error")))


def _compaction_chunk(raw: Json) -> Update | None:
    block = parse_block(raw.get("content"))
    if not (compaction := ident(raw.get("compactionId"))) or not isinstance(block, Text):
        return None
    return CompactionChunk(compaction, block.text)


def _summary(raw: Any) -> str | None:
    if not isinstance(raw, list):
        return text(raw)
    return "".join(block.text for block in map(parse_block, items(raw)) if isinstance(block, Text))


def _error(raw: Any) -> str | None:
    return text(members(raw).get("message")) if isinstance(raw, dict) else text(raw)


_READERS: dict[str, Callable[[Json], Update | None]] = {
    "agent_message_chunk": _chunk("agent"),
    "agent_thought_chunk": _chunk("thought"),
    "user_message_chunk": _chunk("user"),
    "tool_call": _tool_call,
    "tool_call_update": _tool_call_update,
    "plan": _plan,
    "plan_update": _plan_update,
    "available_commands_update": _commands,
    "current_mode_update": _mode,
    "config_option_update": _config,
    "session_info_update": _info,
    "usage_update": _usage,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _compaction_chunk,
}
