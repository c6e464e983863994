"""Which of two titles of a tool call says more.

Agents title one call several times. Copilot's permission request says "Create file" or "echo" of the call that it
announced as "Creating /project/new.py" or "lab-echo" (tool `echo` of the MCP server `lab`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ..acp.messages import Diff
from .model import ToolCall

_MOST = 100
"""Texts of an input that are looked at."""
_COMMANDS = frozenset({"command", "cmd"})
_TELLING = re.compile(r"[/\\.\s]")
"""Stands in paths and command lines, and not in a word that may be in a title by chance."""


def fuller(earlier: str, call: ToolCall) -> str:
    """`earlier` if it names the file, command or server of `call` and the title of `call` does not, else nothing."""
    title = call.title
    if not title or earlier == title:
        return ""
    if re.search(rf"[-_.:/]{re.escape(title)}\Z", earlier):
        return earlier  # SERVER-TOOL, and then TOOL
    subjects = list(islice(_subjects(call), _MOST))
    return earlier if _names(earlier, subjects) and not _names(title, subjects) else ""


def _names(title: str, subjects: list[str]) -> bool:
    return any(each in title and re.search(rf"(?<!\w){re.escape(each)}(?!\w)", title) for each in subjects)


def _subjects(call: ToolCall) -> Iterator[str]:
    """Paths, with their last part alone too, and commands."""
    paths = (*(place.path for place in call.locations), *(part.path for part in call.content if isinstance(part, Diff)))
    for text in (*paths, *_texts(call.raw_input)):
        yield from filter(re.compile(r"\w").search, (text, posixpath.basename(text)))


def _texts(raw: Any) -> Iterator[str]:
    members = raw.items() if isinstance(raw, Mapping) else ()
    for name, value in islice(members, _MOST):
        for text in islice(value, _MOST) if isinstance(value, list) else (value,):
            if isinstance(text, str) and text and (name in _COMMANDS or _TELLING.search(text)):
                yield text
