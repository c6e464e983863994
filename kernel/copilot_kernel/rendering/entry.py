"""Entries of a conversation as MIME bundles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

from ..acp.messages import Speaker
from ..conversation import inputs, raw
from ..conversation.calls import is_of_sub_agent
from ..conversation.changes import line_counts
from ..conversation.model import Attachment, Entry, Message, Notice, Plan, ToolCall
from .attachment import attachment, render_attachment
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
from .own_tools import NOTICE_OF_READS, is_own_read, looked_at, sentence
from .plain import one_line, prose, quoted, visible_line, visible_text
from .tool_call import LOOKUPS, OF_TASK, Row, attachments, render_tool_call

MAX_GROUP = 30
"""Entries in one line: each time that one changes, all of them are joined again."""
_PLANNING = "updated its plan {} time{}"
_BY_YOU = " by you"
"""Words in the decision about an edit that stands for itself: the user has looked at it."""
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

    Those that `parts` puts together are folded into one line of the HTML.
    """
    html, text = [], []
    for part in parts(list(entries)):
        bodies, rows = [], []
        for entry in part:
            rendered = draw(entry)
            bodies.append(attachment(entry.block).html if isinstance(entry, Attachment) else rendered["text/html"])
            text.append(rendered["text/plain"])
            rows += [rendered] if isinstance(rendered, Row) else []
        html.append(in_one_line(part, bodies, rows) if len(part) > 1 else bodies[0])
    return bundle(lines(html), lines(text))


def parts(entries: list[Entry]) -> Iterator[list[Entry]]:
    """Each entry for itself, or several that are shown as one, at most MAX_GROUP: no thought is at an edge."""
    while entries:
        quiet = list(takewhile(is_quiet, entries[:MAX_GROUP]))
        shown = [index for index, entry in enumerate(quiet) if not isinstance(entry, Message)]
        has_call = any(isinstance(entry, ToolCall) for entry in quiet)
        size = shown[-1] + 1 if has_call and len(shown) > 1 and shown[0] == 0 else 1
        yield entries[:size]
        entries = entries[size:]


def is_quiet(entry: Entry) -> bool:
    """Return True if an entry may be shown with others in one line."""
    match entry:
        case ToolCall():
            return is_lookup(entry) or _is_edit(entry)
        case Message(speaker=speaker, of_task=of_task):
            return speaker == "thought" and not of_task
        case Notice(about=about):
            return about == NOTICE_OF_READS
        case _:
            return False


def is_lookup(call: ToolCall) -> bool:
    """A call that only reads, searches or plans, and of which nothing more is to be said."""
    is_one = call.kind in LOOKUPS or raw.is_plan_update(call) or is_own_read(call)
    return is_one and not call.decision and call.unasked is None and _is_smooth(call)


def in_one_line(part: Sequence[Entry], bodies: Sequence[str], rows: Sequence[Row]) -> str:
    """HTML of a part: a line such as "Read 7 files, searched 3 times", with the `bodies` of its entries folded.

    The call that runs is named. `rows` are those of the calls.
    """
    calls = [entry for entry in part if isinstance(entry, ToolCall)]
    changed = [change for row in rows for change in row.changed]
    counts = line_counts(changed)
    accused = dict.fromkeys(call.unasked.words for call in calls if call.unasked and not call.unasked.covered)
    last = calls[-1]
    said = (
        exposed((len(calls) == 1 and sentence(last)) or _counted(calls, {each.path for each in changed})),
        muted(f"· {counts}" * bool(counts)),
        exposed("" if last.status == "completed" else f"· ◐ {visible_line(last.best_title or last.name)}"),
        *(span(f"⚠ {visible_line(words)}", f"color:{AMBER}") for words in accused),
    )
    return card(fold(" ".join(filter(None, said)), lines(bodies)), AMBER if accused else LINE)


def _is_edit(call: ToolCall) -> bool:
    is_of_file = call.kind == "edit" and not inputs.is_of_notebook(call)
    return is_of_file and _BY_YOU not in call.decision and _is_smooth(call)


def _is_smooth(call: ToolCall) -> bool:
    is_well = call.status in ("pending", "in_progress", "completed")
    return is_well and not attachments(call) and not is_of_sub_agent(call)


def _counted(calls: Sequence[ToolCall], paths: set[str]) -> str:
    """Say what was done, and how often."""
    own, edits = [call for call in calls if is_own_read(call)], sum(map(_is_edit, calls))
    counts = Counter(LOOKUPS.get(call.kind, _PLANNING) for call in calls if not (is_own_read(call) or _is_edit(call)))
    known = ((words, counts[words]) for words in (*LOOKUPS.values(), _PLANNING) if counts[words])
    noun = " file{}" if len(paths) > 1 else ""  # which has been said
    done = [words.removesuffix(noun).format(count, "s" * (count > 1)) for words, count in known]
    count = len(paths) or edits
    changed = next(iter(paths)) if len(paths) == 1 else f"{count} file{'s' * (count > 1)}"
    said = ", ".join(filter(None, (f"changed {changed}" * bool(edits), *done, looked_at(own))))
    return f"{said[0].upper()}{said[1:]}"


def render_text(speaker: Speaker, source: str, *, of_task: bool = False) -> Bundle:
    """`source` (markdown) as `speaker` said it, thoughts folded, as is what a sub-agent says beneath its task."""
    if speaker == "user":
        return bundle(pre(escape(source)), "\n".join(f"> {line}".rstrip() for line in prose(source).split("\n")))
    body, text = to_html(source), prose(source).strip("\n")
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
    json = shortened(raw.as_json(notice.raw)) if notice.raw is not None else ""
    title = visible_line(notice.title) if notice.about.startswith("refused ") else one_line(notice.title)
    title = quoted(title)
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
