"""A permission request as a person must see it to decide: all of it, with nothing hidden in it.

It is found once, as parts, and printed as HTML and as text. In HTML, what is out of the ordinary is in view, and the
rest is folded. What is long says how much more there is. `typed_answer` has how it is answered without buttons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ..conversation.line_diff import Change
from ..conversation.text import split_lines
from ..permissions.question import Question
from .diff import change_html, folded_lines, named_change, remarks, unified
from .highlight import exposed_code, language_of
from .markup import (
    AMBER,
    ASKED,
    FONT,
    GREY,
    RED,
    Bundle,
    bundle,
    card,
    exposed,
    file_link,
    fold,
    lines,
    muted,
    pre,
    row,
    span,
    without_buttons,
)
from .permission_options import STANDING, WHY, agents_words, is_for_a_reason, label, remembered
from .plain import hidden_warning, quoted, visible_line, visible_text
from .subject import SUBFOLDER, LocatedPath, remarks_on, subject

OPEN = "This question was open when the notebook was saved."
"""Shown without its buttons: to readers of a saved notebook."""
DECIDED = f"{OPEN} %permissions shows the decision."
"""The same of a permission request."""
NO_BUTTONS = "(Buttons appear here while the kernel that asked is running and Jupyter can show widgets.)"
"""Shown in place of the buttons where they cannot be drawn."""
_HEADS = {
    "read": "Read this?",
    "edit": "Change this file?",
    "delete": "Delete this?",
    "move": "Move this?",
    "search": "Run this search?",
    "execute": "Run this command?",
    "think": "Let the agent think about this?",
    "fetch": "Fetch this from the network?",
    "switch_mode": "Let the agent switch its mode?",
    "other": "Use this tool?",
}
AGENTS_WORDS = "The agent's words"
_VERBS = {"new file": "Create", "deleted": "Delete"}
_FOLDED_REST = ("Also called", "The agent says", "Terminal output", "Input")
"""Facts beside a command or a change that are folded."""
_MARK = span("?", f"color:{AMBER};font-weight:bold")
_IN_GIT = {True: "Git tracks it.", False: "Not in Git.", None: ""}
"""Remarks on a file that goes."""
_BOX = "overflow-wrap:anywhere;word-break:normal;font-size:14px;line-height:1.5"
_MAX_LINES, _MAX_CHARS = 12, 2_000
"""Limits of a command or code; the rest is folded."""
_HALF_LINE = 95
_MAX_INLINE_CHARS, _MAX_INLINE_LINES = 400, 6
_FACT = "display:flex;flex-wrap:wrap;margin:2px 0"
_NAME = f"flex:0 0 150px;color:{GREY}"
_VALUE = "flex:1 1 260px;min-width:0;overflow-wrap:anywhere"


class Part(NamedTuple):
    """Something that a question shows, as HTML in view or under *Details*, and as text under its name.

    There is no text of what the reader of the text knows already.
    """

    name: str
    text: str
    html: str
    in_view: bool = True


class QuestionView:
    """View of `question`: found once, and printed as HTML and as text. `root` is the project's folder."""

    def __init__(self, question: Question, root: str = "") -> None:
        self.question, self.root = question, root
        self.subject = about = subject(question, root)
        self.why = quoted(question.why)
        if self.is_alarming:  # then no answer may allow more than this call
            left = tuple(option for option in question.options if option.kind != "allow_always")
            self.question = replace(question, options=left, offers=())
        self.title = "" if about.is_evident else about.title
        is_other = about.commands or about.is_of_notebook or about.mcp_tool
        is_of_file = about.kind in ("edit", "delete") and len(about.changes) == 1 and not is_other
        self.file = about.changes[0] if is_of_file else None
        """The only file, and its change, if the question is about nothing else."""

    @property
    def head(self) -> tuple[str, str]:
        """The question in bold, and the agent's title where the question does not say what it is about."""
        about, kind = self.subject, self.subject.kind
        if about.head or about.is_of_notebook:
            return about.head or f"{about.title}?", ""
        if about.mcp_tool:
            server, tool = about.mcp_tool
            return f"Use the tool {tool} of “{server}”?", "" if about.is_titled_by_tool else self.title
        if kind == "think" and any(name == "Questions" for name, _ in about.rest):
            return "The agent has questions:", about.title
        if len(about.commands) > 1:
            return f"Run these {len(about.commands)} commands?", ""
        if self.file:
            return f"{self._verb(self.file[1])} {self._short(self.file[0])}?", ""
        if about.changes and kind == "edit":
            return f"Change {len(about.changes)} files?", ""
        if about.paths and kind == "delete" and self.title:
            named = self._short(about.paths[0]) if len(about.paths) == 1 else f"{len(about.paths)} files"
            return f"Delete {named}?", "" if self.title in f"Delete {named}?" else self.title
        return _HEADS.get(kind, f"Allow this ({kind})?"), self.title

    def _verb(self, change: Change) -> str:
        return "Delete" if self.subject.kind == "delete" else _VERBS.get(change.what, "Change")

    @cached_property
    def html(self) -> str:
        """All of it as HTML, without buttons; nothing is cut."""
        head, title = self.head
        amounts, shown = "", exposed(head)
        if self.file:
            place, change = self.file
            amounts, shown = remarks(change, is_named=True), f"{self._verb(change)} {file_link(place.path, self.root)}?"
        bold = f'<span style="font-weight:bold">{shown}</span>'
        in_view, folded = (lines(part.html for part in self._parts if part.in_view == each) for each in (True, False))
        details = fold(muted("Details"), folded) if folded else ""
        return card(lines((row(_MARK, bold, exposed(title), amounts), in_view, details)), AMBER, ASKED)

    @cached_property
    def text(self) -> str:
        """All of it for a terminal."""
        about, (head, _) = self.subject, self.head
        is_said = about.head or about.is_titled_by_tool or about.title in (*about.commands, head.removesuffix("?"))
        shown = [visible_text(head if is_said else f"{head} {about.title}")]
        for part in self._parts:
            if part.text:
                body = visible_text(part.text).rstrip("\n").replace("\n", "\n  ")
                shown.append(f"{visible_text(part.name)}:\n  {body}")
        return lines(shown)

    @property
    def bundle(self) -> Bundle:
        """The question without its buttons, as it is kept in a notebook."""
        return bundle(self.html + without_buttons(muted(DECIDED)), f"{self.text}\n{DECIDED}")

    @property
    def headline(self) -> str:
        """The question and what it is about on one line, such as `Run this command? ls -l`."""
        head, title = self.head
        gist = title if self.subject.mcp_tool else self.about
        return visible_line(head if gist in head else f"{head} {gist}")

    @property
    def folded_amount(self) -> str:
        """Say how much an answer is about if a part of it is folded, such as `all 41 changed lines`; else empty."""
        about, changes = self.subject, [change for _, change in self.subject.changes]
        if any(map(folded_lines, changes)):
            return f"all {sum(change.count('+') + change.count('-') for change in changes)} changed lines"
        texts = (*about.commands, *about.code, *(about.deletes or ())[:1])
        if not any(_split(text)[1] for text in texts):
            return ""
        count = sum(map(_line_count, texts))
        return f"all {count} lines" if count > 1 else f"all {sum(map(len, texts))} characters"

    @property
    def languages(self) -> set[str]:
        """Languages of its changes, commands and code: to draw them needs lexers."""
        others = {"bash": self.subject.commands, "python": self.subject.code}
        of_changes = (language_of(place.path) for place, _ in self.subject.changes)
        return {*filter(None, of_changes), *(language for language, texts in others.items() if texts)}

    @property
    def is_alarming(self) -> bool:
        """True if something is out of the ordinary, as the warnings say: it is never always allowed."""
        places = (*self.subject.paths, *filter(None, [self.subject.folder]))
        return any(place.remark not in ("", SUBFOLDER) for place in places) or any(self._warnings)

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """Everything but the head, in the order in which it is read."""
        warnings = (_warning(colour, line) for colour, line in self._warnings)
        reach = Part("Reach", self.question.sandbox, muted(self.question.sandbox))
        return (*self._asked(), *self._facts(), *warnings, reach, *self._reasons())

    @property
    def _warnings(self) -> Iterator[tuple[str, str]]:
        """Return what is out of the ordinary: colour and words. In text, all but the red is beside its subject."""
        about, question = self.subject, self.question
        if hidden := hidden_warning(about.texts):
            yield RED, hidden
        places = (*(place for place, _ in about.changes), *(about.paths if about.is_evident else ()))
        marked = (f"{place.remark.capitalize()}: {place.path}" for place in dict.fromkeys(places) if place.remark)
        more = (*marked, *remarks_on(about.commands), "" if question.is_routine else self.why)
        yield from ((AMBER, line) for line in more if line)

    @property
    def about(self) -> str:
        """Say on one line what an answer allows: what runs, the files that change, or else the agent's title.

        The middle of a long line is left out: this names a button or a question, and does not replace it.
        """
        about = self.subject
        files = () if about.is_of_notebook else (self._short(place) for place, _ in about.changes)
        gist = "; ".join(about.commands) or ", ".join(files) or about.title
        line = visible_line(about.full_title if about.mcp_tool else gist)
        return line if len(line) <= 2 * _HALF_LINE else f"{line[:_HALF_LINE]} … {line[-_HALF_LINE:]}"

    def _short(self, place: LocatedPath) -> str:
        """Return a path as it is called in the project."""
        return place.path.removeprefix(f"{self.root.rstrip('/')}/" if self.root and not place.remark else "")

    def _asked(self) -> Iterator[Part]:
        """Return what runs, goes or changes."""
        about, count = self.subject, len(self.subject.commands)
        for number, command in enumerate(about.commands, 1):
            size = f", {_line_count(command)} lines" if _line_count(command) > 1 else ""
            name = f"Command{f' {number} of {count}' * (count > 1)}{size}"
            yield Part(name, command, row(muted(name)) * (count > 1) + _box(command, "bash"))
        yield from (Part("Code", code, _box(code, "python")) for code in about.code)
        if about.deletes:
            text, is_tracked = about.deletes
            yield Part("Content", text, _box(text, "") + muted(_IN_GIT[is_tracked]) if text else "")
        is_named = self.file or about.is_of_notebook
        for place, change in about.changes:
            head = "" if is_named else named_change(change, place.path, self.root)
            html = head + change_html(change, place.path)
            yield Part(f"Change to {place.text}", unified(change, place.path), html)

    def _facts(self) -> Iterator[Part]:
        about, is_evident = self.subject, self.subject.is_evident
        if is_evident and about.title not in about.commands and not about.head:
            yield _fact("The agent's title", LocatedPath(about.title), in_view=False)._replace(text="")
        if self.file:
            yield _fact("File", self.file[0], font=FONT, in_view=False)._replace(text="")
        if about.folder:
            yield _fact("Folder", about.folder, font=FONT, in_view=about.folder.remark != "")
        if about.paths:
            yield _fact(f"Path{'s' * (len(about.paths) > 1)}", *about.paths, font=FONT, in_view=not is_evident)
        for name, text in about.rest:
            yield _text_fact(name, text, in_view=not (is_evident and name in _FOLDED_REST))

    def _reasons(self) -> Iterator[Part]:
        """Why the user is asked, what would allow it, and what the agent makes of an answer that it remembers."""
        question, options = self.question, self.question.options
        rules = list(map(LocatedPath, question.rules))
        if self.why:
            yield _text_fact("Why you are asked", self.why)
        if rules:
            yield _fact(f"Rule{'s' * (len(rules) > 1)} that would allow this", *rules, font=FONT, in_view=False)
        for option in options:
            if option.kind in STANDING:
                yield _text_fact(label(question, option), remembered(question, option))
        if named := [
            f"{WHY if is_for_a_reason(option, options) else label(question, option)}: {words}"
            for option in options
            if (words := agents_words(question, option))
        ]:
            yield _fact(AGENTS_WORDS, *map(LocatedPath, named), in_view=False)


