"""What a list says of a session, from the beginning of its log: nobody reads 200 MB for a line of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..acp.lenient import members, words
from ..errors import CopilotError
from .lines import Event, Tally, events, parsed

_NOTES = "workspace.yaml"
_MOST_EVENTS = 20
_RENAMED = "session.title_changed"
WINDOW = 256 * 1024
"""Bytes at each end of a log that are searched for its newest title."""
_LONGEST_NOTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Summary:
    """`cwd` is the folder that the session worked in; `title` is its name, or what was asked first."""

    cwd: str = ""
    title: str = ""
    version: str = ""


def summary(path: Path) -> Summary:
    """Of the log at `path`; empty where nothing can be read."""
    head = list(_head(path))
    start = next((event.data for event in head if event.type == "session.start"), {})
    asked = next((words(event.data.get("content")) for event in head if event.type == "user.message"), "")
    cwd = words(members(start.get("context")).get("cwd")) or words(start.get("cwd"))
    title = _name(path.parent / _NOTES) if path.parent.name == start.get("sessionId") else ""
    return Summary(cwd, title or _renamed(path) or _first_line(asked), words(start.get("copilotVersion")))


def _head(path: Path) -> Iterator[Event]:
    """As far as the first prompt."""
    found = events(path, Tally(), frozenset({"session.start", "user.message"}).__contains__)
    try:
        with closing(found):
            for event in islice(found, _MOST_EVENTS):
                yield event
                if event.type == "user.message":
                    return
    except CopilotError:
        return


def _name(path: Path) -> str:
    """`name` in the session's notes; of several lines the first one."""
    try:
        with path.open("rb") as file:
            lines = file.read(_LONGEST_NOTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    at = next((number for number, line in enumerate(lines) if line.startswith("name:")), None)
    if at is None:
        return ""
    value = lines[at].removeprefix("name:").strip()
    if value[:1] in ("|", ">"):
        value = lines[at + 1].strip() if at + 1 < len(lines) else ""
    return value.strip("\"'")


def _renamed(path: Path) -> str:
    """The last title in the log; newer versions of Copilot CLI keep it in the notes alone."""
    try:
        with path.open("rb") as file:
            head = file.read(WINDOW)
            file.seek(max(len(head), path.stat().st_size - WINDOW))
            found = [line for line in (head + file.read(WINDOW)).splitlines() if _RENAMED.encode() in line]
    except OSError:
        return ""
    last = filter(None, map(parsed, reversed(found)))
    titles = (_first_line(words(event.data.get("title"))) for event in last if event.type == _RENAMED)
    return next(filter(None, titles), "")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
