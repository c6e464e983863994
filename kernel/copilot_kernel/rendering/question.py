"""A permission request as a person must see it to decide: all of it, with nothing hidden in it.

What runs or changes comes first, then where, then what the agent says of it, then why we ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..conversation.model import ToolCall
from ..permissions.question import Question
from . import hidden
from .diff import unified
from .highlight import exposed_code
from .markup import (
    AMBER,
    ASKED,
    FONT,
    GREY,
    RED,
    Bundle,
    bundle,
    card,
    escape,
    exposed,
    lines,
    muted,
    pre,
    row,
    span,
    without_buttons,
)
from .plain import visible_text
from .reach import Reached
from .reasons import OPEN, RULES, reasons
from .side_by_side import change_box, heading
from .subject import Subject, subject

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
_SCROLLING = "max-height:320px;overflow:auto;overflow-wrap:anywhere;word-break:normal"
_SHORT, _FEW = 400, 6
_FACT = "display:flex;flex-wrap:wrap;margin:2px 0"
_NAME = f"flex:0 0 150px;color:{GREY}"
_VALUE = "flex:1 1 260px;min-width:0;overflow-wrap:anywhere"


def render_question(question: Question, root: str = "") -> Bundle:
    """The question without its buttons, as it is kept in a notebook. `root` is the project's folder."""
    html, text = question_html(question, root), question_text(question, root)
    return bundle(html + without_buttons(muted(OPEN)), f"{text}\n{OPEN}")


def question_html(question: Question, root: str = "") -> str:
    """Everything; long parts scroll, nothing is cut."""
    about = subject(question, root)
    named = bool(about.commands or about.changes)
    parts = (
        _head_html(question.call, "" if named else about.title),
        *_boxes(about),
        _warning_html(about),
        *(_fact(name, [Reached(text)]) for name, text in _told(about) if named),
        *_places_html(about),
        *(_rest_html(name, text) for name, text in about.rest),
        *(_fact(name, map(Reached, text.split("\n")), FONT * (name == RULES)) for name, text in reasons(question)),
    )
    return card(lines(parts), AMBER, ASKED)


def is_alarming(question: Question, root: str = "") -> bool:
    """Something hides in it, or it reaches outside the project: nothing in the card may invite to allow it."""
    about = subject(question, root)
    places = (*about.paths, *filter(None, [about.folder]), *(place for place, _ in about.changes))
    return any(place.remark for place in places) or bool(hidden.warning(about.texts))


def question_text(question: Question, root: str = "") -> str:
    """The same for a terminal."""
    about = subject(question, root)
    head = f"The agent asks to {_kind(question.call)}: {visible_text(about.title)}"
    parts = (*_parts_text(about), *reasons(question))
    return lines((head, *(f"{visible_text(name)}:\n{_indented(visible_text(text))}" for name, text in parts)))


def _kind(call: ToolCall) -> str:
    return _KINDS.get(call.kind, "use a tool" if call.kind == "other" else f"do something ({visible_text(call.kind)})")


def _head_html(call: ToolCall, title: str) -> str:
    mark = span("?", f"color:{AMBER};font-weight:bold")
    words = f"The agent asks to {exposed(_kind(call))}{':' if title else ''}"
    return row(mark, words, f'<span style="font-weight:bold">{exposed(title)}</span>' if title else "")


def _told(about: Subject) -> Iterator[tuple[str, str]]:
    """What the agent calls it, unless that is the command itself."""
    if about.title not in about.commands:
        yield "The agent calls it", about.title


def _boxes(about: Subject) -> Iterator[str]:
    for name, command in _commands(about):
        title = "" if name == "Command" else f'<div style="color:{GREY}">{escape(name)}</div>'
        yield title + _box(exposed_code(command, "bash"), name, "font-size:14px;line-height:1.5")
    for place, change in about.changes:
        head = heading(place.path, _remark_html(place), change)
        yield f"<div>{head}</div>{change_box(change, f'Change of {visible_text(place.path)}')}"


def _commands(about: Subject) -> Iterator[tuple[str, str]]:
    for number, command in enumerate(about.commands, 1):
        name = f"Command {number} of {len(about.commands)}" if len(about.commands) > 1 else "Command"
        count = command.strip("\n").count("\n") + 1
        yield name if count == 1 else f"{name}, {count} lines", command


def _box(body: str, name: str, style: str = "") -> str:
    return pre(body, f"{_SCROLLING};{style}".rstrip(";"), name)


def _warning_html(about: Subject) -> str:
    words = hidden.warning(about.texts)
    return f'<div style="color:{RED};margin:4px 0">⚠ {escape(words)}</div>' if words else ""


def _places(about: Subject) -> Iterator[tuple[str, list[Reached]]]:
    if about.folder:
        yield "In the folder", [about.folder]
    if about.paths:
        yield "Path" if len(about.paths) == 1 else "Paths", list(about.paths)


def _places_html(about: Subject) -> Iterator[str]:
    for name, places in _places(about):
        yield _fact(name, places, FONT)


def _fact(name: str, values: Iterable[Reached], font: str = "") -> str:
    """One below the other, beside the name where there is room."""
    inner = f' style="{font}"' if font else ""
    shown = "".join(f"<div><span{inner}>{exposed(each.path)}</span>{_remark_html(each)}</div>" for each in values)
    return f'<div style="{_FACT}"><div style="{_NAME}">{exposed(name)}</div><div style="{_VALUE}">{shown}</div></div>'


def _rest_html(name: str, text: str) -> str:
    """A few short lines stand beside the name, anything else in a box below it."""
    if len(text) <= _SHORT and text.count("\n") < _FEW:
        return _fact(name, map(Reached, text.split("\n")))
    return f'<div style="color:{GREY}">{escape(name)}</div>{_box(exposed(text), name)}'


def _remark_html(place: Reached) -> str:
    return f' <span style="color:{RED};font-weight:bold">⚠ {escape(place.remark)}</span>' if place.remark else ""


def _parts_text(about: Subject) -> Iterator[tuple[str, str]]:
    yield from _commands(about)
    for place, change in about.changes:
        yield f"Change of {place.text}", unified(change, place.path)
    if words := hidden.warning(about.texts):
        yield "Take care", words
    yield from ((name, "\n".join(place.text for place in places)) for name, places in _places(about))
    yield from about.rest


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip("\n").split("\n"))
