"""Where a path of the agent's really leads, and how to get there without following a link.

A path is resolved once, links and all, and must end inside the root. What is then shown, judged and opened is that
`Place`: each folder on the way and the file itself are opened by descriptor and never through a link, so that nothing
swapped in afterwards leads elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..errors import HostError, HostMissing, HostRefused
from ..permissions.paths import protection

MAX_PATH = 4096
"""Bytes of a path, as on Linux."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_SWAPPED = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.EINVAL)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENAMETOOLONG, errno.ENXIO, errno.ETXTBSY)


@dataclass(frozen=True, slots=True)
class Place:
    """A path inside `root` without links in it. `sensitive` says why no rule may allow it, and is mostly empty."""

    root: str
    parts: tuple[str, ...]
    sensitive: str = ""

    @property
    def path(self) -> str:
        """The whole path: what a question must show."""
        return os.path.join(self.root, *self.parts)


def locate(root: str, path: str) -> Place:
    """The place that `path` means, which need not exist; `root` is a real path. Raises HostRefused."""
    _check(path)
    with translating(path):
        real = PurePosixPath(os.path.realpath(path))
    if not real.is_relative_to(root):
        raise HostRefused(f"{path} is outside of {root}")
    parts = real.relative_to(root).parts
    if not parts:
        raise HostRefused(f"{path} is a folder")
    return Place(root, parts, protection(parts, changes=False) or "")


@contextmanager
def opened_folder(place: Place, *, create: bool = False) -> Iterator[int]:
    """A descriptor of the folder that holds the place. Raises OSError."""
    folder = os.open(place.root, FOLDER)
    try:
        for name in place.parts[:-1]:
            inner = _enter(folder, name, create)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def check_regular(found: os.stat_result, place: Place) -> None:
    """Raises HostRefused for folders, links, devices, pipes, sockets."""
    if not stat.S_ISREG(found.st_mode):
        raise HostRefused(f"{place.path} is no regular file")


@contextmanager
def translating(path: str) -> Iterator[None]:
    """What the operating system says about a path becomes a HostError."""
    try:
        yield
    except FileNotFoundError as error:
        raise HostMissing(f"There is no file {path}") from error
    except OSError as error:
        if error.errno in _SWAPPED:
            raise HostRefused(f"{path}: a part of it is no folder, or a link that leads nowhere safe") from error
        kind = HostRefused if error.errno in _REFUSED else HostError
        raise kind(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise HostRefused(f"{path}: too many links") from error


def _check(path: str) -> None:
    try:
        length = len(path.encode())
    except UnicodeEncodeError as error:
        raise HostRefused(f"{path!r} is no text that could name a file") from error
    if "\0" in path or length > MAX_PATH:
        raise HostRefused(f"{path[:100]!r} cannot be a path: it is too long, or has a null character")
    if not path.startswith("/"):
        raise HostRefused(f"{path!r} is not absolute")
    if path.rpartition("/")[2] in ("", ".", ".."):
        raise HostRefused(f"{path} is a folder")


def _enter(folder: int, name: str, create: bool) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return os.open(name, FOLDER, dir_fd=folder)
