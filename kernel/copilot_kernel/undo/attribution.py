"""Whose change it is: the one place that decides what counts as the agent's.

A file is looked at whenever a call that names it begins, is asked about, is answered or ends. What has changed between
two looks is the agent's only if a call that may have run in between says that it does just that; see `author_of`. A
file is certainly changed by the agent if everything that changed it is; see `verdict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice
from typing import Any, Literal

from ..acp.messages import Diff
from ..conversation.model import FINAL, ToolCall
from ..permissions import inputs
from ..permissions.inputs import member
from .tree import MAX_FILE_BYTES, FileState

Author = Literal["agent", "others", "unknown"]

MAX_EDITS = 50
"""Of one file in one call, that are looked for; beyond them, what changed is not known to be the agent's."""
MAX_TRIED_BYTES = 20_000_000
"""Compared for one look."""

_NEW_NAMES = ("content", "file_text", "contents")
_PAIRS = (("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("oldText", "newText"))


@dataclass(frozen=True, slots=True)
class Edit:
    """What a call says it does in a file: from `old` to `new`, the whole text or a part of it."""

    old: str | None
    new: str


Edits = tuple[Edit, ...]
"""Of one call in one file."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is different between two looks at a file."""

    before: FileState
    after: FileState
    author: Author


@dataclass(frozen=True, slots=True)
class Verdict:
    """What undoing restores, and whether only the agent changed it."""

    before: FileState
    is_certain: bool


def author_of(*, is_described: bool, was_asked: bool) -> Author:
    """Whose the change between two looks is.

    `is_described`: a call that may have run meanwhile says that it does just that. `was_asked`: all the time the user
    was asked about the file, and no call that names it could run.
    """
    if is_described:
        return "agent"
    return "others" if was_asked else "unknown"


def verdict(changes: Sequence[Change]) -> Verdict:
    """About all changes of a file, oldest first; at least one.

    What others did before anything else is kept. What is unknown may be a command's: it is restored, but only if the
    user chooses it.
    """
    rest = list(dropwhile(lambda change: change.author == "others", changes))
    return Verdict(rest[0].before if rest else changes[-1].after, all(each.author == "agent" for each in changes))


def may_have_run(call: ToolCall) -> bool:
    """Whether `call` may write, or has written: it is not refused or asked about, or was done anyway."""
    is_held = call.status in ("waiting", "rejected") or call.standing.asked in ("open", "refused")
    return call.standing.reported == "completed" or not is_held


def _ran_between(seen: ToolCall | None, call: ToolCall) -> bool:
    """Whether `call` may have run since it was as `seen`."""
    was_completed = seen is not None and seen.standing.reported == "completed"
    if call.standing.reported == "completed" and not was_completed:
        return True
    return seen is not None and seen.status not in FINAL and may_have_run(seen)


def meanwhile(calls: Mapping[int, ToolCall], call: ToolCall | None) -> tuple[list[int], bool]:
    """The calls that may have run since the last look; and whether instead all the time somebody was asked.

    `calls` are all that name the file, as they were at that look; since then, `call` has become what it is.
    """
    others = [each for id, each in calls.items() if call is None or id != call.id]
    ran = [each.id for each in others if each.status not in FINAL and may_have_run(each)]
    seen = calls.get(call.id) if call is not None else None
    if call is not None and _ran_between(seen, call):
        ran.append(call.id)
    was_waiting = any(each.status == "waiting" for each in calls.values())
    return ran, was_waiting and not ran


# -- what a call says --------------------------------------------------------------------------------------------------


def edits_of(call: ToolCall, named: Iterable[str]) -> dict[str, Edits]:
    """By path, as the call names it."""
    found: dict[str, Edits] = {}
    for part in call.content:
        if isinstance(part, Diff):
            found[part.path] = (*found.get(part.path, ()), Edit(part.old_text, part.new_text))
    given = () if found else given_edits(call.raw_input)
    for path in (*inputs.patched(call), *named):
        found.setdefault(path, given)
    return found


def given_edits(raw_input: Any) -> Edits:
    """The edits that the input of a call holds, for agents that send no diff."""
    parts = member(raw_input, "edits")
    inputs = list(islice(parts, MAX_EDITS + 1)) if isinstance(parts, list | tuple) else [raw_input]
    return tuple(edit for each in inputs if (edit := _given(each)) is not None)


def _given(raw: Any) -> Edit | None:
    for old_name, new_name in _PAIRS:
        old, new = member(raw, old_name), member(raw, new_name)
        if isinstance(old, str) and isinstance(new, str):
            return Edit(old, new)
    texts = (member(raw, name) for name in _NEW_NAMES)
    new = next((text for text in texts if isinstance(text, str)), None)
    return None if new is None else Edit(None, new)


def describes(edits: Edits, before: bytes, after: bytes, *, is_watched: bool = True) -> bool:
    """Whether `edits`, and nothing else, make `after` of `before`. Line endings and final empty lines do not count.

    `is_watched`: the file was looked at just before. Only then may an edit that does not say what was there replace it
    all: it may have read what somebody else wrote into the file before.
    """
    old, new = _text(before), _text(after)
    if old == new or not 0 < len(edits) <= MAX_EDITS:
        return False
    parts = [(_plain(edit.old or ""), _plain(edit.new)) for edit in edits]
    if any(_is_same(made, new) for made in _made(parts, old, is_watched=is_watched)):
        return True
    return all(part for part, _ in parts) and _Places(parts, old, new).fit()


def shows_result(edits: Edits, data: bytes) -> bool:
    """Whether `data` is what `edits` make of a file."""
    for edit in edits:
        old, new = ((text or "").encode(errors="replace") for text in (edit.old, edit.new))
        if new and new in data and (not old or old in new or old not in data):
            return True
    return False


def _made(parts: Sequence[tuple[str, str]], text: str, *, is_watched: bool) -> Iterator[str]:
    """What becomes of `text`: each edit made where it comes first, or everywhere, or as the whole text."""
    for count in (1, -1):
        made = _replaced(parts, text, count)
        if made is None:
            break
        yield made
    if is_watched and len(parts) == 1 and not parts[0][0]:
        yield parts[0][1]


def _replaced(parts: Sequence[tuple[str, str]], text: str, count: int) -> str | None:
    """None if something is not there, or that is longer than any file that is saved."""
    for old, new in parts:
        if old == text:
            text = new
        elif not old or old not in text or (count == 1 or text.count(old)) * len(new) > MAX_FILE_BYTES:
            return None
        else:
            text = text.replace(old, new, count)
    return text


class _Places:
    """Looks for edits one below the other, each in any of the places where its old text stands."""

    def __init__(self, parts: Sequence[tuple[str, str]], old: str, new: str) -> None:
        self._parts, self._old, self._new = parts, old, new
        self._left = MAX_TRIED_BYTES

    def fit(self, index: int = 0, at: int = 0, to: int = 0) -> bool:
        """Whether the edits from `index` on make of the old text from `at` on the new one from `to` on."""
        if index == len(self._parts):
            self._left -= len(self._old) - at
            return _is_same(self._old[at:], self._new[to:])
        old, new = self._parts[index]
        found = self._old.find(old, at)
        while found >= 0 and self._left > 0:
            self._left -= found - at + 1000
            begins = to + found - at
            if self._old[at:found] != self._new[to:begins]:
                return False
            if self._new.startswith(new, begins) and self.fit(index + 1, found + len(old), begins + len(new)):
                return True
            found = self._old.find(old, found + 1)
        return False


def _is_same(one: str, other: str) -> bool:
    return one == other or one.rstrip("\n") == other.rstrip("\n")


def _text(data: bytes) -> str:
    return _plain(data.decode(errors="surrogateescape"))


def _plain(text: str) -> str:
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if "\r" in text else text
