"""A tool call: one line that says what and how it went, and that opens: command, changes, input and output.

Only a call that failed is open from the start. As plain text it is that line alone, with everything if it failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..acp.messages import Block, Diff, Location, TerminalContent, TextBlock, ToolContent
from ..conversation.calls import is_of_sub_agent
from ..conversation.model import ToolCall
from ..mcp_config import OWN_SERVER
from ..permissions import inputs
from ..permissions.drives import below
from . import raw
from .attachment import attachment_html, attachment_text
from .diff import MAX_SHOWN_LINES, Change, amount, diff_html, diff_text, parse_unified, remarks
from .highlight import diff_lines, language_of
from .markup import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    INDENT,
    LINE,
    RED,
    bundle,
    card,
    code,
    escape,
    exposed,
    file_link,
    fold,
    lines,
    muted,
    named,
    pre,
    row,
)
from .output import SHORT, output_html, output_text
from .own_tools import RUN_PYTHON, is_own_read, own_tool, sentence
from .plain import unbroken, visible_line, visible_text
from .subject import change_of, unfenced

LOOKUPS = {"read": "read {} file{}", "search": "searched {} time{}", "fetch": "fetched {} page{}"}
"""Kinds whose output is for the agent, and how several are counted."""
FAILED_TAIL = 5
"""Lines of long output in view, of a call that failed or still runs."""
# What it runs is in no cell; what our other tools change and run is shown in the notebook.
_RUN_PYTHON = f"mcp__{OWN_SERVER}__{RUN_PYTHON}"
A_FILE = "a file"
"""In place of a path that is not known."""
OF_TASK = "  ↳ "
"""Before a call of a sub-agent, in text: it belongs to a task."""
# A longer title is folded in HTML.
_MAX_TITLE_CHARS = 160
_WORDS = re.compile(r"[^\s`'\":,()]+")
_CODE = re.compile(r"`([^`\n]+)`")
_ICONS = {
    "read": "≡",
    "edit": "✎",
    "delete": "✕",
    "move": "→",
    "search": "⌕",
    "execute": "❯",
    "think": "∴",
    "fetch": "↓",
    "switch_mode": "⇄",
}


@dataclass(frozen=True, slots=True)
class StatusLook:
    """How a status is shown. `edge` is the colour of the line beside the card: it stands out only where it should."""

    mark: str
    words: str
    colour: str
    edge: str


_STATUSES = {
    "pending": StatusLook("○", "pending", GREY, LINE),
    "waiting": StatusLook("◌", "waiting for your answer", AMBER, AMBER),
    "in_progress": StatusLook("◐", "running", BLUE, BLUE),
    "completed": StatusLook("✓", "done", GREEN, LINE),
    "failed": StatusLook("✗", "failed", RED, RED),
    "rejected": StatusLook("⊘", "denied", RED, RED),
    "cancelled": StatusLook("■", "cancelled", GREY, LINE),
}


class ChangedLines(NamedTuple):
    """How many lines of a file change."""

    path: str
    added: int = 0
    removed: int = 0


class Row(dict[str, Any]):
    """The bundle of a call. `changed` are the files that it changes: they are not worked out again for a summary."""

    changed: Sequence[ChangedLines] = ()


class _CallView:
    """A call and what was found in it; paths inside `cwd` are relative to it."""

    def __init__(self, call: ToolCall, cwd: str) -> None:
        self.call, self.cwd = call, cwd
        output, commands, tool = output_of(call), inputs.commands(call.raw_input), own_tool(call)
        title = sentence(call) or unbroken(inputs.title(call))
        self.exit_code = raw.exit_code(call, output)
        self.output = output if self.exit_code is None else raw.without_exit_line(output)
        self.title = _with_shown_paths(title, cwd) or unbroken(call.name) or unbroken(call.kind) or "tool call"
        # The only command, if it is one line: it stands in the place of the title, unless that names an MCP server.
        is_command = len(commands) == 1 and _is_line(commands[0]) and not inputs.mcp_tool(call)
        self.command = commands[0] if is_command else ""
        # The title says nothing beside it.
        self.title_is_command = bool(self.command) and (self.command in title or title in (call.name, call.kind, ""))
        self.commands = () if self.command else commands
        self.changes = tuple(_changes(call, cwd))
        # Of the title, with paths as they are shown.
        self.words = [shown_path(word, cwd) for word in _WORDS.findall(call.best_title)]
        # The title names the only file or cell that changes: its counts stand beside it.
        self.is_ours = inputs.is_of_notebook(call)
        is_named = self.is_ours or any(path in self.words for path, _ in self.changes)
        # The only file that changes, which the title does not name: it stands in the place of the title.
        is_only = len(self.changes) == 1 and not (is_named or commands or tool or inputs.mcp_tool(call))
        self.path = self.changes[0][0] if is_only and self.changes[0][0] != A_FILE else ""
        self.title = self.path or self.title
        self.names_change = len(self.changes) == 1 and (is_named or self.path != "")
        is_shown_elsewhere = tool or (self.is_ours and call.name != _RUN_PYTHON)
        self.is_quiet = (is_shown_elsewhere or call.kind in LOOKUPS) and call.status == "completed"
        self.look = _look(call, self.exit_code)
        self.is_done, has_failed = self.look.colour == GREEN, self.look.colour == RED and call.status != "rejected"
        # What runs shows its output as it comes.
        self.is_open = has_failed or (call.status == "in_progress" and bool(self.output))
        # Nothing if the status says it already.
        decision = unbroken(call.decision)
        self.decision = "" if self.look.words == decision else decision
        # It went on without a question, and nothing of the user's covers it.
        self.is_accused = call.unasked is not None and not call.unasked.covered
        self.unasked = f"{'⚠ ' * self.is_accused}{call.unasked.words}" if call.unasked else ""
        # Red is for what was refused or has failed.
        self.warning = RED if self.decision else AMBER

    def unnamed_places(self) -> Iterator[Location]:
        """Places that neither the title nor the changes name; not the notebook in which this is shown."""
        if inputs.is_of_notebook(self.call) or own_tool(self.call):
            return
        known = {location.path: location for location in self.call.locations}
        named_paths = {self.cwd, *(diff.path for diff in _diffs(self.call))}
        for path in inputs.paths(self.call):
            location = known.get(path, Location(path))
            is_named = path in named_paths or shown_path(path, self.cwd) in self.words
            if not (is_named and location.line in (None, 0, 1)):
                yield location


def render_tool_call(call: ToolCall, cwd: str = "") -> Row:
    """The call as it stands; paths inside `cwd` are shown relative to it."""
    view = _CallView(call, cwd)
    headline, details = _headline(view), lines(_details(view))
    opened = fold(headline, details, is_open=view.is_open) if details else f"<div>{headline}</div>"
    shown = lines((opened, *map(attachment_html, attachments(call))))
    edge = view.warning if view.is_accused else view.look.edge
    style = INDENT if is_of_sub_agent(call) else ""
    text = lines(_plain(view))
    made = Row(bundle(card(shown, edge, style=style), f"{OF_TASK}{_indented(text).lstrip()}" if style else text))
    changed = [ChangedLines(path, change.count("+"), change.count("-")) for path, change in view.changes]
    named_alone = inputs.paths(call) if call.kind == "edit" and not changed else ()
    made.changed = [*changed, *(ChangedLines(shown_path(path, cwd)) for path in named_alone)]
    return made


def languages_of(call: ToolCall) -> set[str]:
    """Those of its changes, as far as they are known: to draw them needs their lexers."""
    diffs = [diff.path for diff in _diffs(call)]
    paths = diffs or (inputs.paths(call) if raw.unified_diff(call.raw_input) else ())
    return {language for path in paths if (language := language_of(path))}


def output_of(call: ToolCall) -> str:
    """The call's output as plain text: from its content, else from the raw output; of a failed call, from both."""
    texts = [text for part in call.content if (text := _content_text(call, part))]
    if call.status == "failed" or not (texts or _diffs(call)):
        output = raw.output_text(call.raw_output)
        if output and not any(output.strip() in text for text in texts):
            texts.append(output)
    return "\n".join(texts) or raw.terminal_text(call.meta)


