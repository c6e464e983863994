"""The Git repository that holds what the files of a project were: its trees are the snapshots.

It is ours alone, bare, and has the project as its work tree. Its own attributes, which count more than those of the
project, switch off filters, line ends, `$Id$` and encodings, and no configuration but the options below counts: nothing
that a project names is run, and the bytes are those on the disk. The objects of the project's repository are alternates
of it: what Git has there is not copied.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from threading import RLock

from ..environment import environment_of
from ..programs import find_outside, project_folders
from ..system.files import READING, lock, remove_tree
from .tree import ABSENT, MAX_FILE_BYTES, FileState, Tree, digest_of

# Seconds that a Git command other than a snapshot may take.
SNAPSHOT_SECONDS = 1.0
# Of a project that is not in a Git work tree.
MAX_FILES, MAX_BYTES = 20_000, 500 * 1000 * 1000
# Of one conversation, and of all of the user's; and what of it snapshots leave for files that calls name.
MAX_COPIED, MAX_ALL_COPIED, RESERVED = 500 * 1000 * 1000, 1000 * 1000 * 1000, 50 * 1000 * 1000
# Added at once: when a snapshot is broken off, the next one goes on after that.
PART_FILES = 500
# Of a file with patterns or settings.
MAX_SMALL = 1_000_000
POLL_SECONDS = 0.05
NO_GIT = "there is no `git` on PATH that is outside the project"
SNAPSHOT_TOO_SLOW = "the snapshot was not done in time"
TOO_LARGE = f"outside a Git work tree, at most {MAX_FILES:,} files of 500 MB in all are covered"
HOME = "outside a Git work tree, a folder that is or contains your home folder is not covered"
FULL = "too much is saved for undo"
GIT_FAILED, CLOSED = "Git failed", "the conversation has ended"

_OPTIONS = (
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.autocrlf=false",
    "-c", f"core.fileMode={str(os.name != 'nt').lower()}",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.symlinks=true",
    "-c", "core.untrackedCache=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "protocol.allow=never",
)  # fmt: skip
_USERS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
_ENVIRONMENT = {**_USERS, "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}
_ATTRIBUTES = "* -text -eol -crlf -ident -filter -working-tree-encoding\n"
_LIST = ("ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")
_IGNORED = ("ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard")
_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_DIFF = ("diff-tree", "-r", "-z", "--no-renames", "--relative")
_UNREAD = b"warning: could not open directory '"

# By path, what is there, or None.
Found = dict[str, os.stat_result | None]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files at one moment, as a tree of Git's, and what has `changed` since an earlier one: by path, before and
    after. Nothing is known of the `uncovered` files and folders: they are ignored, too large, in another repository, or
    `unread`.

    `problem` is why there is none; empty if there is one.
    """

    problem: str = ""
    tree: str = ""
    files: Found = field(default_factory=dict)
    uncovered: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    changed: Mapping[str, tuple[FileState, FileState]] = field(default_factory=dict)

    def covers(self, path: str) -> bool:
        """Return True if the snapshot knows what was at `path`, or that nothing was."""
        return not self.problem and self.uncovered.isdisjoint((path, *map(str, PurePosixPath(path).parents)))


