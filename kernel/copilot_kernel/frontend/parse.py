"""What a cell is: `%commands` of ours, a prompt, or nothing. `/name` is the agent's, if the agent knows it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import UsageError
from .table import TABLE, unknown

BEFORE_A_PROMPT = "attach"

_OURS = re.compile(r"%+([A-Za-z]\w*)[ \t]*(.*)")
_EITHER = re.compile(r"/([A-Za-z]\w*)(?:[ \t]+(.*))?")
_ELSEWHERE = "Put the rest into a cell of its own."


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text for the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """One of `TABLE`, and what was typed after its name."""

    name: str
    rest: str = ""


def parse(cell: str, advertised: Iterable[str] = ()) -> tuple[Command | Prompt, ...]:
    """What the cell asks for, in order; `advertised` are the agent's own commands, without the `/`.

    Raises UsageError for a `%name` that is no command, since it must not reach the agent by mistake, and for lines
    after a command that cannot belong to it.
    """
    text, found = cell.strip(), list[Command | Prompt]()
    while command := _command(text, advertised):
        text = text.partition("\n")[2].strip()
        _check(command, bool(found), text)
        found.append(command)
    return (*found, Prompt(text)) if text else tuple(found)


def slash_name(cell: str) -> str:
    """The name of ours that the cell begins with after a `/`: it is ours only if the agent does not know it."""
    line = cell.strip().partition("\n")[0]
    match = _EITHER.fullmatch(line)
    return match[1] if match and match[1] in TABLE else ""


def _command(text: str, advertised: Iterable[str]) -> Command | None:
    line = text.partition("\n")[0]
    if match := _OURS.fullmatch(line):
        return _known(match[1], match[2].strip())
    if slash_name(line) and not any(_begins_with(line, name) for name in advertised):
        match = _EITHER.fullmatch(line)
        assert match is not None
        return Command(match[1], (match[2] or "").strip())
    return None


def _begins_with(line: str, name: str) -> bool:
    """Agents' names may hold spaces."""
    after = line.removeprefix(f"/{name}")
    return after != line and (not after or after[0].isspace())


def _known(name: str, rest: str) -> Command:
    if name not in TABLE:
        raise unknown(name)
    return Command(name, rest)


def _check(command: Command, is_late: bool, after: str) -> None:
    name = command.name
    if command.rest and not TABLE[name].arguments:
        raise UsageError(f"Nothing may stand after %{name}.", _ELSEWHERE)
    if name == BEFORE_A_PROMPT:
        return
    if is_late:
        raise UsageError(f"%{name} cannot follow %{BEFORE_A_PROMPT}.", f"Put %{name} into a cell of its own.")
    if after:
        raise UsageError(f"%{name} is one line, and more follows it in this cell.", _ELSEWHERE)
