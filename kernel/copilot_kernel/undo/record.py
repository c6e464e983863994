"""Which files a turn changed, and by which calls: what each was before, and what it was at the end.

Files are looked at when calls that name them begin, are asked about, are answered and end. `attribution.py` decides
what of it is the agent's: the user, another program or another notebook's agent may work in the same folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePosixPath

from ..acp.messages import Diff
from ..conversation.model import FINAL, ToolCall
from ..permissions import inputs
from ..permissions.paths import is_never_written
from .attribution import Change, Edits, author_of, describes, edits_of, may_have_run, meanwhile, shows_result, verdict
from .blobs import BlobStore
from .listing import named as names_of
from .shadow import Snapshot
from .tree import ABSENT, UNKNOWN, FileState, Tree

MAX_PATHS = 100
"""That one call names."""
MAX_SAID = 5
"""Of what a call says in turn that it does in a file: the newest."""
MAX_INNER = 1000
"""Files of a folder that a call names as a whole."""
CHECKPOINTS = ".ipynb_checkpoints"
LATE = "it was changed before it could be saved"
UNREAD = "it could not be read"

_WRITING = ("edit", "delete", "move")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is different at the end of a turn; `calls` are the titles of those that name it.

    `is_certain`: only these changed it. `problem` is why it cannot be restored, empty if it can. `source` is the file
    that a call has moved here: a new file is not deleted before that is back.
    """

    path: str
    before: FileState
    after: FileState
    calls: tuple[str, ...] = ()
    is_certain: bool = False
    problem: str = ""
    source: str = ""

    @property
    def is_seen(self) -> bool:
        """Whether it was read before and after; a call may only say that it has changed it."""
        return self.before != self.after and UNKNOWN not in (self.before, self.after)


@dataclass(slots=True)
class _Named:
    """A file that calls name, as it was seen `first` and `last`."""

    path: str
    first: FileState
    last: FileState
    by: int
    """The call that named it first."""
    had_begun: bool
    """That call may have written it before."""
    was_late: bool
    """It already was what that call makes of it."""
    changes: list[Change] = field(default_factory=list)
    calls: dict[int, ToolCall] = field(default_factory=dict)
    edits: dict[int, list[Edits]] = field(default_factory=dict)
    """By call: what it said in turn that it does here."""

    @property
    def titles(self) -> tuple[str, ...]:
        """Of the calls that may have run."""
        return tuple(call.best_title for call in self.calls.values() if may_have_run(call))


