"""The files below one folder: what is there, and putting something else there.

A path is relative to the folder. One that leads out of it, or through a link, is refused before it is used.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# Larger files are not saved.
MAX_FILE_BYTES = 5 * 1000 * 1000
_SAFE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"))


@dataclass(frozen=True, slots=True)
class FileState:
    """State of a path. `mode` has the permission bits of a file; a folder counts as absent.

    `content` is the digest of a file or of the target of a link, and what tells one `large` file from another.
    `unknown` is what could not be read.
    """

    kind: Literal["absent", "file", "link", "large", "special", "unknown"]
    mode: int = 0
    content: str = ""

    def is_like(self, other: FileState) -> bool:
        """Return True if Git would see no difference: of the mode, it knows only whether the owner may execute."""
        return (self.kind, self.content, self.mode & 0o100) == (other.kind, other.content, other.mode & 0o100)


ABSENT, UNKNOWN = FileState("absent"), FileState("unknown")


def digest_of(data: bytes) -> str:
    """Return the digest by which Git names a blob."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Tree:
    """Tree below `root`, an absolute path. It follows no links."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def place(self, path: str) -> str:
        """The whole path, of which nothing but the last part may be a link. Raises OSError."""
        whole = os.path.normpath(os.path.join(self.root, path))
        parent = os.path.dirname(whole)
        if Path(self.root) not in Path(whole).parents:
            raise PermissionError(errno.EPERM, "not a path below the folder", path)
        if os.path.realpath(parent) != parent:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return whole

    def read(self, path: str) -> tuple[FileState, bytes]:
        """Return the state of `path`, and the content of a file or the target of a link."""
        try:
            return _read(self.place(path))
        except OSError as error:  # all others leave open what is there
            return (ABSENT if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP) else UNKNOWN), b""

    def replace(self, path: str, expected: FileState, state: FileState, data: bytes) -> bool:
        """Put `state` at `path`, wholly or not at all; False if something else than `expected` is there.

        Raises OSError; what is there is then untouched, but for empty folders.
        """
        place = self.place(path)
        if state == ABSENT:
            if is_expected := self.read(path)[0] == expected:
                os.unlink(place)
            return is_expected
        beside = os.path.join(os.path.dirname(place), f".copilot-kernel-{secrets.token_hex(8)}")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            _make(beside, state, data)
            if is_expected := self.read(path)[0] == expected:
                self.remove_empty(path)
                os.replace(beside, place)
            return is_expected
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside)

    def remove_empty(self, path: str) -> None:
        """Remove the folder `path`, if it is one, and those in it. Raises OSError where there are files."""
        place = self.place(path)
        for each, _, _ in os.walk(place, topdown=False) if os.path.realpath(place) == place else ():
            os.rmdir(each)


def _read(place: str) -> tuple[FileState, bytes]:
    found = os.lstat(place)
    if stat.S_ISLNK(found.st_mode):
        data = os.fsencode(os.readlink(place))
        return FileState("link", content=digest_of(data)), data
    if not stat.S_ISREG(found.st_mode):
        return (ABSENT if stat.S_ISDIR(found.st_mode) else FileState("special")), b""
    with os.fdopen(os.open(place, os.O_RDONLY | _SAFE), "rb", buffering=0) as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        return FileState("large", content=f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"), b""
    return FileState("file", stat.S_IMODE(found.st_mode) & 0o777, digest_of(data)), data


def _make(place: str, state: FileState, data: bytes) -> None:
    if state.kind == "link":
        os.symlink(os.fsdecode(data), place)
        return
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    os.chmod(place, state.mode)
