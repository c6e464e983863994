"""Entries of a conversation as MIME bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..acp.messages import Speaker
from ..conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from .attachment import attachment_html, render_attachment
from .markdown import to_html
from .markup import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    INDENT,
    LINE,
    NO_MATHS,
    RED,
    Bundle,
    bundle,
    card,
    escape,
    exposed,
    fold,
    lines,
    muted,
    pre,
    row,
    span,
)
from .output import shortened
from .plain import one_line, prose, visible_line, visible_text
from .raw import as_json
from .stretch import in_one_line, parts
from .tool_call import OF_TASK, Row, render_tool_call

_MAX_PREVIEW_CHARS = 90
_SEVERITIES = {"info": ("ℹ", BLUE), "warning": ("⚠", AMBER), "error": ("✗", RED)}
_BOXES = {"pending": ("☐", GREY), "in_progress": ("◐", BLUE), "completed": ("☑", GREEN)}


def render(entry: Entry, cwd: str = "") -> Bundle:
    """`entry` as it stands, complete; paths inside `cwd` are shown relative to it."""
    match entry:
        case Message():
            return render_text(entry.speaker, str(entry.text), of_task=entry.of_task)
        case Attachment():
            return render_attachment(entry)
        case ToolCall():
            return render_tool_call(entry, cwd)
        case Plan():
            return render_plan(entry)
        case Notice():
            return render_notice(entry)


def render_group(entries: Iterable[Entry], draw: Callable[[Entry], Bundle] = render) -> Bundle:
    """Several entries, each rendered by `draw`, in one bundle, one below the other; images become part of the HTML.

    Those that `stretch.parts` puts together are folded into one line of the HTML.
    """
    html, text = [], []
    for part in parts(list(entries)):
        bodies, rows = [], []
        for entry in part:
            rendered = draw(entry)
            bodies.append(attachment_html(entry.block) if isinstance(entry, Attachment) else rendered["text/html"])
            text.append(rendered["text/plain"])
            rows += [rendered] if isinstance(rendered, Row) else []
        html.append(in_one_line(part, bodies, rows) if len(part) > 1 else bodies[0])
    return bundle(lines(html), lines(text))


def render_text(speaker: Speaker, source: str, html: str | None = None, *, of_task: bool = False) -> Bundle:
    """`source` (markdown) as `speaker` said it, thoughts folded, as is what a sub-agent says beneath its task.

    `html` is its HTML, if that exists already.
    """
    if speaker == "user":
        return bundle(pre(escape(source)), "\n".join(f"> {line}".rstrip() for line in prose(source).split("\n")))
    body, text = to_html(source) if html is None else html, prose(source).strip("\n")
    if speaker != "thought":
        return bundle(body, text)
    who, mark = ("Sub-agent", OF_TASK) if of_task else ("Thinking", "")
    summary = f'<span class="{NO_MATHS}">{muted(who)} {muted(_preview(source))}</span>'
    html = fold(summary, f'<div style="margin-left:10px">{body}</div>')
    indented = (f"{'  ' * (of_task + 1)}{line}".rstrip() for line in text.split("\n"))
    html = f'<div style="{INDENT[1:]}">{html}</div>' if of_task else html
    return bundle(html, "\n".join((f"{mark}{who}:", *indented)))


def _preview(source: str) -> str:
    """The first line, so that a folded thought says what it is about."""
    first = one_line(next(iter(source.strip().splitlines()), "")).strip("*#_` ")
    return f"· {first[:_MAX_PREVIEW_CHARS]}{'…' * (len(first) > _MAX_PREVIEW_CHARS)}" if first else ""


def render_notice(notice: Notice) -> Bundle:
    """Mark, severity in words unless it is only information, title, description, raw JSON folded."""
    mark, colour = _SEVERITIES.get(notice.severity, ("•", GREY))
    word = notice.severity if notice.severity in ("warning", "error") else ""
    json = shortened(as_json(notice.raw)) if notice.raw is not None else ""
    title = visible_line(notice.title) if notice.about.startswith("refused ") else one_line(notice.title)
    html = lines((
        row(span(f"{mark} {word}".strip(), f"color:{colour}"), escape(title)),
        f"<div>{muted(notice.description)}</div>" if notice.description else "",
        fold(muted("original message"), pre(exposed(json))) if json else "",
    ))  # fmt: skip
    head = " ".join(filter(None, (mark, f"{word}:" if word else "", title)))
    return bundle(card(html, colour if word else LINE), lines((head, prose(notice.description), visible_text(json))))


def render_plan(plan: Plan) -> Bundle:
    """One line for each step, folded when all are done; only a high priority is mentioned."""
    done = sum(entry.status == "completed" for entry in plan.entries)
    count = f"{done} of {len(plan.entries)} done" if plan.entries else "empty"
    head = " ".join(filter(None, (span("Plan", "font-weight:bold"), muted(count), escape(plan.description))))
    html = ""
    text = [" ".join(filter(None, (f"Plan ({count})", one_line(plan.description))))]
    for step in plan.entries:
        box, colour = _BOXES.get(step.status, ("☐", GREY))
        status = escape(step.status)
        words = muted(step.content) if step.status == "completed" else escape(step.content)
        high = span("high priority", f"color:{AMBER}") if step.priority == "high" else ""
        html += row(f'<span style="color:{colour}" title="{status}" aria-label="{status}">{box}</span>', words, high)
        text.append(f"{box} {one_line(step.content)}{' (high priority)' * (step.priority == 'high')}")
    is_done = done == len(plan.entries) > 0
    return bundle(card(fold(head, html) if is_done else f"<div>{head}</div>{html}"), lines(text))
