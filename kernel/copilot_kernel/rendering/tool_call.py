"""A tool call: one line that says what and how it went, and its command, changes and output beneath."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..acp.messages import Diff, Location, Terminal, Text, ToolContent
from ..conversation.model import ToolCall
from . import raw
from .attachment import attachment_html, attachment_text
from .diff import Change, parse_unified
from .diff_view import change_of, diff_html, diff_text, remarks
from .highlight import diff_lines
from .markup import GREY, RED, Bundle, bundle, card, code, exposed, fold, lines, muted, named, pre, row
from .output import LONG, SHORT, output_end, output_html, output_text
from .place import place, shown_path
from .plain import unbroken, visible_line, visible_text
from .status import Look, icon_html, look

_QUIET_KINDS = frozenset({"read", "search", "fetch"})
"""Their output is for the agent: folded even when it is short."""
ALARM = "⚠"
_LONGEST_TITLE = 160
"""Characters; a longer title is folded in HTML."""
_FENCED = re.compile(r"\s*(`{3,})[\w.+-]*\n(.*?)\n?\1\s*\Z", re.DOTALL)
_WORDS = re.compile(r"[^\s`'\":,()]+")
_CODE = re.compile(r"`([^`\n]+)`")


def render_tool_call(call: ToolCall, cwd: str = "") -> Bundle:
    """The call as it stands; paths inside `cwd` are shown relative to it."""
    shown = _shown(call, cwd)
    html = card(lines((_headline(shown), *_details(shown))), RED if _is_accused(call) else shown.look.edge)
    return bundle(html, lines(_plain(shown)))


@dataclass(frozen=True, slots=True)
class _Shown:
    """A call and what was found in it."""

    call: ToolCall
    cwd: str
    output: str
    look: Look
    commands: tuple[str, ...]
    changes: tuple[tuple[str, Change], ...]
    """Path and change of each diff."""
    input: str


def _shown(call: ToolCall, cwd: str) -> _Shown:
    output = _output(call)
    exit_code = raw.exit_code(call, output)
    return _Shown(
        call=call,
        cwd=cwd,
        output=output if exit_code is None else raw.without_exit_line(output),
        look=look(call, exit_code),
        commands=raw.commands(call.raw_input),
        changes=tuple(_changes(call, cwd)),
        input=_input(call),
    )


@dataclass(frozen=True, slots=True)
class Brief:
    """A call in short, for a terminal: its title, the commands and files that the title does not name, how it ended."""

    names: tuple[str, ...]
    exit_code: int | None
    output: str
    """The last lines, without those that are for the agent alone."""


def brief(call: ToolCall, cwd: str = "") -> Brief:
    """The call as it stands; paths inside `cwd` are relative to it. Each name is one line."""
    shown = _shown(call, cwd)
    title = visible_line(_title(call))
    commands = (f"$ {command}" for command in map(visible_line, shown.commands) if command not in title)
    places = (place(location, cwd) for location in _unnamed(shown))
    changed = (path for path, _ in shown.changes if path not in _words(shown))
    names = (title, *commands, *map(visible_line, (*places, *changed)))
    return Brief(names, raw.exit_code(call, _output(call)), "" if _is_quiet(call) else output_end(shown.output))


def output_of(call: ToolCall) -> str:
    """What came out of the call, as plain text; empty if nothing did."""
    return _output(call)


def _output(call: ToolCall) -> str:
    """Text among the content, else in the raw output; of a failed call both, for one may hold the reason."""
    texts = [text for part in call.content if (text := _content_text(call, part))]
    if call.status == "failed" or not (texts or _diffs(call)):
        said = raw.output_text(call.raw_output)
        texts += [said] if said and not any(said.strip() in text for text in texts) else []
    return "\n".join(texts) or raw.terminal_text(call.meta)


def _content_text(call: ToolCall, part: ToolContent) -> str:
    match part:
        case Text(text=text):
            fence = _FENCED.match(text)
            return fence[2] if fence and fence[1] not in fence[2] else text
        case Terminal(id, output):
            return output or raw.terminal_text(call.meta, id) or f"(terminal {id}: no output was sent)"
        case _:
            return ""


def _diffs(call: ToolCall) -> list[Diff]:
    return [part for part in call.content if isinstance(part, Diff)]


def _changes(call: ToolCall, cwd: str) -> Iterator[tuple[str, Change]]:
    """Of each diff; without one, what a unified diff in the input says."""
    for diff in _diffs(call):
        yield shown_path(diff.path, cwd), _best_change(call, diff)
    if not _diffs(call) and (change := parse_unified(raw.unified_diff(call.raw_input).strip("\n"))):
        yield ", ".join(shown_path(path, cwd) for path in raw.paths(call)) or "a file", change


def _best_change(call: ToolCall, diff: Diff) -> Change:
    """The agent's own unified diff if it says the same, for that has the numbers of the file."""
    change = change_of(diff)
    for text in (raw.unified_diff(call.raw_input), raw.unified_diff(call.raw_output)):
        theirs = parse_unified(text.strip("\n"))
        if theirs is not None and theirs.same_edit(change):
            return theirs
    return change


