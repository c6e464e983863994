"""Entries in a row that are shown as one line, which opens: lookups, edits, and the thoughts between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

from ..conversation.calls import is_of_sub_agent
from ..conversation.model import Entry, Message, Notice, ToolCall
from ..permissions import inputs
from . import raw
from .changes import line_counts
from .markup import AMBER, LINE, card, exposed, fold, lines, muted, span
from .own_tools import NOTICE_OF_READS, is_own_read, looked_at
from .plain import visible_line
from .tool_call import LOOKUPS, Row, attachments

MAX_GROUP = 30
"""Entries in one line: each time that one changes, all of them are joined again."""
_PLANNING = "updated its plan {} time{}"
_BY_YOU = " by you"
"""In the decision about an edit that stands for itself: the user has looked at it."""


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
    """Whether it may be shown with others in one line."""
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
        exposed(_counted(calls, {each.path for each in changed})),
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
    """What was done, and how often."""
    own, edits = [call for call in calls if is_own_read(call)], sum(map(_is_edit, calls))
    counts = Counter(LOOKUPS.get(call.kind, _PLANNING) for call in calls if not (is_own_read(call) or _is_edit(call)))
    known = ((words, counts[words]) for words in (*LOOKUPS.values(), _PLANNING) if counts[words])
    noun = " file{}" if len(paths) > 1 else ""  # which has been said
    done = [words.removesuffix(noun).format(count, "s" * (count > 1)) for words, count in known]
    changed = next(iter(paths)) if len(paths) == 1 else f"{len(paths) or edits} file{'s' * (len(paths) > 1)}"
    said = ", ".join(filter(None, (f"changed {changed}" * bool(edits), *done, looked_at(own))))
    return f"{said[0].upper()}{said[1:]}"
