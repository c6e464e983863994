"""A permission request as a person must see it to decide: all of it, with nothing hidden in it.

It is found once, as parts, and printed as HTML and as text. In HTML, what is out of the ordinary is in view, and the
rest is folded. What is long says how much more there is. `typed_answer` has how it is answered without buttons.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ..permissions import inputs
from ..permissions.question import Question
from .diff import Change, change_html, folded_lines, named_change, remarks, unified
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
from .plain import hidden_warning, split_lines, visible_line, visible_text
from .subject import SUBFOLDER, LocatedPath, remarks_on, subject
from .tool_call import languages_of

OPEN = "Not answered."
"""Shown while the question is open, and to readers of a saved notebook, without its buttons."""
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
"""Of what stands beside a command or a change."""
_MARK = span("?", f"color:{AMBER};font-weight:bold")
_BOX = "overflow-wrap:anywhere;word-break:normal;font-size:14px;line-height:1.5"
_MAX_LINES, _MAX_CHARS = 12, 2_000
"""Of a command or code; the rest is folded."""
_HALF_LINE = 95
_MAX_INLINE_CHARS, _MAX_INLINE_LINES = 400, 6
_FACT = "display:flex;flex-wrap:wrap;margin:2px 0"
_NAME = f"flex:0 0 150px;color:{GREY}"
_VALUE = "flex:1 1 260px;min-width:0;overflow-wrap:anywhere"


class Part(NamedTuple):
    """Something that a question shows: a text, places or a change under its `name`, in HTML in view or under *Details*.

    Code stands in a box, coloured as its `language`. What the reader of the text knows already is not `in_text`.
    """

    kind: Literal["code", "change", "fact", "warning", "note"]
    name: str
    text: str = ""
    places: tuple[LocatedPath, ...] = ()
    change: Change | None = None
    language: str = ""
    in_view: bool = True
    in_text: bool = True

    @property
    def body(self) -> str:
        """The part as text, without its name."""
        if self.change:
            return unified(self.change, self.places[0].path)
        return self.text or "\n".join(place.text for place in self.places)


class QuestionView:
    """What is shown of `question`. `root` is the project's folder."""

    def __init__(self, question: Question, root: str = "") -> None:
        self.question, self.call, self.root = question, question.call, root
        self.subject = about = subject(question, root)
        self.title = "" if about.is_evident else about.title
        is_other = about.commands or about.is_of_notebook or about.mcp_tool
        is_of_file = self.call.kind == "edit" and len(about.changes) == 1 and not is_other
        self.file = about.changes[0] if is_of_file else None
        """The only file, and its change, if the question is about nothing else."""

    @property
    def head(self) -> tuple[str, str]:
        """The question in bold, and the agent's title where the question does not say what it is about."""
        about, kind = self.subject, self.call.kind
        if self.question.head or about.is_of_notebook:
            return self.question.head or f"{about.title}?", ""
        if about.mcp_tool:
            server, tool = about.mcp_tool
            return f"Use the tool {tool} of “{server}”?", "" if about.is_titled_by_tool else self.title
        if kind == "think" and any(name == "Questions" for name, _ in about.rest):
            return "The agent has questions:", about.title
        if len(about.commands) > 1:
            return f"Run these {len(about.commands)} commands?", ""
        if self.file:
            return f"{_verb(self.file[1])} {self._short(self.file[0])}?", ""
        if about.changes and kind == "edit":
            return f"Change {len(about.changes)} files?", ""
        if about.paths and kind == "delete" and self.title:
            named = self._short(about.paths[0]) if len(about.paths) == 1 else f"{len(about.paths)} files"
            return f"Delete {named}?", "" if self.title in f"Delete {named}?" else self.title
        return _HEADS.get(kind, f"Allow this ({kind})?"), self.title

    @property
    def parts(self) -> Iterator[Part]:
        """Everything but the head, in the order in which it is read."""
        asked, warnings = (*self._code(), *self._changes()), self._warnings()
        reach = Part("note", "Reach", self.question.sandbox)
        return filter(lambda part: part.text or part.places, (*asked, *self._facts(), *warnings, reach, *self._why()))

    @property
    def about(self) -> str:
        """What an answer allows, on one line: what runs, the files that change, or else the agent's title.

        The middle of a long line is left out: this names a button or a question, and does not replace it.
        """
        about = self.subject
        files = () if about.is_of_notebook else (self._short(place) for place, _ in about.changes)
        gist = "; ".join(about.commands) or ", ".join(files) or about.title
        line = visible_line(inputs.title(self.call) if about.mcp_tool else gist)
        return line if len(line) <= 2 * _HALF_LINE else f"{line[:_HALF_LINE]} … {line[-_HALF_LINE:]}"

    def _short(self, place: LocatedPath) -> str:
        """As it is called in the project."""
        return place.path.removeprefix(f"{self.root.rstrip('/')}/" if self.root and not place.remark else "")

    def _code(self) -> Iterator[Part]:
        about, count = self.subject, len(self.subject.commands)
        for number, command in enumerate(about.commands, 1):
            size = f", {_line_count(command)} lines" if _line_count(command) > 1 else ""
            yield Part("code", f"Command{f' {number} of {count}' * (count > 1)}{size}", command, language="bash")
        yield from (Part("code", "Code", code, language="python") for code in about.code)
        yield Part("code", "Content", about.deleted)

    def _changes(self) -> Iterator[Part]:
        if self.call.deletes and (is_tracked := self.call.deletes[1]) is not None:
            yield Part("note", "Git", "Git tracks it." if is_tracked else "Not in Git.", in_text=False)
        for place, change in self.subject.changes:
            yield Part("change", f"Change to {place.text}", places=(place,), change=change)

    def _warnings(self) -> Iterator[Part]:
        """What is out of the ordinary; the text says all but what is hidden with what it is about."""
        about, question = self.subject, self.question
        places = (*(place for place, _ in about.changes), *(about.paths if about.is_evident else ()))
        marked = (f"{place.remark.capitalize()}: {place.path}" for place in dict.fromkeys(places) if place.remark)
        yield Part("warning", "Warning", hidden_warning(about.texts))
        for line in (*marked, *remarks_on(about.commands), "" if question.is_routine else question.why):
            yield Part("warning", "", line, in_text=False)

    def _facts(self) -> Iterator[Part]:
        about, is_evident = self.subject, self.subject.is_evident
        folder, paths = about.folder, about.paths
        if is_evident and about.title not in about.commands and not self.question.head:
            yield Part("fact", "The agent's title", about.title, in_view=False, in_text=False)
        if self.file:
            yield Part("fact", "File", places=(self.file[0],), in_view=False, in_text=False)
        if folder:
            yield Part("fact", "Folder", places=(folder,), in_view=folder.remark != "")
        yield Part("fact", "Path" if len(paths) == 1 else "Paths", places=paths, in_view=not is_evident)
        for name, text in about.rest:
            yield Part("fact", name, text, in_view=not (is_evident and name in _FOLDED_REST))

    def _why(self) -> Iterator[Part]:
        """Why the user is asked, what would allow it, and what the agent makes of an answer that it remembers."""
        question, options = self.question, self.question.options
        rules = tuple(map(LocatedPath, question.rules))
        words = (
            f"{WHY if is_for_a_reason(each, options) else label(question, each)}: {called}"
            for each in options
            if (called := agents_words(question, each))
        )
        yield Part("fact", "Why you are asked", question.why, in_view=False)
        yield Part("fact", f"Rule{'s' * (len(rules) > 1)} that would allow this", places=rules, in_view=False)
        for option in options:
            if option.kind in STANDING:
                yield Part("fact", label(question, option), remembered(question, option), in_view=False)
        yield Part("fact", AGENTS_WORDS, "\n".join(words), in_view=False)