class Repository:
    """Repository of the project `tree`, in a folder below `parent`; made when first needed, and removed by `close`.

    All methods block, and may be called from any thread; but only one snapshot is taken at a time.
    """

    def __init__(self, tree: Tree, parent: Path) -> None:
        root = Path(tree.root)
        self._tree, self._parent = tree, parent
        environment = environment_of(tree.root)
        folders = project_folders(tree.root, environment.home) or (root,)
        self._program = find_outside("git", folders, environment.variables())
        self._work_tree: Path | None = None
        self._options: tuple[str, ...] = _OPTIONS
        self._folder: Path | None = None
        self._making, self._is_closed = RLock(), False
        # What is in the index; and its tree, empty if it has changed since that was written.
        self._files: Found = {}
        self._last = ""
        # Bytes that may be copied; known when they are needed.
        self._left = 0

    def snapshot(self, is_over: Callable[[], bool], since: Snapshot | None = None) -> Snapshot:
        """The files as they are now. Given up when `is_over`; then the next one goes on from there."""
        try:
            taken = self._snapshot(is_over)
            if since is None or since.problem:
                return taken
            found = self._git(*_DIFF, since.tree, taken.tree)[0].split(b"\0")
            lines = zip(found[:-1:2], map(os.fsdecode, found[1::2]), strict=True)
            return replace(taken, changed={path: _states(line, path, since, taken) for line, path in lines})
        except OSError as error:
            return Snapshot(error.strerror or str(error))
        except subprocess.CalledProcessError:  # the next one starts from scratch
            self._files, self._last = {}, ""
            with suppress(OSError):
                (self._made() / "index").unlink()
            return Snapshot(GIT_FAILED)

    def content(self, digest: str) -> bytes | None:
        """Return a blob; None if it is not there, or does not have the content that its name says."""
        try:
            data, _ = self._git("cat-file", "blob", digest)
        except (OSError, subprocess.CalledProcessError):
            return None
        return data if digest_of(data) == digest else None

    def store(self, digest: str, data: bytes) -> None:
        """Save the content of a file, as an object of Git's. Raises OSError, also when there is too much."""
        place = self._made() / "objects" / digest[:2] / digest[2:]
        if not place.exists():
            self._reserve(len(data))
            place.parent.mkdir(exist_ok=True)
            beside = place.with_name(f"tmp_obj_{digest}")
            beside.write_bytes(zlib.compress(b"blob %d\0" % len(data) + data, 1))
            beside.replace(place)

    def close(self) -> None:
        """Remove everything; nothing can be saved after that."""
        with self._making:
            folder, self._folder, self._is_closed = self._folder, None, True
        if folder is not None:
            self._lock.close()
            remove_tree(folder)

    # -- a snapshot ---------------------------------------------------------------------------------------------------

    def _snapshot(self, is_over: Callable[[], bool]) -> Snapshot:
        (self._made() / "index.lock").unlink(missing_ok=True)  # of one that was broken off
        if self._work_tree is None and environment_of(self._tree.root).home.is_relative_to(self._tree.root):
            raise OSError(errno.EFBIG, HOME)
        names, warnings = self._git(*_LIST, is_over=is_over)
        ignored, _ = self._git(*_IGNORED, is_over=is_over)
        uncovered, unread = {name.rstrip("/") for name in _names(ignored)}, [*self._unread(warnings)]
        changed = self._sorted_out(set(_names(names)), uncovered, unread)
        sizes = [found.st_size for found in {**self._files, **changed}.values() if found]
        if self._work_tree is None and (len(sizes) > MAX_FILES or sum(sizes) > MAX_BYTES):
            raise OSError(errno.EFBIG, TOO_LARGE)
        paths = sorted(changed, key=lambda path: changed[path] is not None)  # a folder may have replaced a file
        for part in (paths[at : at + PART_FILES] for at in range(0, len(paths), PART_FILES)):
            self._last = ""
            self._reserve(sum(found.st_size for path in part if (found := changed[path])), RESERVED)
            self._git(*_UPDATE, given="".join(f"{path}\0" for path in part), is_over=is_over)
            self._files.update((path, changed[path]) for path in part)
        self._last = self._last or self._git("write-tree", is_over=is_over)[0].decode().strip()
        return Snapshot("", self._last, dict(self._files), frozenset(uncovered.union(unread)), tuple(unread))

    def _sorted_out(self, names: set[str], uncovered: set[str], unread: list[str]) -> Found:
        """Return what can be added, and note the others: Git itself would give up at a file that it cannot read."""
        changed: Found = {}
        for path in names:
            try:
                place = self._tree.place(path.rstrip("/"))
                found = os.lstat(place)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENOTDIR):
                    changed[path] = None
                elif error.errno != errno.ELOOP:  # else a link has replaced a folder: Git removes what was in that
                    unread.append(path)
                continue
            kind, is_effective = stat.S_IFMT(found.st_mode), os.access in os.supports_effective_ids
            is_known = kind in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR) and not path.endswith("/")
            if not is_known or found.st_size > MAX_FILE_BYTES:
                uncovered.add(path.rstrip("/"))
            elif kind == stat.S_IFREG and not os.access(place, os.R_OK, effective_ids=is_effective):
                unread.append(path)
            else:
                changed[path] = None if kind == stat.S_IFDIR else found
        return changed

    def _unread(self, warnings: bytes) -> Iterator[str]:
        """The folders that Git could not list; the whole project where that is unclear."""
        for line in warnings.splitlines():
            if line.startswith(_UNREAD):
                named = os.fsdecode(line[len(_UNREAD) :].rpartition(b"'")[0])
                path = os.path.relpath(os.path.join(self._work_tree or "", named), self._tree.root)
                yield path if os.path.isdir(os.path.join(self._tree.root, path)) else "."

    # -- the folder ---------------------------------------------------------------------------------------------------

    def _made(self) -> Path:
        """The lock says that a process still uses the folder; what one that died has left is removed."""
        with self._making:
            if self._is_closed or self._program is None:
                raise OSError(errno.EBADF, CLOSED if self._program else NO_GIT)
            if self._folder is None:
                self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _remove_left(self._parent)
                self._folder = Path(tempfile.mkdtemp(dir=self._parent))
                self._lock = (self._folder / "lock").open("w")
                lock(self._lock.fileno())
                self._initialize(self._folder)
            return self._folder

    def _initialize(self, folder: Path) -> None:
        """All that an empty repository has. Until it has a `HEAD`, Git does not use it."""
        for name in ("refs", "info", "objects/info"):
            (folder / name).mkdir(parents=True)
        (folder / "info" / "attributes").write_text(_ATTRIBUTES)
        excludes, root = ".*\n", Path(self._tree.root)
        self._work_tree = next((each for each in (root, *root.parents) if (each / ".git").exists()), None)
        if self._work_tree is not None:
            common = _common_folder(self._work_tree / ".git")
            excludes = _text(common / "info" / "exclude")
            if "objectformat" not in _text(common / "config").lower():  # else its objects have other names
                (folder / "objects" / "info" / "alternates").write_bytes(os.fsencode(common / "objects"))
        (folder / "info" / "exclude").write_bytes(os.fsencode(excludes))
        asked = ("config", "--global", "--includes", "--type=path", "--get", "core.excludesFile")
        with suppress(subprocess.CalledProcessError):  # there is none
            named = os.fsdecode(self._git(*asked, environment=_USERS)[0]).removesuffix("\n")
            self._options = (*_OPTIONS, "-c", f"core.excludesFile={named}")
        (folder / "HEAD").write_text("ref: refs/heads/main\n")

    def _reserve(self, size: int, kept: int = 0) -> None:
        """Count what is about to be copied, at most. Raises OSError if then less than `kept` were left."""
        if kept or self._left < size:  # Git may have copied less
            sizes = {folder: _size(folder) for folder in self._parent.iterdir()}
            self._left = min(MAX_COPIED - sizes.get(self._made(), 0), MAX_ALL_COPIED - sum(sizes.values()))
        if self._left < size + kept:
            raise OSError(errno.ENOSPC, FULL)
        self._left -= size

    # -- Git ----------------------------------------------------------------------------------------------------------

    def _git(
        self,
        *arguments: str,
        given: str = "",
        is_over: Callable[[], bool] | None = None,
        environment: Mapping[str, str] = _ENVIRONMENT,
    ) -> tuple[bytes, bytes]:
        """Run git; return its output and warnings. Raises OSError and CalledProcessError."""
        where = (f"--git-dir={self._made()}", f"--work-tree={self._work_tree or self._tree.root}")
        command = (self._program or "", *where, *self._options, *arguments)
        environ = environment_of(self._tree.root).variables()
        inherited = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        pipe, data, deadline = subprocess.PIPE, os.fsencode(given), time.monotonic() + SNAPSHOT_SECONDS
        with subprocess.Popen(
            command, cwd=self._tree.root, env={**inherited, **environment}, stdin=pipe, stdout=pipe, stderr=pipe
        ) as process:
            while True:
                try:
                    found = process.communicate(data, timeout=POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired as error:
                    data = b""  # it is sent once
                    if is_over() if is_over else time.monotonic() > deadline:
                        process.kill()
                        raise TimeoutError(errno.ETIMEDOUT, SNAPSHOT_TOO_SLOW) from error
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, *found)
        return found