class TurnRecorder:
    """Sees the tool calls of a turn as they come. `is_excluded` says which files never count."""

    def __init__(self, tree: Tree, store: BlobStore, is_excluded: Callable[[str], bool]) -> None:
        self._tree, self._store = tree, store
        self._is_excluded = is_excluded
        self._named: dict[str, _Named] = {}
        self._calls: dict[int, ToolCall] = {}
        self._paths: dict[int, set[str]] = {}
        self._held: dict[int, dict[str, str]] = {}
        """By call that moves files: what they held, and their paths."""
        self._new_folders: set[str] = set()
        self.notes: dict[str, None] = {}
        """What is not covered, in words."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All, as they were seen last."""
        return tuple(self._calls.values())

    def observe(self, call: ToolCall) -> None:
        """Look at the files that `call`, new or changed, is about to write or has written. Reads at once."""
        seen = self._calls.get(call.id)
        self._calls[call.id] = call
        if not may_write(call):
            return
        paths = self._paths.setdefault(call.id, set())
        if seen is None or not _names_the_same(seen, call):
            places = list(self._places(call))
            for path, edits in places:
                self._name(path, call, edits)
            paths.update(path for path, _ in places)
        elif _phase(seen) == _phase(call):
            return
        for path in paths:
            self._look(path, call)

    def is_news(self, call: ToolCall) -> bool:
        """Whether files have to be read because of `call`: it says something else, or was asked about, or has ended."""
        seen = self._calls.get(call.id)
        return may_write(call) and (seen is None or not _names_the_same(seen, call) or _phase(seen) != _phase(call))

    def late_contents(self, start: Snapshot | None) -> set[str]:
        """What files held at the `start` that were different when a call first named them."""
        named = ((start.state(path), named) for path, named in self._named.items()) if start is not None else ()
        return {state.content for state, each in named if state and state.kind == "file" and state != each.first}

    def close(self, deadline: float) -> None:
        """The turn is over: look at the files once more, until `deadline` (`time.monotonic()`).

        What has changed since a file was looked at counts as changed after the turn, and is not restored.
        """
        self._name_moved()
        paths = list(self._named)
        for count, path in enumerate(paths):
            if time.monotonic() > deadline:
                self.notes[f"There was no time to look again at {names_of(paths[count:])}."] = None
                return
            self._look(path, None)

    def finish(self, start: Snapshot | None, end: Snapshot | None) -> Iterator[ChangedFile]:
        """What is different; `start` and `end` are of the turn. What was saved of it is not considered.

        `late_contents` should be saved by then.
        """
        for each in list(self._named.values()):
            each.changes[:0] = self._before_first(each, start)
        paths = set(self._named)
        if start is not None and end is not None:
            paths |= {path for path in start.files.keys() | end.files.keys() if start.state(path) != end.state(path)}
        for path in sorted(paths):
            if not self._is_excluded(path) and (changed := self._changed(path, start, end)):
                yield changed

    def new_folders(self, files: Iterable[ChangedFile]) -> tuple[str, ...]:
        """Those that were not there when a call named a file in them; the deepest first.

        What was one of the changed `files` before, or a folder with one, is not new: restoring the file needs it as is.
        """
        old = {each for file in files if file.before != ABSENT for each in (file.path, *_folders_of(file.path))}
        return tuple(sorted(self._new_folders - old, key=len, reverse=True))

    # -- looking ------------------------------------------------------------------------------------------------------

    def _name(self, path: str, call: ToolCall, edits: Edits) -> None:
        """Note what `call` says of the file, which it may name for the first time."""
        if path not in self._named:
            self._named[path] = self._first_named(path, call, edits)
        named = self._named[path]
        said = named.edits.setdefault(call.id, [])
        if edits and edits not in said:
            said.append(edits)
            del said[:-MAX_SAID]
        if call.kind == "move" and named.last.kind in ("file", "link"):
            self._held.setdefault(call.id, {}).setdefault(named.last.content, path)

    def _first_named(self, path: str, call: ToolCall, edits: Edits) -> _Named:
        state, data = self._read(path)
        self._new_folders.update(each for each in _folders_of(path) if self._state(each) == ABSENT)
        had_begun = may_have_run(call)
        is_gone = state == ABSENT and call.kind == "delete"
        is_there = call.status in FINAL or bool(data and shows_result(edits, data))
        return _Named(path, state, state, call.id, had_begun, was_late=had_begun and (is_gone or is_there))

    def _look(self, path: str, call: ToolCall | None) -> None:
        """Note what has changed since the last look: since then, only `call` has changed."""
        named = self._named[path]
        if call is None or named.calls:
            state, data = self._read(path)
            if state != named.last:
                self._note(named, state, data, call)
        if call is not None:
            named.calls[call.id] = call

    def _note(self, named: _Named, state: FileState, data: bytes | None, call: ToolCall | None) -> None:
        ran, was_asked = meanwhile(named.calls, call)
        before = named.changes.pop().before if ran and self._was_half_written(named, data) else named.last
        is_described = self._is_described(named, ran, self._content(before), state, data)
        if before != state:
            named.changes.append(Change(before, state, author_of(is_described=is_described, was_asked=was_asked)))
        named.last = state

    def _was_half_written(self, named: _Named, data: bytes | None) -> bool:
        """Whether the last look came while `data` was being written: the file held the beginning of it, or nothing."""
        if data is None or not named.changes or named.changes[-1].author != "unknown":
            return False
        begun = self._content(named.last)
        return begun is not None and data.startswith(begun)

    def _is_described(
        self,
        named: _Named,
        ran: Collection[int],
        old: bytes | None,
        after: FileState,
        new: bytes | None,
        *,
        is_watched: bool = True,
    ) -> bool:
        """Whether calls that `ran` say that they make `after`, with the content `new`, of `old`."""
        calls = [self._calls[id] for id in ran]
        sources = [self._held.get(id, {}).get(after.content, named.path) for id in ran if is_watched]
        is_held = after.kind in ("file", "link") and any(source != named.path for source in sources)
        is_gone = after == ABSENT and any(call.kind in ("delete", "move") for call in calls)
        if is_held or is_gone or old is None or new is None:
            return is_held or is_gone
        said = [edits for id in ran for edits in named.edits.get(id, ())]
        newest = tuple(edit for id in ran for edit in (named.edits.get(id) or [()])[-1])
        told = dict.fromkeys([*said, newest])
        if after == ABSENT:  # a diff without a new text
            told = dict.fromkeys(edits for edits in told if all(edit.old and not edit.new for edit in edits))
        return any(describes(edits, old, new, is_watched=is_watched) for edits in told)

    def _content(self, state: FileState) -> bytes | None:
        """None if it is not known any more, or not a file's."""
        if state.kind == "file":
            return self._store.get(state.content)
        return b"" if state == ABSENT else None

    def _read(self, path: str) -> tuple[FileState, bytes | None]:
        """What is there, and the content of a file, which is saved."""
        read: list[bytes] = []

        def keep(digest: str, data: bytes) -> None:
            read.append(data)
            with suppress(OSError):  # then it cannot be restored
                self._store.put(digest, data)

        try:
            state = self._tree.observe(path, keep)
        except OSError:
            return UNKNOWN, None
        return state, (read[0] if read else b"" if state == ABSENT else None)

    def _state(self, path: str) -> FileState:
        """What is there."""
        try:
            return self._tree.observe(path)
        except OSError:
            return UNKNOWN

    # -- at the end ---------------------------------------------------------------------------------------------------

    def _name_moved(self) -> None:
        """The files of a folder that a call has moved."""
        for path, named in list(self._named.items()):
            mover = next((call for call in named.calls.values() if call.kind == "move" and may_have_run(call)), None)
            was_folder = named.first.kind in ("folder", "unknown")
            if mover is not None and not was_folder and self._state(path) == FileState("folder"):
                for inner in self._inner(path):
                    self._named.setdefault(inner, self._moved(inner, mover))
                if named.first == ABSENT:
                    self._new_folders.add(path)

    def _moved(self, path: str, mover: ToolCall) -> _Named:
        state = self._state(path)
        named = _Named(path, ABSENT, state, mover.id, had_begun=True, was_late=False, calls={mover.id: mover})
        is_described = self._is_described(named, [mover.id], None, state, None)
        named.changes.append(Change(ABSENT, state, author_of(is_described=is_described, was_asked=False)))
        return named

    def _changed(self, path: str, start: Snapshot | None, end: Snapshot | None) -> ChangedFile | None:
        at_start = start.state(path) if start is not None else None
        if path not in self._named:
            return self._unnamed(path, at_start, end.state(path) if end is not None else None)
        named = self._named[path]
        before, after = at_start or named.first, named.last
        if not (named.titles or at_start):
            return None
        if named.changes:
            before = verdict(named.changes).before
        is_certain = self._is_certain(path)
        changed = _changed_file(path, before, after, named, is_certain=is_certain, is_known=at_start is not None)
        return replace(changed, source=self._source(path)) if changed is not None else None

    def _is_certain(self, path: str) -> bool:
        """Whether only the agent changed it; what it has moved here must not hold what others wrote, either."""
        seen = set[str]()
        while path and path not in seen:
            seen.add(path)
            changes, path = self._named[path].changes, self._source(path)
            if not (changes and verdict(changes).is_certain):
                return False
        return True

    def _source(self, path: str) -> str:
        """What was moved to `path`; empty if nothing was."""
        named = self._named[path]
        new = [change.after.content for change in named.changes if change.before == ABSENT]
        found = (self._held.get(id, {}).get(content, path) for content in new for id in named.calls)
        return next((source for source in found if source != path), "")

    def _unnamed(self, path: str, before: FileState | None, after: FileState | None) -> ChangedFile | None:
        after = after or self._state(path)
        if before is None or UNKNOWN in (before, after) or before == after:
            return None
        if before == ABSENT and after.kind == "folder":
            return None
        return ChangedFile(path, before, after)

    def _before_first(self, named: _Named, start: Snapshot | None) -> Iterator[Change]:
        """What had already changed when the file was first named: the call may have been quicker than its report."""
        at_start = start.state(named.path) if start is not None else None
        if at_start is None or at_start == named.first:
            return
        ran = [named.by] if named.had_begun else []
        old, new = self._content(at_start), self._content(named.first)
        is_described = self._is_described(named, ran, old, named.first, new, is_watched=False)
        yield Change(at_start, named.first, author_of(is_described=is_described, was_asked=False))

    def _places(self, call: ToolCall) -> Iterator[tuple[str, Edits]]:
        """What `call` names, with what it says of it."""
        folder = os.path.join(self._tree.root, inputs.folder(call.raw_input))
        read = inputs.read(call) if call.kind in _WRITING else None
        found = edits_of(call, read.paths if read is not None else ())
        if len(found) > MAX_PATHS or (read is not None and read.is_too_large):
            self.notes[f"Not covered: some of the many files that {names_of([call.best_title])} names."] = None
        for path, edits in islice(found.items(), MAX_PATHS):
            for place in self._tree.places(path, folder):
                if not self._is_excluded(place):
                    yield place, edits
                    if call.kind in ("delete", "move") and self._state(place) == FileState("folder"):
                        yield from ((inner, ()) for inner in self._inner(place))

    def _inner(self, folder: str) -> list[str]:
        """The files in a folder, as many as are covered."""
        unread = list[str]()
        found = list(islice(self._tree.walk(folder, unread.append), MAX_INNER + 1))
        if len(found) > MAX_INNER:
            self.notes[f"Not covered: more than {MAX_INNER:,} files in {names_of([folder])}."] = None
        if unread:
            self.notes[f"Not covered, since it could not be read: {names_of(unread)}."] = None
        return found[:MAX_INNER]


