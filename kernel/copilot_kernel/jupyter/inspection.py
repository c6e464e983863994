"""Inspection: what the command under the cursor is for, or what was chosen for it."""

from __future__ import annotations

import re
from typing import Any

from ..frontend.arguments import offer
from ..frontend.situation import Situation
from ..frontend.table import TABLE
from ..rendering.plain import clean, one_line

_OURS = re.compile(r"[ \t]*%+([A-Za-z]\w*)(?:[ \t]+(.*))?")


def inspect(code: str, cursor: int, now: Situation) -> dict[str, Any]:
    """The content of an `inspect_reply`; plain text, since some of it is the agent's."""
    about = _about(code, cursor, now)
    return {"status": "ok", "found": bool(about), "data": {"text/plain": about} if about else {}, "metadata": {}}


def _about(code: str, cursor: int, now: Situation) -> str:
    begin = code.rfind("\n", 0, cursor) + 1
    line = code[begin:].partition("\n")[0]
    if match := _OURS.fullmatch(line):
        return _ours(match[1], (match[2] or "").strip(), now) if cursor - begin >= match.start(1) - 1 else ""
    return _theirs(line.strip(), now)


def _ours(name: str, typed: str, now: Situation) -> str:
    """The help of the command, and what the agent says of the choice that stands after it."""
    if name not in TABLE:
        return ""
    entry = TABLE[name]
    start, choices = offer(name, typed, now)
    said = next((f"{each.label}: {each.about}" for each in choices if typed and each.word == typed[start:]), "")
    parts = (entry.usage, entry.summary, entry.details, clean(said))
    return "\n\n".join(part for part in parts if part)


def _theirs(line: str, now: Situation) -> str:
    """The longest name that the line begins with."""
    begun = [each for each in now.conversation.commands if f"{line} ".startswith(f"/{each.name} ")]
    if not begun:
        return ""
    command = max(begun, key=lambda each: len(each.name))
    usage = f"/{command.name} {one_line(command.hint)}" if command.hint else ""
    return "\n\n".join(part for part in (usage, clean(command.description)) if part) or f"/{command.name}"
