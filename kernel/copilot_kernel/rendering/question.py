"""A permission request as a person must see it to decide: all of it, with nothing hidden in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..acp.messages import Diff, Text
from ..conversation.model import ToolCall
from ..permissions.question import Question
from . import raw
from .asked import questions
from .diff import Change, parse_unified, unified
from .diff_view import change_html, change_of, remarks
from .markup import AMBER, GREY, Bundle, bundle, card, escape, exposed, lines, pre, row, span
from .plain import visible_text

_KINDS = {
    "read": "read",
    "edit": "change a file",
    "delete": "delete",
    "move": "move",
    "search": "search",
    "execute": "run a command",
    "think": "think",
    "fetch": "fetch from the network",
    "switch_mode": "change its mode",
}
_SCROLLING = "max-height:320px;overflow:auto"
_EVERY_LINE = 10**9


def render_question(question: Question) -> Bundle:
    """The question without its buttons."""
    return bundle(question_html(question), question_text(question))


def question_html(question: Question) -> str:
    """Title, kind, commands, folder, paths, changes and the rest of the input; long parts scroll, nothing is cut."""
    parts = "".join(f'<div style="color:{GREY}">{name}</div>{body}' for name, body in _parts_html(question.call))
    return card(_head_html(question.call) + parts, AMBER)


def question_text(question: Question) -> str:
    """The same for a terminal."""
    call = question.call
    return lines((_head(call), *(f"{name}:\n{_indented(text)}" for name, text in _parts_text(call))))


def _head(call: ToolCall) -> str:
    return f"The agent asks to {_kind(call)}: {visible_text(call.title or call.name or 'no title')}"


def _head_html(call: ToolCall) -> str:
    title = f'<span style="font-weight:bold">{exposed(call.title or call.name or "no title")}</span>'
    return row(span("?", f"color:{AMBER};font-weight:bold"), f"The agent asks to {exposed(_kind(call))}:", title)


def _kind(call: ToolCall) -> str:
    return _KINDS.get(call.kind, "use a tool" if call.kind == "other" else f"do something ({visible_text(call.kind)})")


def _parts(call: ToolCall) -> Iterator[tuple[str, str]]:
    commands = raw.commands(call.raw_input)
    for number, command in enumerate(commands, 1):
        yield _counted(f"Command {number} of {len(commands)}" if len(commands) > 1 else "Command", command), command
    if folder := raw.folder(call.raw_input):
        yield "In the folder", folder
    if paths := _paths_without_change(call):
        yield "Path" if len(paths) == 1 else "Paths", "\n".join(paths)
    texts = [part.text for part in call.content if isinstance(part, Text) and part.text.strip()]
    if texts:
        yield "It says", "\n".join(texts)
    if asked := questions(call.raw_input):
        yield "Questions", asked
    if left := _rest(call, bool(asked)):
        yield "Input", raw.as_json(left)


def _rest(call: ToolCall, but_questions: bool) -> Any:
    left = raw.rest(call.raw_input, _seen(call))
    return {key: value for key, value in left.items() if key != "questions"} if but_questions and left else left


def _paths_without_change(call: ToolCall) -> list[str]:
    """A change is headed by its path, which need not be said twice."""
    if parse_unified(raw.unified_diff(call.raw_input).strip("\n")) is not None:
        return []
    changed = {part.path for part in call.content if isinstance(part, Diff)}
    return [path for path in raw.paths(call) if path not in changed]


def _seen(call: ToolCall) -> set[str]:
    """Texts that the question shows in full, in the title, in the content, or as a change from one to the other."""
    seen = {call.title, *(part.text for part in call.content if isinstance(part, Text))}
    diffs = [part for part in call.content if isinstance(part, Diff)]
    return seen.union(*({diff.old_text or "", diff.new_text} for diff in diffs))


def _parts_html(call: ToolCall) -> Iterator[tuple[str, str]]:
    for name, text in _parts(call):
        yield escape(name), pre(exposed(text), _SCROLLING)
    for path, change in _changes(call):
        yield f"Change of {exposed(path)} {remarks(change)}", _in_full(change)
    if unreadable := _unreadable_diff(call):
        yield "Change", pre(exposed(unreadable), _SCROLLING)


def _in_full(change: Change) -> str:
    """Every line, with hidden characters made visible, in a box that scrolls."""
    return f'<div style="{_SCROLLING}">{change_html(change, exposed, _EVERY_LINE)}</div>'


def _parts_text(call: ToolCall) -> Iterator[tuple[str, str]]:
    for name, text in _parts(call):
        yield name, visible_text(text)
    for path, change in _changes(call):
        yield f"Change of {visible_text(path)}", visible_text(unified(change, path))
    if unreadable := _unreadable_diff(call):
        yield "Change", visible_text(unreadable)


def _changes(call: ToolCall) -> Iterator[tuple[str, Change]]:
    """Each change once: the agent's unified diff stands for the texts that say the same."""
    theirs = parse_unified(raw.unified_diff(call.raw_input).strip("\n"))
    if theirs is not None:
        yield ", ".join(raw.paths(call)) or "a file", theirs
    for diff in call.content:
        if isinstance(diff, Diff) and not (theirs and theirs.same_edit(change_of(diff))):
            yield diff.path, change_of(diff)


def _unreadable_diff(call: ToolCall) -> str:
    text = raw.unified_diff(call.raw_input)
    return text if text and parse_unified(text.strip("\n")) is None else ""


def _counted(name: str, text: str) -> str:
    count = text.strip("\n").count("\n") + 1
    return name if count == 1 else f"{name}, {count} lines"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip("\n").split("\n"))