def render_confirmation(title: str, name: str = "") -> Bundle:
    """A question of our own, without its buttons. `name` is an additional class."""
    html = row(_MARK, span(title, "font-weight:bold")) + without_buttons(muted(OPEN))
    return bundle(card(html, AMBER, f"{ASKED} {name}".strip()), f"{title}\n{OPEN}")


def _warning(colour: str, line: str) -> Part:
    html = f'<div style="color:{colour};margin:4px 0">⚠ {exposed(line)}</div>'
    return Part("Warning", line if colour == RED else "", html)


def _fact(name: str, *values: LocatedPath, font: str = "", in_view: bool = True) -> Part:
    """Short lines beside a name."""
    style = f' style="{font}"' if font else ""
    shown = "".join(f"<div><span{style}>{exposed(each.path)}</span>{_remark_html(each)}</div>" for each in values)
    html = f'<div style="{_NAME}">{exposed(name)}</div><div style="{_VALUE}">{shown}</div>'
    return Part(name, "\n".join(each.text for each in values), f'<div style="{_FACT}">{html}</div>', in_view)


def _text_fact(name: str, text: str, *, in_view: bool = False) -> Part:
    """A few short lines stand beside the name, anything else in a box below it."""
    if len(text) <= _MAX_INLINE_CHARS and text.count("\n") < _MAX_INLINE_LINES:
        return _fact(name, *map(LocatedPath, text.split("\n")), in_view=in_view)
    return Part(name, text, row(muted(name)) + _box(text), in_view)


