"""Effects of a turn's tool calls: the net change of each file, the commands, and what was refused.

Only what the agent reports is known: often no more of a file than the part that changes, and of a command not which
files it wrote. Where the file's text is given, each change is found in it, with line numbers and the lines around it.
Calls that failed or were refused changed nothing; those of the notebook's tools are shown as its cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, NamedTuple

from ..acp.messages import Diff
from ..system.drives import rules_of, shown_path
from . import inputs, raw
from .excerpt import Excerpt
from .line_diff import MAX_SHOWN_LINES, Change, between, compared, counted, parse_unified
from .model import ToolCall

What = Literal["new", "changed", "deleted", "moved"]

MAX_EDIT_CHARS = 1_000_000
"""Limit of a turn's edits that are compared line by line; beyond it, the lines of an edit are only counted."""
MAX_SEARCHED_CHARS = 100_000_000
"""Limit of the search for an earlier edit that a later one continues; beyond it, the later one counts for itself."""
_CHARS_A_SEARCH = 1_000  # what a search costs besides
_WHOLE = Excerpt(1, "", "")

_KINDS: dict[str, What] = {"edit": "changed", "delete": "deleted", "move": "moved"}
_NOUNS = {
    "edit": "edit",
    "delete": "deletion",
    "move": "move",
    "read": "read",
    "search": "search",
    "fetch": "fetch",
}
_PLURALS = {"search": "searches", "fetch": "fetches", "other": "others"}
_FATES: dict[str, What] = {"new file": "new", "deleted": "deleted"}


@dataclass(frozen=True, slots=True)
class FileChange:
    """The net change of one file; `path` is relative to the session's folder if it lies inside.

    `parts` are changes of separate places, empty if the agent only names the file. `digest` is that of its text at
    the turn's end, empty if that is not known or may not be shown.
    """

    path: str
    what: What
    parts: tuple[Change, ...] = ()
    digest: str = ""

    @property
    def added(self) -> int:
        """Lines."""
        return sum(part.count("+") for part in self.parts)

    @property
    def removed(self) -> int:
        """Lines."""
        return sum(part.count("-") for part in self.parts)

    @property
    def words(self) -> str:
        """`+2 −1`, `new`, `deleted` or `moved`; empty if no more is known than that the file changed."""
        return line_counts((self,)) if self.what == "changed" else self.what


@dataclass(frozen=True, slots=True)
class TurnChanges:
    """Effects of a turn, in the order in which they began; `refused` counts calls.

    `commands` are the titles of those that ran, of which `failed` have failed.

    `cwd` is the session's folder. `also` are files that changed meanwhile, perhaps not by the agent: those of commands,
    and of `files` those that are more different than the calls say. `more` counts those that are not among them.
    `opened` are paths of `files` that are notebooks which the user has open.
    """

    files: tuple[FileChange, ...] = ()
    commands: tuple[str, ...] = ()
    failed: int = 0
    refused: int = 0
    cwd: str = ""
    also: tuple[FileChange, ...] = ()
    more: int = 0
    opened: tuple[str, ...] = ()


class ChangedLines(NamedTuple):
    """Number of changed lines of a file."""

    path: str
    added: int = 0
    removed: int = 0


def line_counts(files: Iterable[FileChange | ChangedLines]) -> str:
    """`+31 −13`; empty if no line is known to change."""
    each = [(file.added, file.removed) for file in files]
    totals = zip("+−", (sum(added for added, _ in each), sum(removed for _, removed in each)), strict=True)
    return " ".join(f"{sign}{count}" for sign, count in totals if count)


def changes_of(
    calls: Sequence[ToolCall], cwd: str = "", text_of: Callable[[str], str | None] = lambda path: None
) -> TurnChanges:
    """Return the effects of `calls`, all of one turn; paths inside `cwd` are relative to it.

    `text_of` returns the text of a file as it is now; None if it is not known.
    """
    files, budget = dict[str, _File](), _Budget()
    others = [call for call in calls if not inputs.is_of_notebook(call)]
    for call in filter(_is_done, others):
        for path, edit in _edits(call):
            files.setdefault(rules_of(cwd)[0].join(cwd, path), _File(budget)).add(edit)
    changed = (file.change(shown_path(path, cwd), partial(text_of, path)) for path, file in files.items())
    ran = [call for call in others if _is_command(call) and (_is_done(call) or call.status == "failed")]
    failed = sum(call.status == "failed" or bool(raw.exit_code(call, raw.output_of(call))) for call in ran)
    refused = sum(call.status == "rejected" and not _is_done(call) for call in calls)
    titles = tuple(call.best_title for call in ran)
    return TurnChanges(tuple(each for each in changed if each), titles, failed, refused, cwd)


def _is_done(call: ToolCall) -> bool:
    """Return True if a call was done, also if it went on although it was refused."""
    return "completed" in (call.status, call.outcome.reported)


def _is_command(call: ToolCall) -> bool:
    """Editing tools may have a member `command`, too."""
    return call.kind == "execute" or (call.kind == "other" and bool(inputs.commands(call.raw_input)))


def kinds_of(calls: Iterable[ToolCall]) -> str:
    """Count the calls of each kind: `8 edits, 5 commands`."""
    counts = Counter("command" if _is_command(call) else _NOUNS.get(call.kind, "other") for call in calls)
    known = [(noun, count) for noun in (*_NOUNS.values(), "command", "other") if (count := counts[noun])]
    return ", ".join(f"{count} {noun if count == 1 else _PLURALS.get(noun, f'{noun}s')}" for noun, count in known)


