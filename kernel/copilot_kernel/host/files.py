"""Reading and writing text files, only inside one folder: `fs/read_text_file` and `fs/write_text_file`.

The work is done in threads, so that a slow disk holds up nobody.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import PurePosixPath

import anyio.to_thread
from anyio import CapacityLimiter

from ..errors import HostRefused
from . import places
from .places import FILE, Place, check_regular, opened_folder, translating
from .sensitive import is_never_written

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

    async def locate(self, path: str) -> Place:
        """What an absolute path means, links followed; it need not exist. Raises HostRefused."""
        return await self._run(partial(places.locate, self.root, path))

    async def read(self, place: Place, line: int | None = None, limit: int | None = None) -> str:
        """The text as it is, from `line` (1-based) on, at most `limit` lines; past the end it is empty.

        Lines end with a line feed, which belongs to them. Raises HostMissing, HostRefused, HostError.
        """
        if (line or 0) < 0 or (limit or 0) < 0:
            raise HostRefused("line and limit must not be negative")
        return await self._run(partial(_read, place, line or 1, limit), abandon=True)

    async def write(self, place: Place, content: str) -> None:
        """Replace the file, or create it with the folders it needs: wholly, or not at all.

        A cancelled write may still have been done. Raises HostRefused, HostError.
        """
        if is_never_written(place.parts) or self._is_protected(place):
            raise HostRefused(f"{place.path} is not written for agents", "Edit it yourself.")
        await self._run(partial(_write, place, _encoded(place, content)))

    def _is_protected(self, place: Place) -> bool:
        return any(PurePosixPath(place.path).is_relative_to(path) for path in self._protected)

    async def _run[T](self, work: partial[T], *, abandon: bool = False) -> T:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=abandon, limiter=self._threads)
