"""A tool call: one line that says what and how it went, and that opens: command, changes, input and output.

Only a call that failed is open from the start. As plain text it is that line alone, with everything if it failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..acp.messages import Block, Diff, Location, TerminalContent, TextBlock
from ..conversation import inputs, raw
from ..conversation.calls import is_of_sub_agent
from ..conversation.changes import ChangedLines
from ..conversation.line_diff import MAX_SHOWN_LINES, Change, parse_unified
from ..conversation.model import ToolCall
from ..system.drives import shown_path
from .attachment import attachment
from .diff import amount, diff_html, diff_text, remarks
from .highlight import diff_lines, language_of
from .markup import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    INDENT,
    LINE,
    RED,
    Shown,
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
    with_code,
)
from .output import SHORT, end_of, output_html, output_text
from .own_tools import is_own_read, own_tool, sentence
from .plain import quoted, unbroken, visible_line, visible_text
from .subject import change_of

LOOKUPS = {"read": "read {} file{}", "search": "searched {} time{}", "fetch": "fetched {} page{}"}
"""Kinds whose output is for the agent, and how several are counted."""
FAILED_TAIL = 5
"""Lines of long output in view, of a call that failed or still runs."""
A_FILE = "a file"
"""Words in place of a path that is not known."""
OF_TASK = "  ↳ "
"""Mark before a call of a sub-agent, in text: it belongs to a task."""
# A longer title is folded in HTML.
_MAX_TITLE_CHARS = 160
_WORDS = re.compile(r"[^\s`'\":,()]+")
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
    """Look of a status. `edge` is the colour of the line beside the card: it stands out only where it should."""

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


class Row(dict[str, Any]):
    """The bundle of a call. `changed` are the files that it changes: they are not worked out again for a summary."""

    changed: Sequence[ChangedLines] = ()


class _CallView:
    """A call and what was found in it; paths inside `cwd` are relative to it."""

    def __init__(self, call: ToolCall, cwd: str) -> None:
        self.call, self.cwd, self.is_ours = call, cwd, inputs.is_of_notebook(call)
        output, commands, tool = raw.output_of(call), inputs.commands(call.raw_input), inputs.mcp_tool(call)
        self.exit_code = raw.exit_code(call, output)
        self.output = output if self.exit_code is None else raw.without_exit_line(output)
        if self.output and raw.is_growing(call):
            self.output = end_of(self.output)
        self.look = _look(call, self.exit_code)
        has_failed = self.look.colour == RED and call.status != "rejected"
        self.is_open = has_failed or (call.status == "in_progress" and bool(self.output))
        # The only command, if it is one line, stands in the place of the title, unless that names an MCP server.
        only = commands[0] if len(commands) == 1 and not tool else ""
        self.command = only if "\n" not in only.strip() and len(only) <= _MAX_TITLE_CHARS else ""
        self.commands = () if self.command else commands
        # Of the title, with paths as they are shown.
        self.words = [shown_path(word, cwd) for word in _WORDS.findall(call.best_title)]
        self.changes = tuple(_changes(call, cwd))
        is_named = self.is_ours or any(path in self.words for path, _ in self.changes)
        is_other = is_named or commands or tool or own_tool(call)
        # The only file that changes, which the title does not name, stands in the place of the title.
        path, change = self.changes[0] if len(self.changes) == 1 else ("", None)
        self.path = "" if is_other or path == A_FILE else path
        self.change = change if is_named or self.path else None
        """The only change, if what stands above names its file or cell: its counts stand beside it."""
        title = _WORDS.sub(lambda word: shown_path(word[0], cwd), sentence(call) or unbroken(inputs.title(call)))
        self.title = title or unbroken(call.name) or unbroken(call.kind) or "tool call"

    @property
    def decision(self) -> str:
        """Empty if the status says it already."""
        decision = unbroken(self.call.decision)
        return "" if self.look.words == decision else decision

    @property
    def accusation(self) -> str:
        """The colour of a call that went on without a question, though nothing of the user's covers it; else empty."""
        is_accused = self.call.unasked is not None and not self.call.unasked.covered
        return (RED if self.decision else AMBER) * is_accused  # red is for what was refused or has failed

    def places(self) -> Iterator[Shown]:
        """Return places that neither the title nor the changes name; not the notebook in which this is shown."""
        known = {location.path: location for location in self.call.locations}
        named_paths = {self.cwd, *(diff.path for diff in _diffs(self.call))}
        for path in () if self.is_ours or own_tool(self.call) else inputs.paths(self.call):
            shown, line = shown_path(path, self.cwd), known.get(path, Location(path)).line
            if not ((path in named_paths or shown in self.words) and line in (None, 0, 1)):
                place = shown if line is None else f"{shown}:{line}"
                yield Shown(named(place, f"color:{GREY}", visible_line(path)), visible_line(place))