def _look(call: ToolCall, exit_code: int | None) -> StatusLook:
    """Some agents call a command completed that failed: its exit code decides what it looks like."""
    look = _STATUSES.get(call.status, StatusLook("•", unbroken(call.status), GREY, LINE))
    decision, is_completed = unbroken(call.decision), call.status == "completed"
    if decision.lower().startswith((look.words, "not run")):  # it says more than the status
        return replace(look, words=decision)
    if exit_code is None or (is_completed and exit_code == 0):
        return look
    words = f"exit {exit_code}" if is_completed else f"{look.words}, exit {exit_code}"
    return StatusLook("✗", words, RED, RED) if exit_code else replace(look, words=words)


def _content_text(call: ToolCall, part: ToolContent) -> str:
    match part:
        case TextBlock(text=text):
            return unfenced(text) or text
        case TerminalContent(id):
            return raw.terminal_text(call.meta, id) or f"(terminal {id}: no output was sent)"
        case _:
            return ""


def _diffs(call: ToolCall) -> list[Diff]:
    return [part for part in call.content if isinstance(part, Diff)]


def _changes(call: ToolCall, cwd: str) -> Iterator[tuple[str, Change]]:
    """Of each diff; without one, from a unified diff in the input."""
    diffs = _diffs(call)
    yield from ((shown_path(diff.path, cwd), change_of(call, diff, MAX_SHOWN_LINES)) for diff in diffs)
    if not diffs and (change := parse_unified(raw.unified_diff(call.raw_input))):
        yield ", ".join(shown_path(path, cwd) for path in inputs.paths(call)) or A_FILE, change


def shown_path(path: str, cwd: str) -> str:
    """`path` relative to `cwd` if it lies inside as it is written; any other, also one with `..`, stays whole."""
    return below(path, cwd) or path


def _is_line(command: str) -> bool:
    return "\n" not in command.strip() and len(command) <= _MAX_TITLE_CHARS