def render_question(question: Question, root: str = "") -> Bundle:
    """The question without its buttons, as it is kept in a notebook. `root` is the project's folder."""
    html, text = question_html(question, root), question_text(question, root)
    return bundle(html + without_buttons(muted(OPEN)), f"{text}\n{OPEN}")


def render_confirmation(title: str) -> Bundle:
    """A question of our own, without its buttons."""
    html = row(_MARK, span(title, "font-weight:bold")) + without_buttons(muted(OPEN))
    return bundle(card(html, AMBER, ASKED), f"{title}\n{OPEN}")


def question_html(question: Question, root: str = "") -> str:
    """Everything; nothing is cut."""
    view = QuestionView(question, root)
    (head, title), parts = view.head, tuple(view.parts)
    amounts, shown = "", exposed(head)
    if view.file:
        place, change = view.file
        amounts, shown = remarks(change, is_named=True), f"{_verb(change)} {file_link(place.path, root)}?"
    bold = f'<span style="font-weight:bold">{shown}</span>'
    in_view, folded = (lines(_html(part, view) for part in parts if part.in_view == each) for each in (True, False))
    details = fold(muted("Details"), folded) if folded else ""
    return card(lines((row(_MARK, bold, exposed(title), amounts), in_view, details)), AMBER, ASKED)


