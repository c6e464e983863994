"""A permission request as a person must see it to decide: all of it, with nothing hidden in it.

A head, what runs or changes, and a line for what is out of the ordinary; the rest is folded. What is long says how much
more there is. `typed_answer` has how it is answered where there are no buttons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..conversation.model import ToolCall
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
    escape,
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
from .subject import SUBFOLDER, LocatedPath, Subject, remarks_on, subject
from .tool_call import languages_of

OPEN = "Asked. %changes shows what became of it."
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
_BOX = "overflow-wrap:anywhere;word-break:normal;font-size:14px;line-height:1.5"
_MAX_LINES, _MAX_CHARS = 12, 2_000
"""Of a command or code; the rest is folded."""
_HALF_LINE = 95
_MAX_INLINE_CHARS, _MAX_INLINE_LINES = 400, 6
_FACT = "display:flex;flex-wrap:wrap;margin:2px 0"
_NAME = f"flex:0 0 150px;color:{GREY}"
_VALUE = "flex:1 1 260px;min-width:0;overflow-wrap:anywhere"


def render_question(question: Question, root: str = "") -> Bundle:
    """The question without its buttons, as it is kept in a notebook. `root` is the project's folder."""
    html, text = question_html(question, root), question_text(question, root)
    return bundle(html + without_buttons(muted(OPEN)), f"{text}\n{OPEN}")


def render_confirmation(title: str) -> Bundle:
    """A question of our own, without its buttons."""
    mark = span("?", f"color:{AMBER};font-weight:bold")
    html = row(mark, span(title, "font-weight:bold")) + without_buttons(muted(OPEN))
    return bundle(card(html, AMBER, ASKED), f"{title}\n{OPEN}")


def question_html(question: Question, root: str = "") -> str:
    """Everything; nothing is cut."""
    call, about = question.call, subject(question, root)
    head, title = _head(question, about, root)
    amounts, shown = "", exposed(head)
    if _is_about_a_file(call, about):
        place, change = about.changes[0]
        amounts, shown = remarks(change, is_named=True), f"{_verb(change)} {file_link(place.path, root)}?"
    mark, bold = span("?", f"color:{AMBER};font-weight:bold"), f'<span style="font-weight:bold">{shown}</span>'
    facts = list(_facts(question, about, root))
    parts = [row(mark, bold, exposed(title), amounts), *_boxes(call, about, root)]
    parts += (html for is_in_view, html in facts if is_in_view)
    for colour, line in _warnings(question, about):
        parts.append(f'<div style="color:{colour};margin:4px 0">⚠ {exposed(line)}</div>')
    if question.sandbox:
        parts.append(muted(question.sandbox))
    if folded := lines(html for is_in_view, html in facts if not is_in_view):
        parts.append(fold(muted("Details"), folded))
    return card(lines(parts), AMBER, ASKED)


def question_text(question: Question, root: str = "") -> str:
    """Everything, for a terminal."""
    about = subject(question, root)
    head, _ = _head(question, about, root)
    is_said = question.head or about.is_titled_by_tool or about.title in (*about.commands, head.removesuffix("?"))
    title = "" if is_said else about.title
    shown = [visible_text(f"{head} {title}".rstrip())]
    reach = [("Reach", question.sandbox)] if question.sandbox else ()
    for name, text in (*_parts_text(about), *reach, *_reasons(question)):
        body = visible_text(text).rstrip("\n").replace("\n", "\n  ")
        shown.append(f"{visible_text(name)}:\n  {body}")
    return lines(shown)


def headline(question: Question, root: str = "") -> str:
    """The question and what it is about on one line, such as `Run this command? ls -l`."""
    about = subject(question, root)
    head, title = _head(question, about, root)
    gist = title if about.mcp_tool else allowed_by(question, root)
    return visible_line(head if gist in head else f"{head} {gist}")


def allowed_by(question: Question, root: str = "") -> str:
    """What an answer allows, on one line: what runs, the files that change, or else the agent's title.

    The middle of a long line is left out: this names a button or a question, and does not replace it.
    """
    about = subject(question, root)
    files = () if about.is_of_notebook else tuple(_short(place, root) for place, _ in about.changes)
    gist = "; ".join(about.commands) or ", ".join(files) or about.title
    line = visible_line(inputs.title(question.call) if about.mcp_tool else gist)
    return line if len(line) <= 2 * _HALF_LINE else f"{line[:_HALF_LINE]} … {line[-_HALF_LINE:]}"


