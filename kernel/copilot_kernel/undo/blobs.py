"""What files held before the agent changed them, each content once, in a folder of one conversation's."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from threading import Lock

from .tree import digest_of

MAX_BYTES = 500 * 1000 * 1000
"""Of all contents of one conversation."""
_LOCK = "lock"


class BlobStore:
    """Made in `parent` when it is first needed, removed by `close`; what a process that died has left goes as well.

    Contents may be put from any thread. Only `keep_only` does not wait for the disk.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._folder: Path | None = None
        self._lock = -1
        self._sizes: dict[str, int] = {}
        self._dropped: set[str] = set()
        """Not needed any more, but still on the disk."""
        self._making, self._closed = Lock(), False

    def __contains__(self, digest: str) -> bool:
        return digest in self._sizes

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(self._sizes.values())

    def put(self, digest: str, data: bytes) -> None:
        """Save `data`. Raises OSError, also when there is too much."""
        with self._making:
            self._put(digest, data)

    def _put(self, digest: str, data: bytes) -> None:
        if digest in self._sizes:
            return
        if self._closed:
            raise OSError(errno.EBADF, "the conversation has ended")
        if self.size + len(data) > MAX_BYTES:
            raise OSError(errno.ENOSPC, "too much is saved for undo")
        folder = self._folder or self._open()
        descriptor, beside = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(beside, folder / digest)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise
        self._sizes[digest] = len(data)

    def get(self, digest: str) -> bytes | None:
        """The content; None if it was not saved, or something has changed it since."""
        if self._folder is None or digest not in self._sizes:
            return None
        try:
            data = (self._folder / digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def keep_only(self, digests: Collection[str]) -> None:
        """Forget the others; `clean` removes them."""
        for digest in self._sizes.keys() - set(digests):
            del self._sizes[digest]
            self._dropped.add(digest)

    def clean(self) -> None:
        """Remove what is forgotten."""
        while self._dropped:
            with self._making, suppress(OSError, KeyError):
                digest = self._dropped.pop()
                if digest not in self._sizes and self._folder is not None:  # else it was put again
                    (self._folder / digest).unlink()

    def close(self) -> None:
        """Remove everything; nothing can be put after that."""
        with self._making:
            folder, self._folder, self._closed = self._folder, None, True
        self._sizes.clear()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(self._lock)

    def _open(self) -> Path:
        """The lock says that a process still uses the folder."""
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_left(self._parent)
        folder = Path(tempfile.mkdtemp(dir=self._parent))
        self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._folder = folder
        return folder


def _remove_left(parent: Path) -> None:
    for folder in parent.iterdir():
        with suppress(OSError):  # one without a lock is just being made
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
