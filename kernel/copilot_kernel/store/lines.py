"""An event log, line by line: in bounded memory, whatever is in the file, and without ever writing to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..acp.messages import Json
from ..errors import CopilotError

LONGEST = 32 * 2**20
"""Bytes of one line; a longer one counts as damaged."""

_TYPE = re.compile(rb'\s*\{\s*"type"\s*:\s*"([\w.]{1,80})"')
"""Copilot writes the type first, so that most lines need not be parsed at all."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line. `agent` is set for what a sub-agent did; `line` counts from 0, `size` is in bytes."""

    type: str
    data: Json
    id: str = ""
    agent: str = ""
    time: str = ""
    line: int = -1
    size: int = 0


@dataclass(slots=True)
class Tally:
    """How many lines were read so far, and how many of them could not be."""

    lines: int = 0
    damaged: int = 0


def lines(path: Path) -> Generator[bytes | None, None, None]:
    """Each line with its end; None for one that is too long. Raises CopilotError."""
    try:
        with path.open("rb") as file:
            while line := file.readline(LONGEST):
                yield None if len(line) == LONGEST and _skip(file.readline, line) else line
    except OSError as error:
        raise CopilotError(f"The log {path} cannot be read: {error.strerror or error}") from error


def events(path: Path, tally: Tally, wanted: Callable[[str], bool]) -> Generator[Event, None, None]:
    """The events whose type is `wanted`, in order; what cannot be read is counted in `tally`. Raises CopilotError."""
    for number, line in enumerate(lines(path)):
        if line is not None and not line.strip():
            continue
        tally.lines += 1
        if line is None or not line.rstrip().endswith(b"}"):
            tally.damaged += 1
        elif (found := _TYPE.match(line)) and not wanted(found[1].decode()):
            continue
        elif (event := parsed(line, number)) is None:
            tally.damaged += 1
        elif wanted(event.type):
            yield event


def _skip(readline: Callable[[int], bytes], line: bytes) -> bool:
    """Whether the line is longer than it may be; then the rest of it is read and forgotten."""
    if line.endswith(b"\n"):
        return False
    rest = readline(LONGEST)
    is_longer = bool(rest)
    while rest and not rest.endswith(b"\n"):
        rest = readline(LONGEST)
    return is_longer


def parsed(line: bytes, number: int = -1) -> Event | None:
    """The event in a line; None if it is damaged."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str) or not isinstance(raw.get("data"), dict):
        return None
    names = {name: _text(raw.get(key)) for name, key in (("id", "id"), ("agent", "agentId"), ("time", "timestamp"))}
    return Event(raw["type"], raw["data"], **names, line=number, size=len(line))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
