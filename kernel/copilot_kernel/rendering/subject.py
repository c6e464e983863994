"""What a permission request is about, found in the tool call: nothing of the call is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..acp.messages import Diff, Terminal, Text
from ..conversation.model import ToolCall
from ..permissions.question import Question
from . import raw
from .asked import questions
from .attachment import attachment_text
from .diff import Change, parse_unified
from .diff_view import change_of
from .reach import Reached, reached, working

_HEADER = re.compile(r"^(?:---|\+\+\+) (?:[ab]/(?=.))?([^\t\n]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Subject:
    """The parts of a question; texts as the agent sent them, hidden characters and all."""

    title: str
    commands: tuple[str, ...]
    changes: tuple[tuple[Reached, Change], ...]
    folder: Reached | None
    """Where a command runs."""
    paths: tuple[Reached, ...]
    """All that are named, but for those that head a change."""
    rest: tuple[tuple[str, str], ...]
    """Name and text of everything else."""

    @property
    def texts(self) -> Iterator[str]:
        """Everything that the agent wrote."""
        yield from (self.title, *self.commands, *(place.path for place in self.paths))
        yield self.folder.path if self.folder else ""
        for place, change in self.changes:
            yield from (place.path, *(line.text for line in change.lines))
        for name, text in self.rest:
            yield from (name, text)


def subject(question: Question, root: str) -> Subject:
    """`root` is the project's folder; without it nothing is said about what lies outside."""
    call, folder = question.call, question.folder or raw.folder(question.call.raw_input)
    commands = raw.commands(call.raw_input)
    asked = questions(call.raw_input)
    named = raw.folder(call.raw_input)
    return Subject(
        title=call.best_title or call.name or "no title",
        commands=commands,
        changes=tuple((_head(path, folder, root), change) for path, change in _changes(call)),
        folder=working(folder, root) if folder and (commands or named or folder != root) else None,
        paths=tuple(reached(path, folder, root) for path in _paths(call)),
        rest=tuple(_rest(call, asked)),
    )


def _paths(call: ToolCall) -> list[str]:
    """A change is headed by its path, which need not be said twice; the agent's own diff may name another one."""
    found = raw.paths(call)
    heads = {part.path for part in call.content if isinstance(part, Diff)}
    if _theirs(call) is not None and len(found) == 1:
        heads.update(found)
    others = [path for path in _headers(call) if not any(_ends_with(known, path) for known in (*found, *heads))]
    return [*(path for path in found if path not in heads), *dict.fromkeys(others)]


def _headers(call: ToolCall) -> list[str]:
    head = re.split(r"^@@ ", raw.unified_diff(call.raw_input), maxsplit=1, flags=re.MULTILINE)[0]
    return [path for path in _HEADER.findall(head) if path not in ("dev/null", "/dev/null")]


def _ends_with(path: str, end: str) -> bool:
    return f"/{path}".endswith(f"/{end.strip('/')}")


def _changes(call: ToolCall) -> Iterator[tuple[str, Change]]:
    """Each change once: the agent's unified diff stands for the texts that say the same."""
    theirs = _theirs(call)
    if theirs is not None:
        found = raw.paths(call)
        yield (found[0] if len(found) == 1 else ""), theirs
    for diff in call.content:
        if isinstance(diff, Diff) and not (theirs and theirs.same_edit(change_of(diff))):
            yield diff.path, change_of(diff)


def _rest(call: ToolCall, asked: str) -> Iterator[tuple[str, str]]:
    if call.title not in call.best_title:
        yield "Also called", call.title
    if _theirs(call) is None and (unreadable := raw.unified_diff(call.raw_input)):
        yield "Change", unreadable
    if says := "\n".join(part.text for part in call.content if isinstance(part, Text) and part.text.strip()):
        yield "It says", says
    if output := "\n".join(part.output for part in call.content if isinstance(part, Terminal) and part.output):
        yield "Terminal output", output
    for part in call.content:
        if not isinstance(part, Text | Diff | Terminal):
            yield "It sends", attachment_text(part)
    if asked:
        yield "Questions", asked
    left = raw.rest(call.raw_input, _seen(call))
    if asked and left:
        left = {key: value for key, value in left.items() if key != "questions"}
    if left:
        yield "Input", _lines(left) or raw.as_json(left)


def _lines(left: Any) -> str:
    """Texts and numbers under names, each on one line; nothing if that cannot be."""
    if not isinstance(left, Mapping) or not all(isinstance(value, str | int | float) for value in left.values()):
        return ""
    found = [f"{name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in left.items()]
    return "" if any("\n" in line for line in found) else "\n".join(found)


def _theirs(call: ToolCall) -> Change | None:
    return parse_unified(raw.unified_diff(call.raw_input).strip("\n"))


def _head(path: str, folder: str, root: str) -> Reached:
    return reached(path, folder, root) if path else Reached("a file")


def _seen(call: ToolCall) -> set[str]:
    """Texts that the question shows in full, in the title, in the content, or as a change from one to the other."""
    seen = {call.title, call.best_title, *(part.text for part in call.content if isinstance(part, Text))}
    diffs = [part for part in call.content if isinstance(part, Diff)]
    return seen.union(*({diff.old_text or "", diff.new_text} for diff in diffs))