def render_tool_call(call: ToolCall, cwd: str = "") -> Row:
    """The call as it stands; paths inside `cwd` are shown relative to it."""
    view = _CallView(call, cwd)
    headline, details, attached = _headline(view), tuple(_details(view)), tuple(map(attachment, attachments(call)))
    folded = lines(part.html for part in details)
    opened = fold(headline.html, folded, is_open=view.is_open) if folded else f"<div>{headline.html}</div>"
    shown = lines((opened, *(part.html for part in attached)))
    text = lines((headline.text, *(_indented(part.text) for part in (*attached, *details))))
    style = INDENT if is_of_sub_agent(call) else ""
    text = f"{OF_TASK}{_indented(text).lstrip()}" if style else text
    made = Row(bundle(card(shown, view.accusation or view.look.edge, style=style), text))
    changed = [ChangedLines(path, change.count("+"), change.count("-")) for path, change in view.changes]
    named_alone = inputs.paths(call) if call.kind == "edit" and not changed else ()
    made.changed = [*changed, *(ChangedLines(shown_path(path, cwd)) for path in named_alone)]
    return made


def languages_of(call: ToolCall) -> set[str]:
    """Return the languages of its changes, as far as they are known: to draw them needs their lexers."""
    diffs = [diff.path for diff in _diffs(call)]
    paths = diffs or (inputs.paths(call) if raw.unified_diff(call.raw_input) else ())
    return {language for path in paths if (language := language_of(path))}


def _look(call: ToolCall, exit_code: int | None) -> StatusLook:
    """Return the look of a call. Some agents call a failed command completed: its exit code decides."""
    look = _STATUSES.get(call.status, StatusLook("•", unbroken(call.status), GREY, LINE))
    decision, is_completed = unbroken(call.decision), call.status == "completed"
    if decision.lower().startswith((look.words, "not run")):  # it says more than the status
        return replace(look, words=decision)
    if exit_code is None or (is_completed and exit_code == 0):
        return look
    words = f"exit {exit_code}" if is_completed else f"{look.words}, exit {exit_code}"
    return StatusLook("✗", words, RED, RED) if exit_code else replace(look, words=words)


def _diffs(call: ToolCall) -> list[Diff]:
    return [part for part in call.content if isinstance(part, Diff)]


def _changes(call: ToolCall, cwd: str) -> Iterator[tuple[str, Change]]:
    """Return the change of each diff; without one, from a unified diff in the input."""
    diffs = _diffs(call)
    yield from ((shown_path(diff.path, cwd), change_of(call, diff, MAX_SHOWN_LINES)) for diff in diffs)
    if not diffs and (diff := raw.unified_diff(call.raw_input)) and (change := parse_unified(diff)):
        yield ", ".join(shown_path(path, cwd) for path in inputs.paths(call)) or A_FILE, change