def may_write(call: ToolCall) -> bool:
    """Whether it says that it writes files."""
    return call.kind in _WRITING or any(isinstance(part, Diff) for part in call.content) or bool(inputs.patched(call))


def _changed_file(
    path: str, before: FileState, after: FileState, named: _Named, *, is_certain: bool, is_known: bool
) -> ChangedFile | None:
    """`is_known`: what was there at the start of the turn is. None if it is as it was."""
    before = ABSENT if before.kind == "folder" else before
    is_unsaved = named.was_late and bool(named.titles) and not is_known
    if (before == after != UNKNOWN and not is_unsaved) or (before == ABSENT and after.kind == "folder"):
        return None
    problem = UNREAD if UNKNOWN in (before, after) else LATE if is_unsaved else ""
    return ChangedFile(path, before, after, named.titles, is_certain and bool(named.titles), problem)


def _folders_of(path: str) -> set[str]:
    return {each.as_posix() for each in PurePosixPath(path).parents if each.parts}


def _names_the_same(one: ToolCall, other: ToolCall) -> bool:
    """Most updates of a call are about its progress."""
    return all(getattr(one, name) is getattr(other, name) for name in ("kind", "content", "locations", "raw_input"))


def _phase(call: ToolCall) -> tuple[str, bool]:
    """A call is asked about, or runs, or has ended; the agent may report afterwards that it has completed it."""
    phase = "over" if call.status in FINAL else "asked" if call.status == "waiting" else "runs"
    return phase, call.standing.reported == "completed"


def is_excluded(path: str) -> bool:
    """The checkpoints of notebooks, and what no agent may write."""
    parts = path.split("/")
    return CHECKPOINTS in parts or is_never_written(parts)
