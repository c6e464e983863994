"""Completion: our `%commands` and the agent's `/commands`, at the beginning of a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..acp.messages import Command
from ..commands.parse import COMMANDS
from ..rendering.plain import clean, one_line

_BEGUN = re.compile(r"^[ \t]*([%/]\S*)\Z", re.MULTILINE)


def known_commands(agents: Iterable[Command]) -> dict[str, str]:
    """What can be typed, with `%` or `/`, and what it is for."""
    ours = {f"%{name}": line for name, line in COMMANDS.items()}
    theirs = {f"/{command.name}": _about(command) for command in agents if _can_be_typed(command.name)}
    return ours | theirs


def complete(code: str, cursor: int, commands: Mapping[str, str]) -> dict[str, Any]:
    """The content of a `complete_reply`; `cursor` counts characters."""
    begun = _BEGUN.search(code[:cursor])
    word = begun[1] if begun else ""
    matches = [name for name in sorted(commands) if word and name.startswith(word)]
    start = cursor - len(word)
    return {
        "status": "ok",
        "matches": matches,
        "cursor_start": start,
        "cursor_end": cursor,
        "metadata": {
            "_jupyter_types_experimental": [
                {"start": start, "end": cursor, "text": name, "type": "command"} for name in matches
            ]
        },
    }


def help_line(name: str, about: str) -> str:
    """One line for a list of what can be typed; `about` may begin with how it is used."""
    usage, _, purpose = about.partition("\n\n")
    return f"{usage}  {one_line(purpose)}" if usage.startswith(f"{name} ") else f"{name}  {one_line(about)}"


def _can_be_typed(name: str) -> bool:
    return name != "" and name == clean(name) and not any(character.isspace() for character in name)


def _about(command: Command) -> str:
    usage = f"/{command.name} {one_line(command.hint)}\n\n" if command.hint else ""
    return usage + clean(command.description)