def folded_amount(question: Question) -> str:
    """How much an answer is about if a part of it is folded, such as `all 41 changed lines`; else empty."""
    about = subject(question, "")
    if any(folded_lines(change) for _, change in about.changes):
        return f"all {sum(change.count('+') + change.count('-') for _, change in about.changes)} changed lines"
    texts = (*about.commands, *about.code, *filter(None, [about.deleted]))
    if not any(_split(text)[1] for text in texts):
        return ""
    count = sum(map(_line_count, texts))
    return f"all {count} lines" if count > 1 else f"all {sum(map(len, texts))} characters"


def languages_in(question: Question) -> set[str]:
    """What its changes, commands and code are written in: to draw them needs lexers."""
    about = subject(question, "")
    return {*languages_of(question.call), *(["bash"] if about.commands else []), *(["python"] if about.code else [])}


def is_alarming(question: Question, root: str = "") -> bool:
    """Something about it is out of the ordinary, as its warnings say: nothing may suggest to allow it, or its like."""
    about = subject(question, root)
    places = (*about.paths, *filter(None, [about.folder]))
    return any(place.remark not in ("", SUBFOLDER) for place in places) or any(_warnings(question, about))


def _head(question: Question, about: Subject, root: str) -> tuple[str, str]:
    """The question in bold, and the agent's title where the question does not say what it is about."""
    return (question.head, "") if question.head else _head_of_call(question.call, about, root)


def _head_of_call(call: ToolCall, about: Subject, root: str) -> tuple[str, str]:
    if about.is_of_notebook:
        return f"{about.title}?", ""
    if about.mcp_tool:
        server, tool = about.mcp_tool
        is_said = about.is_evident or about.is_titled_by_tool
        return f"Use the tool {tool} of “{server}”?", "" if is_said else about.title
    if call.kind == "think" and any(name == "Questions" for name, _ in about.rest):
        return "The agent has questions:", about.title
    if len(about.commands) > 1:
        return f"Run these {len(about.commands)} commands?", ""
    if _is_about_a_file(call, about):
        place, change = about.changes[0]
        return f"{_verb(change)} {_short(place, root)}?", ""
    if about.changes and call.kind == "edit":
        return f"Change {len(about.changes)} files?", ""
    if call.kind == "delete" and about.paths and not about.is_evident:
        head = f"Delete {_short(about.paths[0], root) if len(about.paths) == 1 else f'{len(about.paths)} files'}?"
        return head, "" if about.title in head else about.title
    return _HEADS.get(call.kind, f"Allow this ({call.kind})?"), "" if about.is_evident else about.title


def _is_about_a_file(call: ToolCall, about: Subject) -> bool:
    is_other = about.commands or about.is_of_notebook or about.mcp_tool
    return call.kind == "edit" and len(about.changes) == 1 and not is_other


def _verb(change: Change) -> str:
    return _VERBS.get(change.what, "Change")


def _short(place: LocatedPath, root: str) -> str:
    """As it is called in the project."""
    return place.path.removeprefix(f"{root.rstrip('/')}/") if root and not place.remark else place.path


def _boxes(call: ToolCall, about: Subject, root: str) -> Iterator[str]:
    for name, command in _commands(about):
        yield (row(muted(name)) if len(about.commands) > 1 else "") + _box(command, "bash")
    yield from (_box(code, "python") for code in about.code)
    if about.deleted:
        yield _box(about.deleted, "") + muted(_kept_by_git(call))
    is_named = about.is_of_notebook or _is_about_a_file(call, about)
    for place, change in about.changes:
        yield ("" if is_named else named_change(change, place.path, root)) + change_html(change, place.path)


def _kept_by_git(call: ToolCall) -> str:
    """Of a file that goes."""
    is_tracked = call.deletes[1] if call.deletes else None
    return "" if is_tracked is None else "Git tracks it." if is_tracked else "Not in Git."


def _box(text: str, language: str) -> str:
    """Code or a command. What is long is folded, and the fold says how much it is."""
    first, rest = _split(text)
    more = fold(muted(_amount_of(rest)), pre(exposed_code(rest, language), _BOX)) if rest else ""
    return pre(exposed_code(first, language), _BOX) + more


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