def _with_shown_paths(title: str, cwd: str) -> str:
    return _WORDS.sub(lambda word: shown_path(word[0], cwd), title)


def _place(location: Location, cwd: str) -> str:
    path = shown_path(location.path, cwd)
    return f"{path}:{location.line}" if location.line is not None else path


def _headline(view: _CallView) -> str:
    kind, grey = escape("read" if is_own_read(view.call) else view.call.kind), f"color:{GREY}"
    icon = f'<span role="img" title="{kind}" aria-label="{kind}">{_ICONS.get(kind, "•")}</span>'
    places = (
        named(_place(location, view.cwd), grey, visible_line(location.path)) for location in view.unnamed_places()
    )
    change = remarks(view.changes[0][1]) if view.names_change else ""
    mark = f"{view.look.mark} {view.look.words}" if not view.is_done else "✓" if view.exit_code == 0 else ""
    status = _with_code(mark, f"color:{view.look.colour}")
    unasked = _with_code(view.unasked, f"color:{view.warning}" if view.is_accused else grey)
    parts = (
        icon,
        _title_html(view),
        *places,
        change,
        status,
        unasked,
        _with_code(view.decision, grey),
    )
    return " ".join(filter(None, parts))


def _title_html(view: _CallView) -> str:
    title = view.title
    if view.path:
        is_there = view.is_done and view.changes[0][1].what != "deleted"
        return f'<span style="font-weight:bold">{file_link(view.path, view.cwd if is_there else "")}</span>'
    if view.command:
        prompt = "" if view.call.kind == "execute" else "$ "  # the row's own mark is one
        return " ".join(filter(None, (code(f"{prompt}{view.command}"), "" if view.title_is_command else muted(title))))
    if len(title) > _MAX_TITLE_CHARS:
        title = f"{title[: _MAX_TITLE_CHARS - 20]}…"
    if view.names_change and not view.is_ours:
        return named(title, "font-weight:bold")
    return _with_code(title, "font-weight:bold")


def _with_code(text: str, style: str) -> str:
    """`text` in our own `style`, with what stands between backticks as code; empty for empty text."""
    parts = enumerate(_CODE.split(text))
    return "".join(code(part) if index % 2 else named(part, style) for index, part in parts if part)


def _details(view: _CallView) -> Iterator[str]:
    call = view.call
    if view.path:
        yield row(muted("The agent's title:"), exposed(call.best_title or call.name))
    elif len(view.title) > _MAX_TITLE_CHARS and call.best_title not in view.commands:
        yield fold(muted("whole title"), pre(exposed(call.best_title)))
    yield from (pre(f'<span style="color:{GREY}">$ </span>{exposed(command)}') for command in view.commands)
    folder = view.cwd if _diffs(call) and not view.is_ours else ""  # other changes may be headed by several paths
    yield from (diff_html(change, path, view.names_change, folder) for path, change in view.changes)
    if not view.changes and (text := raw.unified_diff(call.raw_input)):
        yield pre(diff_lines(text))
    if shown := _input(call):
        yield fold(muted("input"), pre(exposed(shown)))
    yield output_html(view.output, name="source" if view.is_ours else "output", tail=FAILED_TAIL if view.is_open else 0)


def _plain(view: _CallView) -> Iterator[str]:
    """One line, with the commands and files that it does not name; of a call that failed or still runs, everything."""
    call = view.call
    places = (visible_line(_place(location, view.cwd)) for location in view.unnamed_places())
    facts = (
        f"$ {visible_text(view.command)}" if view.command else "",
        "" if view.title_is_command else visible_text(view.title),
        *places,
        amount(view.changes[0][1]) if view.names_change else "",
        "" if view.is_done else visible_text(view.look.words),
        visible_line(view.unasked),
        visible_text(view.decision),
    )
    yield f"{view.look.mark} {' · '.join(filter(None, facts))}"
    yield from (_indented(attachment_text(part)) for part in attachments(call))
    if not view.is_open:
        yield from (_indented(f"$ {visible_line(command)}") for command in view.commands)
        if not view.names_change:
            yield from (_indented(f"{visible_line(path)} {amount(change)}") for path, change in view.changes)
        return
    yield from (_indented(f"$ {visible_text(command)}") for command in view.commands)
    yield from (_indented(diff_text(change, path)) for path, change in view.changes)
    if not view.changes:
        yield _indented(visible_text(raw.unified_diff(call.raw_input), gaps=False).strip("\n"))
    yield _indented(output_text(_input(call), SHORT))
    yield _indented(output_text(view.output))


def attachments(call: ToolCall) -> list[Block]:
    """What of its content is shown beneath the row."""
    others = [part for part in call.content if not isinstance(part, TextBlock | Diff | TerminalContent)]
    return [*others, *raw.attachments(call)]


def _input(call: ToolCall) -> str:
    """What else the tool was given, unless the title, the content or the changes say it already."""
    texts = [part.text for part in call.content if isinstance(part, TextBlock)]
    left = raw.rest(call.raw_input, {call.title, call.best_title, *texts})
    return "" if not left or _diffs(call) or inputs.is_of_notebook(call) else raw.as_json(left)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n")) if text else ""