# -- net changes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Edit:
    """Edit from `old` to `new`, perhaps parts of the file, as in `Diff`; or a `change` without its texts; or neither.

    `excerpt` says where `old` was when the edit came, if that is known.
    """

    what: What
    old: str | None = None
    new: str | None = None
    change: Change | None = None
    excerpt: Excerpt | None = None

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.old or "") + len(self.new or "")


def _edits(call: ToolCall) -> Iterable[tuple[str, _Edit]]:
    """Return the edits of a call with their paths."""
    diffs, what = [part for part in call.content if isinstance(part, Diff)], _KINDS.get(call.kind)
    if diffs:
        return [
            (diff.path, _Edit(_what(call, diff), diff.old_text, diff.new_text, excerpt=call.excerpts.get(diff)))
            for diff in diffs
        ]
    paths = inputs.paths(call) or tuple(inputs.patched(call))
    if len(paths) == 1 and (change := parse_unified(raw.unified_diff(call.raw_input))):
        return [(paths[0], _Edit(_FATES.get(change.what, "changed"), change=change))]
    return [(path, _Edit(what)) for path in paths] if what else []


def _what(call: ToolCall, diff: Diff) -> What:
    if call.kind == "delete":
        return "deleted"
    return "changed" if diff.old_text else "new"


@dataclass(slots=True)
class _Budget:
    """Characters that may still be looked at, in all files of a turn."""

    searched: int = MAX_SEARCHED_CHARS
    compared: int = MAX_EDIT_CHARS

    def changes(self, edits: Sequence[_Edit], text: Callable[[], str | None] | None) -> Iterator[Change]:
        """Return the changes of a file's edits, as far as they are known; as one if all are found in its `text`."""
        self.compared -= sum(edit.size for edit in edits)
        if self.compared < 0:
            known = (edit.change if edit.new is None else counted(edit.old, edit.new) for edit in edits)
            yield from filter(None, known)
        elif (whole := _whole(edits, text)) is not None:
            yield whole
        else:
            yield from (change for edit in edits if (change := _apart(edit, is_only=len(edits) == 1)))


@dataclass(slots=True)
class _File:
    """The edits of one file, those joined that continue each other."""

    budget: _Budget
    what: What | None = None
    edits: list[_Edit] = field(default_factory=list)

    def add(self, edit: _Edit) -> None:
        """The newest edit."""
        if edit.what == "deleted" and self.what == "new":
            self.what, self.edits = None, []  # it is not there, as before
            return
        if edit.what in ("deleted", "moved") or self.what is None:
            self.what = edit.what
        elif self.what == "deleted":
            self.what = "changed"
        apart: list[_Edit] = []
        while self.edits and self.budget.searched > 0:
            earlier = self.edits.pop()
            self.budget.searched -= earlier.size + edit.size + _CHARS_A_SEARCH
            joined = _joined(earlier, edit)
            if joined is None:
                apart.append(earlier)
            else:
                edit = joined
        self.edits = [edit] if edit.what == "deleted" else [*self.edits, *reversed(apart), edit]

    def change(self, path: str, text: Callable[[], str | None]) -> FileChange | None:
        """The net change; None if there is none. `text` is the file's now."""
        left = [edit for edit in self.edits if edit.new is None or (edit.old or "") != edit.new]
        if self.what is None or (self.what == "changed" and not left):
            return None
        known = text if self.what == "changed" else None
        return FileChange(path, self.what, tuple(self.budget.changes(left, known)))


def _joined(first: _Edit, then: _Edit) -> _Edit | None:
    """Both as one edit, if their texts show that they are about the same place."""
    if first.new is None or then.new is None:
        return None
    if first.new == (then.old or "") or (not then.old and not first.old):  # goes on, or is written anew
        return replace(then, old=first.old, excerpt=first.excerpt)
    if not then.old:
        return None
    if first.new.count(then.old) == 1:
        return replace(first, new=first.new.replace(then.old, then.new))
    is_same = first.old and then.old.count(first.old) == 1 and then.old.replace(first.old, first.new) == then.new
    return then if is_same else None


# -- their place in the file ------------------------------------------------------------------------------------------


def _apart(edit: _Edit, *, is_only: bool) -> Change | None:
    """The change of one place; another one of the same file may have moved its lines."""
    if edit.new is None:
        return edit.change
    change = between(edit.old, edit.new, edit.excerpt, MAX_SHOWN_LINES)
    return change if is_only or edit.excerpt is None else replace(change, is_numbered=False)


def _whole(edits: Sequence[_Edit], text: Callable[[], str | None] | None) -> Change | None:
    """Return the change from the file without the edits to the file as it is; None if they are not all found in it."""
    after = None if text is None or any(not edit.old or edit.new is None for edit in edits) else text()
    if not edits or after is None:
        return None
    if not any("\r" in f"{edit.old}{edit.new}" for edit in edits):
        after = after.replace("\r\n", "\n")
    before: str | None = after
    for edit in reversed(edits):
        before = _without(edit, before) if before is not None else None
    change = compared(before, after, _WHOLE, MAX_SHOWN_LINES) if before else None
    return None if change is None or change.is_rough else change


def _without(edit: _Edit, text: str) -> str | None:
    """`text` before the edit; None if its place is not clear."""
    old, new = edit.old or "", edit.new or ""
    around = (edit.excerpt.before, edit.excerpt.after) if edit.excerpt is not None else ("", "")
    for above, below in (around, ("", "")):
        found = f"{above}{new}{below}"
        if found and text.count(found) == 1:
            return text.replace(found, f"{above}{old}{below}")
    return None
