"""Read and write text files inside one folder: `fs/read_text_file` and `fs/write_text_file`.

A path is resolved once, links and all, and must end inside the root. The resulting `ProjectPath` is what is shown,
judged and opened: each folder on the way and the file itself are opened by descriptor and never through a link, so that
nothing swapped in afterwards leads elsewhere. The work is done in threads, to keep slow disks out of the event loop.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import PurePath
from typing import BinaryIO

from anyio import CapacityLimiter, to_thread

from ..errors import HostError, HostMissing, HostRefused
from ..permissions.paths import is_never_written, protection
from ..system.drives import spelling_problem
from ..system.files import keep_rights
from ..system.folders import OpenFolder

MAX_PATH_BYTES = 4096
"""Limit of a path, as on Linux."""
MAX_TEXT_BYTES = 10 * 1024 * 1024
"""Limit of a file that is read or written."""
THREADS = 4

_SWAPPED = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.EINVAL)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENAMETOOLONG, errno.ENXIO, errno.ETXTBSY)


@dataclass(frozen=True, slots=True)
class ProjectPath:
    """A path inside `root` without links in it. `sensitive` is the reason why no rule may allow it, mostly empty."""

    root: str
    parts: tuple[str, ...]
    sensitive: str = ""

    @property
    def path(self) -> str:
        """The whole path, as the user must see it."""
        return os.path.join(self.root, *self.parts)


def locate(root: str, path: str) -> ProjectPath:
    """Resolve `path`, which need not exist; `root` is a real path. Raises HostRefused."""
    _check(path)
    with translating(path):
        real = PurePath(os.path.realpath(path))
    if not real.is_relative_to(root):
        raise HostRefused(f"{path} is outside {root}")
    parts = real.relative_to(root).parts
    if not parts:
        raise HostRefused(f"{path} is a folder")
    return ProjectPath(root, parts, protection(parts, changes=False) or "")


@contextmanager
def opened_folder(place: ProjectPath, *, create: bool = False) -> Iterator[OpenFolder]:
    """The folder that holds the file. Raises OSError, also for a part that would lead elsewhere."""
    if any(part == ".." or "/" in part for part in place.parts):
        raise PermissionError(errno.EPERM, "not a path below the folder", place.path)
    folder = OpenFolder(place.root)
    try:
        for name in place.parts[:-1]:
            if create:
                with suppress(FileExistsError):
                    folder.make_folder(name)
            inner = folder.enter(name)
            folder.close()
            folder = inner
        yield folder
    finally:
        folder.close()


def check_regular(found: os.stat_result, place: ProjectPath) -> None:
    """Raises HostRefused for folders, links, devices, pipes, sockets."""
    if not stat.S_ISREG(found.st_mode):
        raise HostRefused(f"{place.path} is not a regular file")


@contextmanager
def translating(path: str) -> Iterator[None]:
    """Turn an OSError about a path into a HostError."""
    try:
        yield
    except FileNotFoundError as error:
        raise HostMissing(f"{path} does not exist") from error
    except OSError as error:
        if error.errno in _SWAPPED:
            raise HostRefused(
                f"{path}: part of it is not a folder, or is a link that cannot be followed safely"
            ) from error
        kind = HostRefused if error.errno in _REFUSED else HostError
        raise kind(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise HostRefused(f"{path}: too many links") from error


def _check(path: str) -> None:
    try:
        length = len(path.encode())
    except UnicodeEncodeError as error:
        raise HostRefused(f"{path!r} is not a valid file name") from error
    if "\0" in path or length > MAX_PATH_BYTES:
        raise HostRefused(f"{path[:100]!r} is not a valid path: it is too long or has a null character")
    if not os.path.isabs(path):
        raise HostRefused(f"{path!r} is not absolute")
    if spelling := spelling_problem(path):
        raise HostRefused(f"{path!r} {spelling}")
    if os.path.basename(path) in ("", ".", ".."):
        raise HostRefused(f"{path} is a folder")


# -- reading and writing ---------------------------------------------------------------------------------------------


class Files:
    """The files under the folder `root`. Nothing under the `protected` paths is ever written."""

    def __init__(self, root: str | os.PathLike[str], protected: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.root = os.path.realpath(root)
        self._protected = [os.path.realpath(path) for path in protected]
        self._threads = CapacityLimiter(THREADS)

    async def locate(self, path: str, *, to_write: bool = False) -> ProjectPath:
        """Resolve an absolute path, which need not exist. Raises HostRefused."""
        place = await to_thread.run_sync(locate, self.root, path, limiter=self._threads)
        if to_write:
            self._check_writable(place)
        return place

    async def read(self, place: ProjectPath, line: int | None = None, limit: int | None = None) -> str:
        """The text from `line` (1-based) on, at most `limit` lines with their line feeds; empty past the end.

        Raises HostMissing, HostRefused, HostError.
        """
        if (line or 0) < 0 or (limit or 0) < 0:
            raise HostRefused("line and limit must not be negative")
        return await to_thread.run_sync(_read, place, line or 1, limit, abandon_on_cancel=True, limiter=self._threads)

    async def write(self, place: ProjectPath, content: str) -> None:
        """Replace the file atomically, or create it with the folders it needs.

        A write that has begun cannot be cancelled. Raises HostRefused, HostError.
        """
        self._check_writable(place)
        await to_thread.run_sync(_write, place, _encoded(place, content), limiter=self._threads)

    def _check_writable(self, place: ProjectPath) -> None:
        ours = any(PurePath(place.path).is_relative_to(path) for path in self._protected)
        if ours or is_never_written(place.parts):
            raise HostRefused(f"Agents may not write {place.path}", "Change it yourself.")


def read_for_display(root: str, path: str, limit: int) -> str:
    """The text of a file of at most `limit` bytes; `path` is absolute and must lie inside `root`.

    Reads at once. Raises HostError, also for a file that may hold secrets: the agent has not shown all of it.
    """
    place = locate(os.path.realpath(root), path)
    if place.sensitive:
        raise HostRefused(f"{place.path} {place.sensitive}")
    return _decoded(place, _content(place, limit), "utf-8-sig")


# -- in a thread ----------------------------------------------------------------------------------------------------


def _read(place: ProjectPath, line: int, limit: int | None) -> str:
    content, first = BytesIO(_content(place, MAX_TEXT_BYTES)), min(line - 1, MAX_TEXT_BYTES)
    lines = islice(content, first, None if limit is None else first + min(limit, MAX_TEXT_BYTES))
    return _decoded(place, b"".join(lines), "utf-8")


def _content(place: ProjectPath, limit: int) -> bytes:
    """The bytes of a file, at most `limit`: files grow, and some lie about their size."""
    with translating(place.path), _opened(place) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise HostRefused(f"{place.path} is larger than {limit} bytes")
    return data


def _decoded(place: ProjectPath, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise HostRefused(f"{place.path} is not UTF-8 text (byte {error.start} of the requested text)") from error


@contextmanager
def _opened(place: ProjectPath) -> Iterator[BinaryIO]:
    """Checked before it is opened, since opening a device may have effects, and again after."""
    with opened_folder(place) as folder:
        name = place.parts[-1]
        check_regular(folder.stat(name), place)
        descriptor = folder.open(name, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        check_regular(os.fstat(descriptor), place)
        yield file


def _encoded(place: ProjectPath, content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise HostRefused(f"{place.path}: the content cannot be encoded in UTF-8") from error
    if len(data) > MAX_TEXT_BYTES:
        raise HostRefused(f"{place.path}: the content is more than {MAX_TEXT_BYTES} bytes")
    return data


def _write(place: ProjectPath, data: bytes) -> None:
    with translating(place.path), opened_folder(place, create=True) as folder:
        before = _replaceable(place, folder)
        beside = f".copilot-kernel-{secrets.token_hex(8)}"
        try:
            _fill(beside, folder, data, before)
            folder.replace(place.parts[-1], beside)
        except BaseException:
            with suppress(FileNotFoundError):
                folder.unlink(beside)
            raise
        with suppress(OSError):  # some file systems cannot; the text itself is safe by now
            folder.sync()


def _replaceable(place: ProjectPath, folder: OpenFolder) -> os.stat_result | None:
    """The present file. Replacing it needs no write permission, but a read-only file is meant to stay."""
    name = place.parts[-1]
    try:
        before = folder.stat(name)
    except FileNotFoundError:
        return None
    check_regular(before, place)
    if not folder.is_writable(name):
        raise HostRefused(f"{place.path} is read-only")
    return before


def _fill(name: str, folder: OpenFolder, data: bytes, before: os.stat_result | None) -> None:
    descriptor = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if before else 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if before:
            keep_rights(descriptor, before)
        os.fsync(descriptor)
