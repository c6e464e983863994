"""Record of the files that a turn changed, and by which calls: each before, and at the end.

The snapshots before and after the turn say what is different. Files that calls name are looked at as well, when such a
call or the question about it begins and ends: so it is known what the user wrote while a question was open, whether
something else has changed them, and what the files held that no snapshot covers.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from ..acp.messages import Diff
from ..conversation import inputs
from ..conversation.changes import What
from ..conversation.model import FINAL, ToolCall
from ..errors import HostError
from ..host.files import locate
from ..permissions import call_input
from ..rendering.plain import first_of
from .cells import CellChange, CellLog
from .repository import Snapshot
from .tree import ABSENT, UNKNOWN, FileState, Tree

LATE = "it was changed before it could be saved"
UNSAVED = "its content could not be saved"
_PROBLEMS = {
    "large": "it was larger than 5 MB",
    "special": "it was not a regular file",
    "unknown": "it could not be read",
}
_WRITING = ("edit", "delete", "move")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is different at the end of a turn; `calls` are the titles of those that name it.

    `is_certain`: at the end it was what it was when the last of them ended. `problem` is why it cannot be restored,
    empty if it can. `sources` are what a call may have moved here: a new file is not deleted before these are back.
    """

    path: str
    before: FileState
    after: FileState
    calls: tuple[str, ...] = ()
    is_certain: bool = False
    problem: str = ""
    sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TurnFiles:
    """Changes of turn `number`, as they were at its end. `new_folders` were not there before.

    `commands` are titles; what is said in `notes` could not be looked at. `cells`: see `cells.py`.
    """

    number: int
    files: tuple[ChangedFile, ...] = ()
    new_folders: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cells: CellLog = field(default_factory=CellLog)


@dataclass(slots=True)
class _Named:
    """A file that calls name. `before` is what it was first, or when the user had answered."""

    first: FileState
    before: FileState
    last: FileState
    # The call that named it first was done by then.
    is_late: bool
    # Nothing else has changed it.
    is_certain: bool = True
    # As they were when it was looked at last.
    calls: dict[int, ToolCall] = field(default_factory=dict)


class _Seen(NamedTuple):
    """What is at a path, and the missing folders above it. `may_be_link`: it counts only if it was a file before."""

    state: FileState
    data: bytes
    missing: set[str]
    may_be_link: bool