def _warnings(question: Question, about: Subject) -> Iterator[tuple[str, str]]:
    """What is out of the ordinary: colour and words."""
    if warning := hidden_warning(about.texts):
        yield RED, warning
    places = (*(place for place, _ in about.changes), *(about.paths if about.is_evident else ()))
    for place in dict.fromkeys(place for place in places if place.remark):
        yield AMBER, f"{place.remark.capitalize()}: {place.path}"
    more = (*remarks_on(about.commands), "" if question.is_routine else question.why)
    yield from ((AMBER, line) for line in more if line)


def _facts(question: Question, about: Subject, root: str) -> Iterator[tuple[bool, str]]:
    """Whether it is in view, and the HTML, of everything else."""
    if about.is_evident and about.title not in about.commands and not question.head:
        yield False, _fact("The agent's title", [LocatedPath(about.title)])
    if _is_about_a_file(question.call, about):
        yield False, _fact("File", [about.changes[0][0]], FONT)
    for name, places in _places(about):
        yield _are_places_in_view(about, name, places), _fact(name, places, FONT)
    for name, text in about.rest:
        yield _is_rest_in_view(about, name), _rest_html(name, text)
    for name, text in _reasons(question):
        yield False, _fact(name, _as_lines(text), FONT * name.startswith("Rule"))


def _are_places_in_view(about: Subject, name: str, places: Iterable[LocatedPath]) -> bool:
    return not about.is_evident if name != "Folder" else any(place.remark for place in places)


def _is_rest_in_view(about: Subject, name: str) -> bool:
    return not (about.is_evident and name in _FOLDED_REST)


def _commands(about: Subject) -> Iterator[tuple[str, str]]:
    for number, command in enumerate(about.commands, 1):
        name = f"Command {number} of {len(about.commands)}" if len(about.commands) > 1 else "Command"
        count = _line_count(command)
        yield name if count == 1 else f"{name}, {count} lines", command


def _places(about: Subject) -> Iterator[tuple[str, list[LocatedPath]]]:
    if about.folder:
        yield "Folder", [about.folder]
    if about.paths:
        yield "Path" if len(about.paths) == 1 else "Paths", list(about.paths)


def _reasons(question: Question) -> Iterator[tuple[str, str]]:
    """Why the user is asked, what would allow it, and what the agent makes of an answer that it remembers."""
    if question.why:
        yield "Why you are asked", question.why
    if question.rules:
        name = "Rule that would allow this" if len(question.rules) == 1 else "Rules that would allow this"
        yield name, "\n".join(question.rules)
    options = question.options
    for option in options:
        if option.kind in STANDING:
            yield label(question, option), remembered(question, option)
    if named := [
        f"{WHY if is_for_a_reason(option, options) else label(question, option)}: {words}"
        for option in options
        if (words := agents_words(question, option))
    ]:
        yield AGENTS_WORDS, "\n".join(named)


def _fact(name: str, values: Iterable[LocatedPath], font: str = "") -> str:
    inner = f' style="{font}"' if font else ""
    shown = "".join(f"<div><span{inner}>{exposed(each.path)}</span>{_remark_html(each)}</div>" for each in values)
    return f'<div style="{_FACT}"><div style="{_NAME}">{exposed(name)}</div><div style="{_VALUE}">{shown}</div></div>'


def _as_lines(text: str) -> Iterable[LocatedPath]:
    return map(LocatedPath, text.split("\n"))


def _rest_html(name: str, text: str) -> str:
    """A few short lines stand beside the name, anything else in a box below it."""
    if len(text) <= _MAX_INLINE_CHARS and text.count("\n") < _MAX_INLINE_LINES:
        return _fact(name, _as_lines(text))
    first, rest = _split(text)
    more = fold(muted(_amount_of(rest)), pre(exposed(rest))) if rest else ""
    return f'<div style="color:{GREY}">{escape(name)}</div>{pre(exposed(first))}{more}'


def _remark_html(place: LocatedPath) -> str:
    return f' <span style="color:{AMBER};font-weight:bold">⚠ {escape(place.remark)}</span>' if place.remark else ""


def _parts_text(about: Subject) -> Iterator[tuple[str, str]]:
    yield from _commands(about)
    yield from (("Code", code) for code in about.code)
    if about.deleted:
        yield "Content", about.deleted
    for place, change in about.changes:
        yield f"Change to {place.text}", unified(change, place.path)
    if warning := hidden_warning(about.texts):
        yield "Warning", warning
    yield from ((name, "\n".join(place.text for place in places)) for name, places in _places(about))
    yield from about.rest
