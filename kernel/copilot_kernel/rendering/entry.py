"""Entries of a conversation as MIME bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

from ..acp.messages import Speaker
from ..conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from .attachment import attachment_html, render_attachment
from .markdown import to_html
from .markup import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
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
from .tool_call import is_lookup, lookups_summary, render_tool_call

MAX_GROUP = 30
"""Entries in one line: each time that one changes, all of them are rendered."""
_MAX_PREVIEW_CHARS = 90
_SEVERITIES = {"info": ("ℹ", BLUE), "warning": ("⚠", AMBER), "error": ("✗", RED)}
_BOXES = {"pending": ("☐", GREY), "in_progress": ("◐", BLUE), "completed": ("☑", GREEN)}


def render(entry: Entry, cwd: str = "") -> Bundle:
    """`entry` as it stands, complete; paths inside `cwd` are shown relative to it."""
    match entry:
        case Message():
            return render_text(entry.speaker, str(entry.text))
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

    Calls in a row that only read, search or plan, with the thoughts between them, are folded into one line of the HTML.
    """
    html, text = [], []
    for part in parts(list(entries)):
        bodies = []
        for entry in part:
            rendered = draw(entry)
            bodies.append(attachment_html(entry.block) if isinstance(entry, Attachment) else rendered["text/html"])
            text.append(rendered["text/plain"])
        calls = [entry for entry in part if isinstance(entry, ToolCall)]
        html.append(card(fold(escape(lookups_summary(calls)), lines(bodies))) if len(part) > 1 else bodies[0])
    return bundle(lines(html), lines(text))


def parts(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Each entry for itself, or several lookups with the thoughts between them, at most MAX_GROUP."""
    while entries:
        quiet = takewhile(is_quiet, entries[:MAX_GROUP])
        lookups = [index for index, entry in enumerate(quiet) if isinstance(entry, ToolCall)]
        size = lookups[-1] + 1 if len(lookups) > 1 and lookups[0] == 0 else 1
        yield entries[:size]
        entries = entries[size:]


def is_quiet(entry: Entry) -> bool:
    """Whether it may be shown with others in one line: a lookup, or a thought between two."""
    is_thought = isinstance(entry, Message) and entry.speaker == "thought"
    return is_thought or (isinstance(entry, ToolCall) and is_lookup(entry))


def render_text(speaker: Speaker, source: str, html: str | None = None) -> Bundle:
    """`source` (markdown) as `speaker` said it, thoughts folded; `html` is its HTML, if that exists already."""
    if speaker == "user":
        return bundle(pre(escape(source)), "\n".join(f"> {line}".rstrip() for line in prose(source).split("\n")))
    body, text = to_html(source) if html is None else html, prose(source).strip("\n")
    if speaker != "thought":
        return bundle(body, text)
    summary = f'<span class="{NO_MATHS}">{muted("Thinking")} {muted(_preview(source))}</span>'
    indented = "\n".join(("Thinking:", *(f"  {line}".rstrip() for line in text.split("\n"))))
    return bundle(fold(summary, f'<div style="margin-left:10px">{body}</div>'), indented)


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