def question_text(question: Question, root: str = "") -> str:
    """Everything, for a terminal."""
    view = QuestionView(question, root)
    about, (head, _) = view.subject, view.head
    is_said = question.head or about.is_titled_by_tool or about.title in (*about.commands, head.removesuffix("?"))
    shown = [visible_text(head if is_said else f"{head} {about.title}")]
    for part in view.parts:
        if part.in_text:
            body = visible_text(part.body).rstrip("\n").replace("\n", "\n  ")
            shown.append(f"{visible_text(part.name)}:\n  {body}")
    return lines(shown)


def headline(question: Question, root: str = "") -> str:
    """The question and what it is about on one line, such as `Run this command? ls -l`."""
    view = QuestionView(question, root)
    head, title = view.head
    gist = title if view.subject.mcp_tool else view.about
    return visible_line(head if gist in head else f"{head} {gist}")


def allowed_by(question: Question, root: str = "") -> str:
    """See `QuestionView.about`."""
    return QuestionView(question, root).about


def folded_amount(question: Question) -> str:
    """How much an answer is about if a part of it is folded, such as `all 41 changed lines`; else empty."""
    parts = tuple(QuestionView(question).parts)
    changes = [part.change for part in parts if part.change]
    if any(map(folded_lines, changes)):
        return f"all {sum(change.count('+') + change.count('-') for change in changes)} changed lines"
    texts = [part.text for part in parts if part.kind == "code"]
    if not any(_split(text)[1] for text in texts):
        return ""
    count = sum(map(_line_count, texts))
    return f"all {count} lines" if count > 1 else f"all {sum(map(len, texts))} characters"


def languages_in(question: Question) -> set[str]:
    """What its changes, commands and code are written in: to draw them needs lexers."""
    return languages_of(question.call) | {part.language for part in QuestionView(question).parts if part.language}


def is_alarming(question: Question, root: str = "") -> bool:
    """Something about it is out of the ordinary, as its warnings say: nothing may suggest to allow it, or its like."""
    parts = tuple(QuestionView(question, root).parts)
    marked = (place.remark not in ("", SUBFOLDER) for part in parts for place in part.places)
    return any(marked) or any(part.kind == "warning" for part in parts)


def _verb(change: Change) -> str:
    return _VERBS.get(change.what, "Change")


def _html(part: Part, view: QuestionView) -> str:
    if part.change:
        path, is_named = part.places[0].path, view.file or view.subject.is_of_notebook
        return ("" if is_named else named_change(part.change, path, view.root)) + change_html(part.change, path)
    match part.kind:
        case "code":
            is_one_of_several = part.language == "bash" and len(view.subject.commands) > 1
            return row(muted(part.name)) * is_one_of_several + _box(part.text, part.language)
        case "warning":
            return f'<div style="color:{RED if part.in_text else AMBER};margin:4px 0">⚠ {exposed(part.text)}</div>'
        case "note":
            return row(muted(part.text))
    if len(part.text) > _MAX_INLINE_CHARS or part.text.count("\n") >= _MAX_INLINE_LINES:
        return row(muted(part.name)) + _box(part.text)
    font = f' style="{FONT}"' if part.places else ""
    values = part.places or map(LocatedPath, part.text.split("\n"))
    shown = "".join(f"<div><span{font}>{exposed(each.path)}</span>{_remark_html(each)}</div>" for each in values)
    return (
        f'<div style="{_FACT}"><div style="{_NAME}">{exposed(part.name)}</div><div style="{_VALUE}">{shown}</div></div>'
    )


def _box(text: str, language: str | None = None) -> str:
    """Code, a command or another text. What is long is folded, and the fold says how much it is."""
    first, rest = _split(text)
    style = "" if language is None else _BOX
    shown, more = (exposed(each) if language is None else exposed_code(each, language) for each in (first, rest))
    return pre(shown, style) + (fold(muted(_amount_of(rest)), pre(more, style)) if rest else "")


def _split(text: str) -> tuple[str, str]:
    """What is in view of code or a command, and what is folded."""
    text, first, count = text.strip("\n"), "", 0
    for line in split_lines(text):
        count += bool(line.strip())  # many empty lines are shown as one
        if count > _MAX_LINES:
            break
        first += line
    first = first[:_MAX_CHARS].removesuffix("\n")
    return first, text[len(first) :]


def _amount_of(rest: str) -> str:
    """What the fold of `rest` is called."""
    count, name = (_line_count(rest), "line") if rest.startswith("\n") else (len(rest), "character")
    return f"{count} more {name}{'s' if count != 1 else ''}"


def _line_count(text: str) -> int:
    return text.strip("\n").count("\n") + 1


def _remark_html(place: LocatedPath) -> str:
    return f' <span style="color:{AMBER};font-weight:bold">⚠ {exposed(place.remark)}</span>' if place.remark else ""
