"""Reading and writing text files, only inside one folder: `fs/read_text_file` and `fs/write_text_file`.

The work is done in threads, so that a slow disk holds up nobody.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from anyio import CapacityLimiter, to_thread

from ..errors import HostRefused
from ..permissions.paths import is_never_written
from . import places
from .places import FILE, Place, check_regular, opened_folder, translating

MAX_TEXT = 10 * 1024 * 1024
"""Bytes that one answer or one written file may have."""
MAX_SCAN = 1024 * 1024 * 1024
"""Bytes that are looked at to find a line."""
PIECE = 64 * 1024
THREADS = 4


class Files:
    """The files under `root`, a folder. What is under one of the paths in `protected` is never written."""

    def __init__(self, root: str | os.PathLike[str], protected: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.root = os.path.realpath(root)
        self._protected = [os.path.realpath(path) for path in protected]
        self._threads = CapacityLimiter(THREADS)

    async def locate(self, path: str, *, to_write: bool = False) -> Place:
        """What an absolute path means, links followed; it need not exist. Raises HostRefused."""
        place = await to_thread.run_sync(places.locate, self.root, path, limiter=self._threads)
        if to_write:
            self._check_writable(place)
        return place

    async def read(self, place: Place, line: int | None = None, limit: int | None = None) -> str:
        """The text as it is, from `line` (1-based) on, at most `limit` lines; past the end it is empty.

        Lines end with a line feed, which belongs to them. Raises HostMissing, HostRefused, HostError.
        """
        if (line or 0) < 0 or (limit or 0) < 0:
            raise HostRefused("line and limit must not be negative")
        return await to_thread.run_sync(_read, place, line or 1, limit, abandon_on_cancel=True, limiter=self._threads)

    async def write(self, place: Place, content: str) -> None:
        """Replace the file, or create it with the folders it needs: wholly, or not at all.

        A write that has begun is not cancelled. Raises HostRefused, HostError.
        """
        self._check_writable(place)
        await to_thread.run_sync(_write, place, _encoded(place, content), limiter=self._threads)

    def _check_writable(self, place: Place) -> None:
        ours = any(PurePosixPath(place.path).is_relative_to(path) for path in self._protected)
        if ours or is_never_written(place.parts):
            raise HostRefused(f"{place.path} is not written for agents", "Change it yourself.")


# -- in a thread ----------------------------------------------------------------------------------------------------


def _read(place: Place, line: int, limit: int | None) -> str:
    with translating(place.path), _opened(place) as descriptor:
        data = _window(_pieces(descriptor, place), line - 1, limit, place)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise HostRefused(f"{place.path} is no text in UTF-8 (byte {error.start} of what was asked for)") from error


@contextmanager
def _opened(place: Place) -> Iterator[int]:
    """Looked at before it is opened, since opening a device may do something, and again after."""
    with opened_folder(place) as folder:
        name = place.parts[-1]
        check_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), place)
        descriptor = os.open(name, os.O_RDONLY | FILE, dir_fd=folder)
    try:
        check_regular(os.fstat(descriptor), place)
        yield descriptor
    finally:
        os.close(descriptor)


def _pieces(descriptor: int, place: Place) -> Iterator[bytes]:
    """What a file claims to be its size is not asked: it may grow, or lie."""
    for _ in range(MAX_SCAN // PIECE):
        if not (piece := os.read(descriptor, PIECE)):
            return
        yield piece
    raise HostRefused(f"{place.path} is larger than {MAX_SCAN} bytes")


def _window(pieces: Iterator[bytes], skip: int, limit: int | None, place: Place) -> bytes:
    kept = bytearray()
    for piece in pieces:
        lines = piece.count(b"\n")
        if lines < skip:
            skip -= lines
            continue
        kept += piece[_start(piece, skip) : _start(piece, skip + limit) if limit is not None else None]
        if limit is not None and (limit := limit - (lines - skip)) <= 0:
            break
        skip = 0
        if len(kept) > MAX_TEXT:
            raise HostRefused(f"{place.path}: that is more than {MAX_TEXT} bytes", "Ask for fewer lines at a time.")
    return bytes(kept)


def _start(piece: bytes, line: int) -> int:
    """Where a line, counted from 0, begins; the end of the piece if it has fewer."""
    start = 0
    for _ in range(line):
        if not (start := piece.find(b"\n", start) + 1):
            return len(piece)
    return start


def _encoded(place: Place, content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise HostRefused(f"{place.path}: the content is no text that can be written in UTF-8") from error
    if len(data) > MAX_TEXT:
        raise HostRefused(f"{place.path}: the content has more than {MAX_TEXT} bytes")
    return data


def _write(place: Place, data: bytes) -> None:
    with translating(place.path), opened_folder(place, create=True) as folder:
        before = _replaceable(place, folder)
        beside = f".copilot-kernel-{secrets.token_hex(8)}"
        try:
            _fill(beside, folder, data, before)
            os.replace(beside, place.parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            raise
        with suppress(OSError):  # some file systems cannot; the text itself is safe by now
            os.fsync(folder)


def _replaceable(place: Place, folder: int) -> os.stat_result | None:
    """What is there now. A replacement needs no right to write the file, but who took it away meant something."""
    name = place.parts[-1]
    try:
        before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    check_regular(before, place)
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise HostRefused(f"{place.path} is read-only")
    return before


def _fill(name: str, folder: int, data: bytes, before: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE
    descriptor = os.open(name, flags, 0o600 if before else 0o666, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if before:
            _keep_rights(descriptor, before)
        os.fsync(descriptor)


def _keep_rights(descriptor: int, before: os.stat_result) -> None:
    """Owner, group and mode, as far as we may; nobody gets a right that they did not have."""
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with suppress(PermissionError):
            os.fchown(descriptor, owner, group)
    mode = stat.S_IMODE(before.st_mode) & 0o777
    same_group = os.fstat(descriptor).st_gid == before.st_gid
    os.fchmod(descriptor, mode if same_group else mode & ~0o070)
