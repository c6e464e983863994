"""All files of a git work tree as they are at one moment: what git would track, without what it ignores.

Git only lists the files (`ls-files`) and gives contents that it has (`cat-file`). It writes nothing and runs nothing of
the repository's: neither command uses filters, hooks or external diffs; fsmonitor and all transports are off. Files are
read as they are on the disk, so that neither filters nor line endings change them.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby
from pathlib import Path, PurePosixPath

from ..host.files import ProjectPath, opened_folder
from ..programs import find_outside
from .blobs import BlobStore
from .tree import ABSENT, MAX_FILE_BYTES, NOT_THERE, FileState, Tree, digest_of, state_in

MAX_FILES = 20_000
MAX_BYTES = 200 * 1000 * 1000
"""Of all files together."""
SECONDS = 1.0
"""Within which a snapshot is taken, or given up."""
SETTLED_NS = 50_000_000
"""A file that was changed so shortly before it was read may change again without another time stamp."""

_OPTIONS = (
    "-c", "core.fsmonitor=false",
    "-c", "core.untrackedCache=false",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.hooksPath=/dev/null",
    "-c", "protocol.allow=never",
)  # fmt: skip
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_LIST = ("ls-files", "-z", "--stage", "--cached", "--others", "--exclude-standard")
_IGNORED = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")


_UNREAD = re.compile(rb"^warning: could not open directory '(.*)': ", re.MULTILINE)
_STAGED = re.compile(rb"\d{6} ([0-9a-f]{40,64}) \d\t(.+)", re.DOTALL)


NO_GIT = "there is no `git` on PATH that is outside the project"


class SnapshotError(Exception):
    """There is no snapshot; the message says why, and is empty where there is no git work tree."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files by path. `skipped` are beyond the limits: too many files, or too large in all. `unread` are files and
    folders that could not be read.
    """

    files: dict[str, FileState]
    uncovered: frozenset[str]
    skipped: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def state(self, path: str) -> FileState | None:
        """What was at `path`; None if that is not known.

        It was ignored, in a submodule, beyond the limits, or could not be read.
        """
        if path in self.files:
            return self.files[path]
        above = (path, *map(str, PurePosixPath(path).parents))
        return None if self.uncovered.intersection(above) else ABSENT


@dataclass(slots=True)
class _Known:
    signature: tuple[int, ...]
    state: FileState
    size: int


@dataclass(slots=True)
class _Taking:
    """A snapshot in the making."""

    deadline: float
    saves: bool = True
    files: dict[str, FileState] = field(default_factory=dict)
    uncovered: set[str] = field(default_factory=set)
    skipped: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    size: int = 0

    def made(self) -> Snapshot:
        uncovered = self.uncovered.union(self.skipped, self.unread)
        return Snapshot(self.files, frozenset(uncovered), tuple(self.skipped), tuple(self.unread))


class Shadow:
    """Snapshots of the work tree `tree` is in. All methods block; they are for one thread at a time.

    Of the programs `git` on PATH, it is one that an agent cannot have put into the project.
    """

    def __init__(self, tree: Tree, store: BlobStore) -> None:
        self._tree, self._store = tree, store
        self._program = find_outside("git", (Path(tree.root),))
        self._known: dict[str, _Known] = {}
        # Contents that git has.
        self._in_git: set[str] = set()

    def take(self, seconds: float = SECONDS, *, saves: bool = True) -> Snapshot:
        """The files as they are now. Each content is saved that git does not have, unless `saves` is false.

        Raises SnapshotError. What was read until then is remembered for the next one.
        """
        taking = _Taking(time.monotonic() + seconds, saves)
        done = self._git(*_LIST, seconds=seconds)
        seconds = max(0.001, taking.deadline - time.monotonic())
        listed = dict(map(_listed, _names(done)))
        taking.unread.extend(self._unread(done))
        ignored = self._git(*_IGNORED, seconds=seconds)
        taking.uncovered.update(os.fsdecode(each).rstrip("/") for each in _names(ignored))
        ordered = sorted(listed, key=lambda path: (os.path.dirname(path), path))
        taking.skipped.extend(ordered[MAX_FILES:])
        for folder, inside in groupby(ordered[:MAX_FILES], key=os.path.dirname):
            parts = (*PurePosixPath(folder).parts, "-")
            try:
                with opened_folder(ProjectPath(self._tree.root, parts)) as descriptor:
                    for path in inside:
                        self._add(taking, descriptor, path, listed[path])
            except OSError as error:
                if error.errno not in NOT_THERE:
                    taking.unread.append(folder or ".")
        self._known = {path: known for path, known in self._known.items() if path in taking.files}
        return taking.made()

    @property
    def digests(self) -> set[str]:
        """Contents of the last snapshot."""
        return {known.state.content for known in list(self._known.values())}  # one that hangs may go on

    def recover(self, digests: Collection[str], seconds: float = SECONDS) -> None:
        """Save what only git has, as far as time suffices: git may forget it. What it no longer has stays unsaved."""
        deadline = time.monotonic() + seconds
        wanted = sorted(digest for digest in digests if digest in self._in_git and digest not in self._store)
        for digest, data in self._contents(wanted, seconds) if wanted else ():
            if time.monotonic() > deadline:
                return
            with suppress(OSError):
                self._store.put(digest, data)

    def content(self, digest: str) -> bytes | None:
        """What git has under that name; None if it never had it, or has it no longer."""
        found = self._contents([digest], SECONDS) if digest in self._in_git else ()
        return next((data for _, data in found), None)

    def has(self, digest: str) -> bool:
        """Whether it is saved, or git had it."""
        return digest in self._store or digest in self._in_git

    def _add(self, taking: _Taking, folder: int, path: str, blob: str) -> None:
        """A file that has gone meanwhile is left out."""
        if time.monotonic() > taking.deadline:
            raise SnapshotError("the project is too large to be saved before each prompt")
        try:
            found = os.stat(os.path.basename(path), dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):  # a submodule
                taking.uncovered.add(path)
            elif taking.size + min(found.st_size, MAX_FILE_BYTES) > MAX_BYTES:
                taking.skipped.append(path)
            else:
                known = self._state(taking, folder, path, found, blob)
                taking.files[path] = known.state
                taking.size += known.size
        except FileNotFoundError:
            pass
        except OSError:
            taking.unread.append(path)

    def _state(self, taking: _Taking, folder: int, path: str, found: os.stat_result, blob: str) -> _Known:
        signature = (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = self._known.get(path)
        if known is None or known.signature != signature or not self._has(known.state):
            known = self._read(folder, path, signature, blob, saves=taking.saves)
            if found.st_ctime_ns < time.time_ns() - SETTLED_NS:
                self._known[path] = known
        return known

    def _read(self, folder: int, path: str, signature: tuple[int, ...], blob: str, *, saves: bool) -> _Known:
        size = 0

        def keep(digest: str, data: bytes) -> None:
            nonlocal size
            size = len(data)
            if digest == blob:
                self._in_git.add(digest)
            elif saves:
                with suppress(OSError):  # then it cannot be restored
                    self._store.put(digest, data)

        state = state_in(folder, os.path.basename(path), keep)
        return _Known(signature, state, size)

    def _has(self, state: FileState) -> bool:
        return state.kind != "file" or state.content in self._in_git or state.content in self._store

    # -- git ----------------------------------------------------------------------------------------------------------

    def _unread(self, done: subprocess.CompletedProcess[bytes]) -> Iterator[str]:
        """The folders that git could not list, which it names from the top of the work tree; `.` if that is unclear."""
        for named in _UNREAD.findall(done.stderr):
            parts = PurePosixPath(os.fsdecode(named)).parts
            below = ("/".join(parts[index:]) for index in range(len(parts)))
            yield next((path for path in below if os.path.isdir(os.path.join(self._tree.root, path))), ".")

    def _contents(self, digests: list[str], seconds: float) -> Iterator[tuple[str, bytes]]:
        """Those that git still has: `NAME TYPE SIZE`, a line feed, the content, a line feed."""
        with suppress(SnapshotError):
            given = "".join(f"{each}\n" for each in digests).encode()
            output = BytesIO(self._git("cat-file", "--batch", given=given, seconds=seconds).stdout)
            while head := output.readline().split():
                if len(head) == 3:
                    data = output.read(int(head[2]) + 1)[:-1]
                    if digest_of(data) == head[0].decode():
                        yield head[0].decode(), data

    def _git(self, *arguments: str, given: bytes = b"", seconds: float = SECONDS) -> subprocess.CompletedProcess[bytes]:
        if self._program is None:
            raise SnapshotError(NO_GIT)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            return subprocess.run(
                (self._program, *_OPTIONS, *arguments),
                cwd=self._tree.root,
                env=environment | _ENVIRONMENT,
                input=given,
                capture_output=True,
                timeout=seconds,
                check=True,
            )
        except subprocess.TimeoutExpired as error:
            raise SnapshotError("git took too long to list the files of the project") from error
        except (OSError, subprocess.CalledProcessError) as error:
            raise SnapshotError from error


def _names(done: subprocess.CompletedProcess[bytes]) -> list[bytes]:
    return done.stdout.split(b"\0")[:-1]


def _listed(line: bytes) -> tuple[str, str]:
    """The path, and the blob that the index has: `MODE BLOB STAGE<tab>PATH`, or the path alone of a new file."""
    match = _STAGED.fullmatch(line)
    path, blob = (match[2], match[1].decode()) if match else (line, "")
    return os.fsdecode(path).rstrip("/"), blob