def _box(text: str, language: str | None = None) -> str:
    """Code, a command or another text. What is long is folded, and the fold says how much it is."""
    first, rest = _split(text)
    style = "" if language is None else _BOX
    shown, more = (exposed(each) if language is None else exposed_code(each, language) for each in (first, rest))
    return pre(shown, style) + (fold(muted(_amount_of(rest)), pre(more, style)) if rest else "")


def _split(text: str) -> tuple[str, str]:
    """Split code or a command into what is in view and what is folded."""
    text, first, count = text.strip("\n"), "", 0
    for line in split_lines(text):
        count += bool(line.strip())  # many empty lines are shown as one
        if count > _MAX_LINES:
            break
        first += line
    first = first[:_MAX_CHARS].removesuffix("\n")
    return first, text[len(first) :]


def _amount_of(rest: str) -> str:
    """Return the label of the fold of `rest`."""
    count, name = (_line_count(rest), "line") if rest.startswith("\n") else (len(rest), "character")
    return f"{count} more {name}{'s' if count != 1 else ''}"


def _line_count(text: str) -> int:
    return text.strip("\n").count("\n") + 1


def _remark_html(place: LocatedPath) -> str:
    return f' <span style="color:{AMBER};font-weight:bold">⚠ {exposed(place.remark)}</span>' if place.remark else ""