def _input(call: ToolCall) -> str:
    """What else the tool was given, but not what the title, the content and the changes say already."""
    texts = [part.text for part in call.content if isinstance(part, Text)]
    left = raw.rest(call.raw_input, {call.title, call.best_title, *texts})
    return "" if not left or _diffs(call) else raw.as_json(left)


def _headline(shown: _Shown) -> str:
    call = shown.call
    places = (_place_html(location, shown.cwd) for location in _unnamed(shown))
    change = remarks(shown.changes[0][1]) if _names_the_change(shown) else ""
    said = (shown.look.html(), _unasked_html(call), named(_decision(shown), f"color:{GREY}"))
    return row(icon_html(call.kind), _title_html(shown), *places, change, *said)


def _place_html(location: Location, cwd: str) -> str:
    return named(place(location, cwd), f"color:{GREY}", visible_line(location.path))


def _unasked_html(call: ToolCall) -> str:
    if call.unasked is None:
        return ""
    colour = f"color:{RED};font-weight:bold" if _is_accused(call) else f"color:{GREY}"
    return named(f"{ALARM} {call.unasked.words}" if _is_accused(call) else call.unasked.words, colour)


def _unasked_text(call: ToolCall) -> str:
    if call.unasked is None:
        return ""
    return f"{ALARM} {visible_line(call.unasked.words)}" if _is_accused(call) else visible_line(call.unasked.words)


def _is_accused(call: ToolCall) -> bool:
    return call.unasked is not None and not call.unasked.covered


def _title(call: ToolCall) -> str:
    return unbroken(call.best_title) or unbroken(call.name) or unbroken(call.kind) or "tool call"


def _title_html(shown: _Shown) -> str:
    if _is_title(shown):
        return code(f"$ {shown.call.best_title}")
    parts = enumerate(_CODE.split(_shortened(_title(shown.call))))
    return "".join(code(part) if index % 2 else named(part, "font-weight:bold") for index, part in parts if part)


def _shortened(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 20]}…"


def _decision(shown: _Shown) -> str:
    """Nothing if that is what the call looks like already."""
    return "" if shown.look.words == unbroken(shown.call.decision) else unbroken(shown.call.decision)


def _names_the_change(shown: _Shown) -> bool:
    """The title names the only file that changes: its counts stand beside it."""
    return len(shown.changes) == 1 and shown.changes[0][0] in _words(shown)


def _words(shown: _Shown) -> list[str]:
    """Of the title, with paths as they are shown."""
    return [shown_path(word, shown.cwd) for word in _WORDS.findall(shown.call.best_title)]


def _is_title(shown: _Shown) -> bool:
    """The only command stands in the title, whole."""
    return shown.commands == (shown.call.best_title,) == (unbroken(shown.call.best_title),)


def _unnamed(shown: _Shown) -> Iterator[Location]:
    """Places that neither the title nor the changes name."""
    call = shown.call
    words = _words(shown)
    lines = {location.path: location for location in call.locations}
    named = {shown.cwd, *(diff.path for diff in _diffs(call))}
    for path in raw.paths(call):
        location = lines.get(path, Location(path))
        is_first = location.line in (None, 0, 1)
        if not (is_first and (path in named or shown_path(path, shown.cwd) in words)):
            yield location


def _details(shown: _Shown) -> Iterator[str]:
    call = shown.call
    if len(_title(call)) > _LONGEST_TITLE and call.best_title not in shown.commands:
        yield fold(muted("whole title"), pre(exposed(call.best_title)))
    if not _is_title(shown):
        yield from (pre(f'<span style="color:{GREY}">$ </span>{exposed(command)}') for command in shown.commands)
    is_named = _names_the_change(shown)
    yield from (diff_html(change, path, is_named) for path, change in shown.changes)
    if not shown.changes and (text := raw.unified_diff(call.raw_input)):
        yield pre(diff_lines(text))
    yield from (attachment_html(part) for part in call.content if not isinstance(part, Text | Diff | Terminal))
    yield from map(attachment_html, raw.attachments(call))
    if shown.input:
        yield fold(muted("input"), pre(exposed(shown.input)))
    yield output_html(shown.output, short=0 if _is_quiet(call) else SHORT)


def _is_quiet(call: ToolCall) -> bool:
    return call.kind in _QUIET_KINDS and call.status == "completed"


def _plain(shown: _Shown) -> Iterator[str]:
    call = shown.call
    places = (visible_line(place(location, shown.cwd)) for location in _unnamed(shown))
    title = visible_text(f"$ {call.best_title}" if _is_title(shown) else _title(call))
    said = (visible_text(shown.look.words), _unasked_text(call), visible_text(_decision(shown)))
    head = " · ".join(filter(None, (title, *places, *said)))
    yield f"{shown.look.mark} {head}"
    if not _is_title(shown):
        yield from (_indented(f"$ {visible_text(command)}") for command in shown.commands)
    yield from (_indented(diff_text(change, path)) for path, change in shown.changes)
    if not shown.changes:
        yield _indented(visible_text(raw.unified_diff(call.raw_input), gaps=False).strip("\n"))
    others = (part for part in call.content if not isinstance(part, Text | Diff | Terminal))
    yield from (_indented(attachment_text(part)) for part in (*others, *raw.attachments(call)))
    yield _indented(output_text(shown.input, SHORT))
    yield _indented(output_text(shown.output, SHORT if _is_quiet(call) else LONG))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n")) if text else ""
