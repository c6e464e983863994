"""May it, without asking: a pure answer, or None, which means "ask a person".

Whatever is unclear asks. Only an option of kind `allow_once` is ever chosen: never a standing grant, and never by
position, name or id. Paths are compared as they are written, without looking at the disk.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from ..acp.messages import Diff, Option
from ..conversation.model import ToolCall
from .question import Answer, By

NAMES = ("Read", "Edit", "Bash")

_GATE = "outside trusted director"
"""How Copilot CLI asks, with kind `read`, to leave the folder at all, even when it is about to write there."""

_TEXTS = frozenset(
    {"content", "contents", "text", "old_text", "new_text", "oldtext", "newtext", "old_str", "new_str", "file_text"}
    | {"old_string", "new_string", "diff", "patch", "title", "description", "explanation", "reason"}
)
"""Members of a tool's input that hold what is in a file or say something about it, and no path."""

_PATHS = ("path", "paths", "file", "files", "filename", "uri", "url", "dir", "directory", "folder")
_ENDS = frozenset({"source", "src", "destination", "dest", "target", "from", "to"})
_COMMANDS = frozenset({"command", "commands", "cmd", "script"})


def decide(call: ToolCall, options: Sequence[Option], mode: str, allow: Sequence[str], root: str = "") -> Answer | None:
    """The answer to a request about `call` (the merged one), or None to ask.

    `mode` bypassPermissions allows everything. `allow` holds bare names: Read and Edit allow what touches only paths
    inside the folder `root`, Bash allows every command. Everything else allows nothing, see `problems`.
    """
    if mode == "bypassPermissions":
        return _allow_once(options, "mode", "allowed by the mode bypassPermissions")
    rule = next((name for name in NAMES if name in allow and _covers(name, call, root)), None)
    return _allow_once(options, "rule", f"allowed by the rule {rule}") if rule else None


def reject(options: Sequence[Option]) -> Option | None:
    """How to say no when nobody can answer; None: only `cancelled` is left."""
    return _first(options, "reject_once") or _first(options, "reject_always")


def rules_for(call: ToolCall, options: Sequence[Option], root: str) -> tuple[str, ...]:
    """The names of which each one alone would allow the call."""
    return tuple(name for name in NAMES if decide(call, options, "default", [name], root))


def problems(allow: Sequence[str]) -> list[str]:
    """What in the setting `allow` allows nothing, in words for the user."""
    known = ", ".join(NAMES)
    return [f"allow: {rule!r} allows nothing; the rules are {known}" for rule in allow if rule not in NAMES]


def _covers(name: str, call: ToolCall, root: str) -> bool:
    match name:
        case "Read":
            return call.kind == "read" and not _writes(call) and _stays_inside(call, root)
        case "Edit":
            return call.kind in ("edit", "delete", "move") and _stays_inside(call, root)
        case _:
            return call.kind == "execute"


def _writes(call: ToolCall) -> bool:
    return any(isinstance(item, Diff) for item in call.content)


def _stays_inside(call: ToolCall, root: str) -> bool:
    """At least one path, all of them inside, and no command: a contradiction between kind and input must be seen."""
    if _GATE in call.title.lower() or any(key in _COMMANDS for key in _keys(call.raw_input)):
        return False
    paths = list(_paths(call))
    return bool(paths) and all(_is_inside(path, root) for path in paths)


def _paths(call: ToolCall) -> Iterator[str]:
    yield from (location.path for location in call.locations)
    yield from (item.path for item in call.content if isinstance(item, Diff))
    for key, value in _leaves(call.raw_input):
        if _names_a_path(key) or value.startswith(("/", "~", "\\")) or "://" in value or ".." in value:
            yield value


def _names_a_path(key: str) -> bool:
    return key.lower().endswith(_PATHS) or key.lower() in _ENDS


def _leaves(raw: Any) -> Iterator[tuple[str, str]]:
    """The texts of a tool's input with the names they stand under; names that are paths themselves (as in
    `{"changes": {"/a": …}}`) count as texts."""
    todo = [("", raw)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, dict):
            todo += [(str(name), inner) for name, inner in value.items() if str(name).lower() not in _TEXTS]
            todo += [("", name) for name in value if isinstance(name, str) and "/" in name]
        elif isinstance(value, list):
            todo += [(key, inner) for inner in value]
        elif isinstance(value, str):
            yield key, value


def _keys(raw: Any) -> Iterator[str]:
    yield from raw if isinstance(raw, dict) else ()


def _is_inside(path: str, root: str) -> bool:
    """Relative paths start in the agent's folder. With `..` a symbolic link decides where one ends: unclear."""
    if not root or "\0" in path or "://" in path or path.startswith("~") or ".." in PurePosixPath(path).parts:
        return False
    absolute = os.path.normpath(os.path.join(root, path))
    return PurePosixPath(absolute).is_relative_to(os.path.normpath(root))


def _allow_once(options: Sequence[Option], by: By, reason: str) -> Answer | None:
    option = _first(options, "allow_once")
    return Answer(option, by, reason) if option else None


def _first(options: Sequence[Option], kind: str) -> Option | None:
    return next((option for option in options if option.kind == kind), None)
