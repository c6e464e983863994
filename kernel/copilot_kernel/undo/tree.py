"""The files below one folder: what is there, and putting something else there.

Each folder on the way and the file itself are opened by descriptor and never through a link, so that nothing leads out
of the folder. A path is relative to it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from ..host.files import FILE, FOLDER, ProjectPath, opened_folder

MAX_FILE_BYTES = 5 * 1000 * 1000
"""Larger files are not saved."""
NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""All other errors leave open what is there."""

Keep = Callable[[str, bytes], None]
"""Gets the digest and the content of a file that was read."""


def _ignore(digest: str, data: bytes) -> None:
    """Only the state is wanted."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path. `mode` has the permission bits of a file.

    `content` is the digest of a file, the target of a link, and what tells one `large` file from another. `unknown` is
    what could not be read.
    """

    kind: Literal["absent", "file", "link", "folder", "large", "special", "unknown"]
    mode: int = 0
    content: str = ""

    @property
    def is_restorable(self) -> bool:
        """Whether it can be restored, if its content was saved."""
        return self.kind in ("absent", "file", "link")


ABSENT, UNKNOWN = FileState("absent"), FileState("unknown")


def digest_of(data: bytes) -> str:
    """As git names a blob, so that what a repository has need not be saved again."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Tree:
    """What is below `root`, an absolute path."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def places(self, path: str, folder: str) -> tuple[str, ...]:
        """The paths below the root that an agent may mean by `path`: a link itself, and where it leads."""
        path = os.path.join(self.root, folder, path.removeprefix("file://"))
        try:
            parent, name = os.path.split(path.rstrip("/"))
            found = (os.path.join(os.path.realpath(parent), name), os.path.realpath(path))
        except (OSError, ValueError):
            return ()
        inner = (PurePosixPath(each).relative_to(self.root) for each in found if self._holds(each))
        return tuple(dict.fromkeys(each.as_posix() for each in inner if each.parts and ".." not in each.parts))

    def observe(self, path: str, keep: Keep = _ignore) -> FileState:
        """What is at `path`; `keep` gets its content. Raises OSError, also what `keep` raises."""
        try:
            with self._folder(path) as folder:
                return state_in(folder, os.path.basename(path), keep)
        except OSError as error:
            if error.errno in NOT_THERE:
                return ABSENT
            raise

    def walk(self, path: str, unread: Callable[[str], object]) -> Iterator[str]:
        """The files below the folder `path`; `unread` gets the folders that cannot be listed."""

        def fail(error: OSError) -> None:
            unread(os.path.relpath(os.fsdecode(error.filename), self.root))

        for folder, folders, names in os.walk(os.path.join(self.root, path), onerror=fail):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            for name in (*names, *links):
                yield os.path.relpath(os.path.join(folder, name), self.root)

    def replace(self, path: str, expected: FileState, state: FileState, data: bytes) -> bool:
        """Put `state` at `path`, wholly or not at all; False if something else than `expected` is there.

        Raises OSError; what is there is then untouched.
        """
        if state.kind == "absent":
            return self._remove(path, expected)
        name, beside = os.path.basename(path), f".copilot-kernel-{secrets.token_hex(8)}"
        with self._folder(path, create=True) as folder:
            try:
                _make(folder, beside, state, data)
                if _state_or_absent(folder, name) != expected:
                    os.unlink(beside, dir_fd=folder)
                    return False
                if expected.kind == "folder":
                    _remove_empty(folder, name)
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(beside, dir_fd=folder)
                raise
        return True

    def remove_empty(self, path: str) -> None:
        """Remove the folder `path` and those in it, except where there are files."""
        with suppress(OSError), self._folder(path) as folder:
            _remove_empty(folder, os.path.basename(path))

    def _remove(self, path: str, expected: FileState) -> bool:
        with self._folder(path) as folder:
            name = os.path.basename(path)
            if _state_or_absent(folder, name) != expected:
                return False
            os.unlink(name, dir_fd=folder)
        return True

    def _holds(self, path: str) -> bool:
        return PurePosixPath(path).is_relative_to(self.root)

    @contextmanager
    def _folder(self, path: str, *, create: bool = False) -> Iterator[int]:
        with opened_folder(ProjectPath(self.root, PurePosixPath(path).parts), create=create) as folder:
            yield folder


def state_in(folder: int, name: str, keep: Keep = _ignore) -> FileState:
    """What `name` is in the open folder. Raises OSError."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        return FileState("link", content=os.readlink(name, dir_fd=folder))
    if stat.S_ISDIR(found.st_mode):
        return FileState("folder")
    if not stat.S_ISREG(found.st_mode):
        return FileState("special")
    data = b""
    if found.st_size <= MAX_FILE_BYTES:
        with os.fdopen(os.open(name, os.O_RDONLY | FILE, dir_fd=folder), "rb", buffering=0) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    if max(found.st_size, len(data)) > MAX_FILE_BYTES:
        return FileState("large", content=f"{found.st_ino} {found.st_size} {found.st_mtime_ns}")
    digest = digest_of(data)
    keep(digest, data)
    return FileState("file", stat.S_IMODE(found.st_mode) & 0o777, digest)


def _state_or_absent(folder: int, name: str) -> FileState:
    try:
        return state_in(folder, name)
    except FileNotFoundError:
        return ABSENT


def _remove_empty(folder: int, name: str) -> None:
    """Raises OSError if there is a file, after the empty folders beside it were removed."""
    inner = os.open(name, FOLDER, dir_fd=folder)
    try:
        for each in os.listdir(inner):
            with suppress(NotADirectoryError):
                _remove_empty(inner, each)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=folder)


def _make(folder: int, name: str, state: FileState, data: bytes) -> None:
    if state.kind == "link":
        os.symlink(state.content, name, dir_fd=folder)
        return
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(descriptor, state.mode)
        os.fsync(descriptor)
