"""What a cell is: nothing, a `%command` of ours, or a prompt. In notebooks `/name` is the agent's business."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from ..errors import UsageError

COMMANDS = {"help": "List what can be typed into a cell."}
"""The names of our commands, without the `%`, and one line about each."""

_COMMAND = re.compile(r"%+([A-Za-z]\w*)[ \t]*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text for the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """One of `COMMANDS`, and what was typed after its name."""

    name: str
    rest: str = ""


def parse(cell: str) -> Empty | Prompt | Command:
    """Raises UsageError for a `%name` that is no command: it must not reach the agent by mistake."""
    text = cell.strip()
    if match := _COMMAND.match(text):
        return _command(match[1], match[2].strip())
    return Prompt(text) if text else Empty()


def _command(name: str, rest: str) -> Command:
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean %{near[0]}?" if near else "%help lists the commands."
        raise UsageError(f"There is no command %{name}.", hint)
    return Command(name, rest)