def _names(listed: bytes) -> list[str]:
    return list(map(os.fsdecode, listed.split(b"\0")[:-1]))


def _states(line: bytes, path: str, start: Snapshot, end: Snapshot) -> tuple[FileState, FileState]:
    """Return the states of one file, from a line of `diff-tree`: `:MODE MODE BLOB BLOB LETTER`."""
    old, new, before, after, _ = line[1:].decode().split(" ")
    state = _state(new, after, end.files.get(path))
    return _state(old, before, (end if old == new else start).files.get(path)), state


def _state(mode: str, digest: str, found: os.stat_result | None) -> FileState:
    """`found` has the whole mode, but may be older: of a file that is not changed otherwise, Git does not tell."""
    if not mode.startswith("100"):
        return FileState("link", content=digest) if mode == "120000" else ABSENT
    known, exact = int(mode[-3:], 8), stat.S_IMODE(found.st_mode) & 0o777 if found else 0
    return FileState("file", exact if exact and exact & 0o100 == known & 0o100 else known, digest)


def _remove_left(parent: Path) -> None:
    for folder in parent.iterdir():
        with suppress(OSError):
            with (folder / "lock").open("r+") as file:  # one without a lock is just being made
                lock(file.fileno())
                remove_tree(folder)
            remove_tree(folder)  # Windows does not remove a file that is open


def _size(folder: Path) -> int:
    """Bytes. What goes meanwhile is not counted."""
    places = (os.path.join(inner, name) for inner, _, names in os.walk(folder) for name in names)
    return sum(os.lstat(place).st_size for place in places if os.path.lexists(place))


def _common_folder(named: Path) -> Path:
    """Return the repository whose work tree has `named`: that folder, or what it names, as in further work trees."""
    folder = named if named.is_dir() else named.parent / _text(named).removeprefix("gitdir:").strip()
    return folder / _text(folder / "commondir").strip()


def _text(file: Path) -> str:
    """The beginning of a file; nothing if it is no regular one."""
    with suppress(OSError, ValueError):
        descriptor = os.open(file, READING)
        with os.fdopen(descriptor, "rb") as opened:
            return os.fsdecode(opened.read(MAX_SMALL)) if stat.S_ISREG(os.fstat(descriptor).st_mode) else ""
    return ""