class TurnRecorder:
    """Sees the tool calls of a turn as they come. `store` saves contents by their digests, and may raise OSError;
    `is_excluded` says which files never count.
    """

    def __init__(self, tree: Tree, store: Callable[[str, bytes], None], is_excluded: Callable[[str], bool]) -> None:
        self.tree, self._store, self._is_excluded = tree, store, is_excluded
        self._named: dict[str, _Named] = {}
        # All, as they were seen last.
        self.calls: dict[int, ToolCall] = {}
        self._paths: dict[int, set[str]] = {}
        self._unsaved = set[str]()
        # Those that were not there when a call named a file in them.
        self.new_folders = set[str]()

    def note(self, call: ToolCall) -> bool:
        """Note a call that is new or has changed. Whether to `look`: it names other files, or begins, or ends."""
        seen = self.calls.get(call.id)
        self.calls[call.id] = call
        has_diff = any(isinstance(part, Diff) for part in call.content) or bool(inputs.patched(call))
        return (has_diff or call.kind in _WRITING) and (seen is None or _phase(seen) != _phase(call))

    def read(self, call: ToolCall) -> dict[str, _Seen]:
        """Read the files that `call` is about to write, or has written. In any thread, beside other calls."""
        folder, paths = inputs.folder(call.raw_input), dict.fromkeys((*self._paths.get(call.id, ()),), False)
        for named in call_input.read(call).paths:
            with suppress(HostError):  # it is outside
                whole = os.path.join(self.tree.root, folder, named.removeprefix("file://"))
                paths["/".join(locate(self.tree.root, whole).parts)] = False
                folder_of_link, name = os.path.split(whole)
                link = posixpath.normpath(posixpath.join(self.tree.relative(folder_of_link) or "", name))
                paths.setdefault(link, True)
        return {path: self._seen(path, may_be_link=link) for path, link in paths.items() if not self._is_excluded(path)}

    def look(self, call: ToolCall, read: dict[str, _Seen]) -> None:
        """Note what was read for `call`, after the calls before it."""
        paths = self._paths.setdefault(call.id, set())
        for path, seen in read.items():
            if path in self._named or not seen.may_be_link:
                paths.add(path)
                self._look(path, seen, call)

    def close(self) -> None:
        """The turn is over: look at the files once more."""
        for path in list(self._named):
            self._look(path, self._seen(path), None)

    def finish(self, start: Snapshot, end: Snapshot) -> Iterator[ChangedFile]:
        """Return what differs; `start` and `end` are the snapshots of the turn."""
        paths = {path for path in {*self._named, *end.changed} if not self._is_excluded(path)}
        covered = {path for path in paths if start.covers(path) and end.covers(path)}
        for path in covered.intersection(self._named):
            named = self._named[path]
            before = end.changed[path][0] if path in end.changed else named.last
            if not named.first.is_like(before):
                named.before = before if named.before == named.first else named.before
                named.is_certain = False
        for path in sorted(paths):
            if path in self._named:
                yield from self._changed(path, is_covered=path in covered)
            elif path in covered:
                yield ChangedFile(path, *end.changed[path])

    def _look(self, path: str, seen_now: _Seen, call: ToolCall | None) -> None:
        """Note what has changed since the last look; since then, only `call` has become what it is."""
        state = self._saved(seen_now)
        if path not in self._named:
            self.new_folders |= seen_now.missing
            self._named[path] = _Named(state, state, state, is_late=call is not None and _is_done(call))
        named = self._named[path]
        seen = named.calls.get(call.id) if call else None
        is_done_now = call is not None and _is_done(call) and not (seen and _is_done(seen))
        is_late = is_done_now and seen is None  # the user may have changed it before
        has_run = is_done_now or any(each.status not in FINAL and _may_have_run(each) for each in named.calls.values())
        is_asked = any(each.status == "waiting" for each in named.calls.values())
        if state != named.last and is_asked and not has_run and named.last == named.before:
            named.before = state
        elif state != named.last:
            named.is_certain = named.is_certain and has_run and not is_late
        named.last = state
        if call is not None:
            named.calls[call.id] = call

    def _seen(self, path: str, *, may_be_link: bool = False) -> _Seen:
        parents = (each for each in PurePosixPath(path).parents if each.parts and path not in self._named)
        missing = {str(each) for each in parents if not Path(self.tree.root, each).exists()}
        return _Seen(*self.tree.read(path), missing, may_be_link)

    def _saved(self, seen: _Seen) -> FileState:
        if seen.state.kind in ("file", "link"):
            try:
                self._store(seen.state.content, seen.data)
            except OSError:
                self._unsaved.add(seen.state.content)
        return seen.state

    def _changed(self, path: str, *, is_covered: bool) -> Iterator[ChangedFile]:
        named = self._named[path]
        before, after = named.before, named.last
        titles = tuple(call.best_title for call in named.calls.values() if _may_have_run(call))
        is_lost = named.is_late and not is_covered
        if not (titles or is_covered) or (before == after != UNKNOWN and not is_lost):
            return
        problem = _PROBLEMS.get("unknown" if UNKNOWN in (before, after) else before.kind, "")
        problem = problem or (LATE if is_lost else UNSAVED if before.content in self._unsaved else "")
        moves = (self._paths[id] for id, call in named.calls.items() if call.kind == "move")
        sources = frozenset(self._named.keys() & {source for paths in moves for source in paths}) - {path}
        is_certain = bool(titles) and named.is_certain and all(self._named[each].is_certain for each in sources)
        yield ChangedFile(path, before, after, titles, is_certain, problem, sources)


def _may_have_run(call: ToolCall) -> bool:
    """Return True if `call` may write, or has written: it is not refused or asked about, or was done anyway."""
    is_held = call.status in ("waiting", "rejected") or call.outcome.asked in ("open", "refused")
    return _is_done(call) or not is_held


def _is_done(call: ToolCall) -> bool:
    return call.outcome.reported == "completed"


def _phase(call: ToolCall) -> tuple[object, ...]:
    """Return the phase of a call and its claims, since most updates are about its progress."""
    phase = "over" if call.status in FINAL else "asked" if call.status == "waiting" else "runs"
    return phase, _is_done(call), call.kind, *map(id, (call.content, call.locations, call.raw_input))


# -- the rows of `%changes`, and `_copilot.changes` -------------------------------------------------------------------


UNCERTAIN = "may not be the agent's"


class ListedChange(NamedTuple):
    """A file or cell that turn `turn` changed, a command that it ran, or a note about what could not be recorded.

    `path` is empty unless it is a file; `what` is new, changed or deleted, and empty for the rest. `by` names the
    calls, or is the command or the note.
    """

    turn: int
    kind: Literal["file", "cell", "command", "note"]
    path: str
    what: str
    by: str


def listed(turns: Iterable[TurnFiles]) -> Iterator[ListedChange]:
    """Return changes in the order of `turns`; of each one files, then cells, commands and notes."""
    for turn in turns:
        for file in turn.files:
            by = first_of(file.calls) if file.is_certain else UNCERTAIN
            yield ListedChange(turn.number, "file", file.path, what_of(file), by)
        for change in turn.cells.changes:
            yield ListedChange(turn.number, "cell", "", what_of(change), "the agent's tools")
        for command in turn.commands:
            yield ListedChange(turn.number, "command", "", "", command)
        for note in turn.notes:
            yield ListedChange(turn.number, "note", "", "", note)


def what_of(change: ChangedFile | CellChange) -> What:
    """Return what happened to it, as a whole."""
    before, after = (None if each == ABSENT else each for each in (change.before, change.after))
    return "new" if before is None else "deleted" if after is None else "changed"
