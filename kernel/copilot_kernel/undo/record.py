"""Which files a turn changed, and by which calls: what each was before, and what it was at the end.

A file counts as changed by the calls that name it only if nothing else is known to have changed it in between: another
program, or another notebook's agent, may work in the same folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath

from ..acp.messages import Diff
from ..conversation.model import FINAL, ToolCall
from ..permissions import inputs
from ..permissions.paths import is_never_written
from .blobs import BlobStore
from .shadow import Snapshot
from .tree import ABSENT, FileState, Tree

MAX_PATHS = 100
"""That one call names."""
CHECKPOINTS = ".ipynb_checkpoints"
LATE = "it was changed before it could be saved"

_WRITING = ("edit", "delete", "move")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is different at the end of a turn; `calls` are the titles of those that name it.

    `is_certain`: only these changed it. `problem` is why it cannot be put back, empty if it can.
    """

    path: str
    before: FileState
    after: FileState
    calls: tuple[str, ...] = ()
    is_certain: bool = False
    problem: str = ""


@dataclass(slots=True)
class _Named:
    """A file that calls name. `before` is None if it could not be read."""

    before: FileState | None
    was_late: bool
    """It already was what the first call makes of it, when that call came."""
    after: FileState | None = None
    """At the end of the last call."""
    calls: dict[int, ToolCall] = field(default_factory=dict)
    is_shared: bool = False
    """Something else has changed it between two calls."""

    @property
    def titles(self) -> tuple[str, ...]:
        """Of the calls that were not refused."""
        ran = (call for call in self.calls.values() if call.status != "rejected")
        return tuple(call.best_title for call in ran)

    def is_alone(self, at_start: FileState | None, at_end: FileState) -> bool:
        """Whether nothing but its calls is known to have changed it in the turn."""
        is_first = at_start in (None, self.before) or self.was_late
        return is_first and not self.is_shared and self.after in (None, at_end)


