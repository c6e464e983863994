"""What a change looks like: coloured lines with numbers and marks, or a unified diff in plain text."""

from __future__ import annotations

from ..acp.messages import Diff
from .diff import Change, Line, between, unified, with_return
from .markup import ADDED, GREY, REMOVED, exposed, fold, lines, muted, named, pre
from .plain import visible_line, visible_text

LONG = 40
"""Lines; a longer change is folded."""
_MOST_SHOWN = 5_000
BACKGROUND = {"+": f"background-color:{ADDED}", "-": f"background-color:{REMOVED}"}
_SENT = "The numbers count within the text that the agent sent, which may be a part of the file."
_ROUGH = "Too long to compare line by line: everything between the equal beginning and the equal end."


def change_of(diff: Diff) -> Change:
    """The change that the agent described by two texts."""
    return between(diff.old_text, diff.new_text)


def diff_html(change: Change, path: str, is_named: bool = False) -> str:
    """The change as HTML, folded when it is long. `is_named`: path and remarks stand above it already."""
    body = change_html(change)
    summary = muted("change") if is_named else f"{named(path, 'font-weight:bold')} {remarks(change)}"
    if len(change.lines) > LONG:
        return fold(summary, body)
    return body if is_named else f"<div>{summary}</div>{body}"


def remarks(change: Change) -> str:
    """How much changes and what the numbers mean, as HTML."""
    what = change.what if change.what != "changed" else ""
    numbers = muted("numbered within what was sent", _SENT) if _counts_within(change) else ""
    rough = muted("not compared line by line", _ROUGH) if change.is_rough else ""
    return " ".join(filter(None, (muted(amount(change)), muted(what), numbers, rough)))


def amount(change: Change) -> str:
    """`+2 −1`; `no difference` if nothing changes."""
    if not change.lines:
        return "empty" if change.what == "new file" else "no difference"
    counts = (("+", change.added), ("−", change.removed))
    return " ".join(f"{sign}{count}" for sign, count in counts if count)


def change_html(change: Change, most: int = _MOST_SHOWN) -> str:
    """The lines as HTML, at most `most` of them."""
    if not change.lines:
        return ""
    width = len(str(max(max(line.old or 0, line.new or 0) for line in change.lines)))
    rest = f"… {len(change.lines) - most} lines not shown …" if len(change.lines) > most else ""
    body = "".join(_line_html(line, width) for line in change.lines[1 : most + 1])
    return pre(body + muted(rest) if rest else body, "line-height:1.35")


def diff_text(change: Change, path: str) -> str:
    """The whole change as a unified diff, after a line that says what it is."""
    remark = lines(
        (
            f"({change.what}, {amount(change)})" if change.what != "changed" else "",
            "(line numbers count within what was sent)" if _counts_within(change) else "",
            "(not compared line by line)" if change.is_rough else "",
        )
    )
    shown = visible_text(unified(change, visible_text(path)), gaps=False)
    return lines((remark, shown)) if change.lines else f"{visible_line(path)}: {amount(change)}"


def _counts_within(change: Change) -> bool:
    return not change.is_whole and bool(change.lines)


def _line_html(line: Line, width: int) -> str:
    if line.mark == "@":
        return f'<span style="display:block;color:{GREY}">{"⋯".rjust(width)} {exposed(line.text, gaps=False)}\n</span>'
    numbers = f"{_number(line.old, width)} {_number(line.new, width)}"
    text = exposed(with_return(line.text), gaps=False)
    end = "" if line.ends else f' <span style="color:{GREY}">(no line feed at the end)</span>'
    style = f"display:block;{BACKGROUND.get(line.mark, '')}".rstrip(";")
    return f'<span style="{style}"><span style="color:{GREY}">{numbers}</span> {line.mark} {text}{end}\n</span>'


def _number(number: int | None, width: int) -> str:
    return ("" if number is None else str(number)).rjust(width)