def _headline(view: _CallView) -> Shown:
    call, look, grey = view.call, view.look, f"color:{GREY}"
    kind = escape("read" if is_own_read(call) else call.kind)
    icon = f'<span role="img" title="{kind}" aria-label="{kind}">{_ICONS.get(kind, "•")}</span>'
    is_done, unasked = look.colour == GREEN, call.unasked.words if call.unasked else ""
    said = f"{look.mark} {look.words}" if not is_done else "✓" if view.exit_code == 0 else ""
    warning = f"{'⚠ ' * bool(view.accusation)}{unasked}"
    parts = (
        _title(view),
        *view.places(),
        Shown(remarks(view.change), amount(view.change)) if view.change else Shown(),
        Shown(with_code(said, f"color:{look.colour}"), "" if is_done else visible_text(quoted(look.words))),
        Shown(with_code(warning, f"color:{view.accusation or GREY}"), visible_line(quoted(warning))),
        Shown(with_code(view.decision, grey), visible_text(quoted(view.decision))),
    )
    text = " · ".join(part.text for part in parts if part.text)
    return Shown(" ".join(filter(None, (icon, *(part.html for part in parts)))), f"{look.mark} {text}")


def _title(view: _CallView) -> Shown:
    call, title, bold = view.call, view.title, "font-weight:bold"
    if view.path:
        is_there = view.look.colour == GREEN and view.change and view.change.what != "deleted"
        link = file_link(view.path, view.cwd if is_there else "")
        return Shown(f'<span style="{bold}">{link}</span>', visible_text(view.path))
    if view.command:
        given = unbroken(inputs.title(call))
        is_said = view.command in given or given in (call.name, call.kind, "")
        prompt = "" if call.kind == "execute" else "$ "  # the row's own mark is one
        shown = (code(f"{prompt}{view.command}"), "" if is_said else muted(title))
        return Shown(" ".join(filter(None, shown)), visible_text(f"$ {view.command}{f' · {title}' * (not is_said)}"))
    short = f"{title[: _MAX_TITLE_CHARS - 20]}…" if len(title) > _MAX_TITLE_CHARS else title
    is_name = view.change and not view.is_ours
    return Shown(named(short, bold) if is_name else with_code(short, bold), visible_text(title))


def _details(view: _CallView) -> Iterator[Shown]:
    """Return the details. As text, a call that is not open shows only what its line does not name."""
    call, is_open, given = view.call, view.is_open, _input(view.call)
    if view.path:
        yield Shown(row(muted("The agent's title:"), exposed(call.best_title or call.name)))
    elif len(view.title) > _MAX_TITLE_CHARS and call.best_title not in view.commands:
        yield Shown(fold(muted("whole title"), pre(exposed(call.best_title))))
    for command in view.commands:
        html = pre(f'<span style="color:{GREY}">$ </span>{exposed(command)}')
        yield Shown(html, f"$ {visible_text(command) if is_open else visible_line(command)}")
    folder = view.cwd if _diffs(call) and not view.is_ours else ""  # other changes may be headed by several paths
    for path, change in view.changes:
        brief = "" if view.change else f"{visible_line(path)} {amount(change)}"
        html = diff_html(change, path, view.change is not None, folder)
        yield Shown(html, diff_text(change, path) if is_open else brief)
    if not view.changes and (diff := raw.unified_diff(call.raw_input)):
        yield Shown(pre(diff_lines(diff)), visible_text(diff, gaps=False).strip("\n") if is_open else "")
    yield Shown(
        fold(muted("input"), pre(exposed(given))) if given else "", output_text(given, SHORT) if is_open else ""
    )
    if view.output:
        html = output_html(view.output, name="source" if view.is_ours else "output", tail=FAILED_TAIL if is_open else 0)
        yield Shown(html, output_text(view.output) if is_open else "")


def attachments(call: ToolCall) -> list[Block]:
    """Return the content that is shown beneath the row."""
    others = [part for part in call.content if not isinstance(part, TextBlock | Diff | TerminalContent)]
    return [*others, *raw.attachments(call)]


def _input(call: ToolCall) -> str:
    """Return what else the tool was given, unless the title, the content or the changes say it already."""
    texts = [part.text for part in call.content if isinstance(part, TextBlock)]
    left = raw.rest(call.raw_input, {call.title, call.best_title, *texts})
    return "" if not left or _diffs(call) or inputs.is_of_notebook(call) else raw.as_json(left)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.split("\n")) if text else ""