class TurnRecorder:
    """Sees the tool calls of a turn as they come. `is_excluded` says which files never count."""

    def __init__(self, tree: Tree, store: BlobStore, is_excluded: Callable[[str], bool]) -> None:
        self._tree, self._store = tree, store
        self._is_excluded = is_excluded
        self._named: dict[str, _Named] = {}
        self._calls: dict[int, ToolCall] = {}
        self._paths: dict[int, tuple[str, ...]] = {}
        self._new_folders: set[str] = set()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All, as they were seen last."""
        return tuple(self._calls.values())

    def observe(self, call: ToolCall) -> None:
        """Save the files that `call`, new or changed, is about to write. Reads at once."""
        seen = self._calls.get(call.id)
        self._calls[call.id] = call
        if not may_write(call):
            self._paths.setdefault(call.id, ())
            return
        if seen is None or not _names_the_same(seen, call):
            self._paths[call.id] = tuple(dict.fromkeys(self._places(call)))
            for path in self._paths[call.id]:
                self._begin(path, call)
        for path in self._paths[call.id]:
            named = self._named[path]
            named.calls[call.id] = call
            if call.status in FINAL and (seen is None or seen.status not in FINAL):
                named.after = self._state(path)

    def is_news(self, call: ToolCall) -> bool:
        """Whether files have to be read because of `call`: it names others, or has ended."""
        seen = self._calls.get(call.id)
        return may_write(call) and (
            seen is None or not _names_the_same(seen, call) or (call.status in FINAL and seen.status not in FINAL)
        )

    def finish(self, start: Snapshot | None, end: Snapshot | None) -> Iterator[ChangedFile]:
        """What is different now; `start` and `end` are of the turn. What was saved of it is not considered."""
        self._name_moved()
        paths = set(self._named)
        if start is not None and end is not None:
            paths |= {path for path in start.files.keys() | end.files.keys() if start.state(path) != end.state(path)}
        for path in sorted(paths):
            if not self._is_excluded(path) and (changed := self._changed(path, start)):
                yield changed

    def new_folders(self) -> tuple[str, ...]:
        """Those that were not there when a call named a file in them; the deepest first."""
        return tuple(sorted(self._new_folders, key=len, reverse=True))

    def _begin(self, path: str, call: ToolCall) -> None:
        named = self._named.get(path)
        if named is None:
            read: list[bytes] = []
            before = self._state(path, read)
            is_gone = before == ABSENT and call.kind == "delete"
            was_late = is_gone or call.status in FINAL or (bool(read) and _shows_result(call, read[0]))
            self._named[path] = _Named(before, was_late)
            self._new_folders.update(each for each in _folders_of(path) if self._state(each) == ABSENT)
        elif named.after is not None and self._state(path) != named.after:
            named.is_shared = True

    def _name_moved(self) -> None:
        """The files of a folder that a call has moved."""
        for path, named in list(self._named.items()):
            is_moved = any(call.kind == "move" for call in named.calls.values())
            was_folder = named.before is None or named.before.kind == "folder"
            if is_moved and not was_folder and self._state(path) == FileState("folder"):
                for inner in self._tree.walk(path):
                    self._named.setdefault(inner, _Named(ABSENT, was_late=False, calls=named.calls))
                if named.before == ABSENT:
                    self._new_folders.add(path)

    def _changed(self, path: str, start: Snapshot | None) -> ChangedFile | None:
        named, after = self._named.get(path), self._state(path)
        at_start = start.state(path) if start is not None else None
        before = at_start or (named.before if named else None)
        if before is None or after is None:
            return None
        before = ABSENT if before.kind == "folder" else before
        is_unsaved = named is not None and named.was_late and bool(named.titles) and at_start is None
        if (before == after and not is_unsaved) or (before == ABSENT and after.kind == "folder"):
            return None
        titles = named.titles if named else ()
        is_certain = named is not None and bool(titles) and named.is_alone(at_start, after)
        return ChangedFile(path, before, after, titles, is_certain, LATE if is_unsaved else "")

    def _places(self, call: ToolCall) -> Iterator[str]:
        named = inputs.read(call).paths if call.kind in _WRITING else ()
        diffs = (part.path for part in call.content if isinstance(part, Diff))
        folder = os.path.join(self._tree.root, inputs.folder(call.raw_input))
        for path in islice(dict.fromkeys((*diffs, *inputs.patched(call), *named)), MAX_PATHS):
            for place in self._tree.places(path, folder):
                if not self._is_excluded(place):
                    yield place
                    if call.kind in ("delete", "move") and self._state(place) == FileState("folder"):
                        yield from self._tree.walk(place)

    def _state(self, path: str, read: list[bytes] | None = None) -> FileState | None:
        """What is there; None if it cannot be read. If it is to be `read`, it is saved, too."""

        def keep(digest: str, data: bytes) -> None:
            if read is not None:
                read.append(data)
                with suppress(OSError):  # then it cannot be put back
                    self._store.put(digest, data)

        try:
            return self._tree.observe(path, keep)
        except OSError:
            return None


def may_write(call: ToolCall) -> bool:
    """Whether it says that it writes files."""
    return call.kind in _WRITING or any(isinstance(part, Diff) for part in call.content) or bool(inputs.patched(call))


def _folders_of(path: str) -> set[str]:
    return {each.as_posix() for each in PurePosixPath(path).parents if each.parts}


def _names_the_same(one: ToolCall, other: ToolCall) -> bool:
    """Most updates of a call are about its progress."""
    return all(getattr(one, name) is getattr(other, name) for name in ("kind", "content", "locations", "raw_input"))


def _shows_result(call: ToolCall, data: bytes) -> bool:
    """Whether `data` is what `call` makes of a file."""
    for part in call.content:
        if isinstance(part, Diff) and part.new_text:
            old, new = ((text or "").encode(errors="replace") for text in (part.old_text, part.new_text))
            if new in data and (not old or old in new or old not in data):
                return True
    return False


def is_excluded(path: str) -> bool:
    """The checkpoints of notebooks, and what no agent may write."""
    parts = path.split("/")
    return CHECKPOINTS in parts or is_never_written(parts)
