"""A folder that is opened once, and what is in it."""

from __future__ import annotations

import os

from .files import open_file, open_folder


class OpenFolder:
    """A folder, open by its descriptor: nothing in it is reached through a link, even one swapped in later.

    On Windows, a folder by its path: links are refused, but not one that is put there after the check.
    """

    def __init__(self, path: str, within: int | None = None) -> None:
        """Raises OSError, also if `path` is a link."""
        self._descriptor = open_folder(path, within)
        self._prefix = "" if self._descriptor is not None else path

    def enter(self, name: str) -> OpenFolder:
        """The folder `name` in it. Raises OSError."""
        return OpenFolder(self._at(name), self._descriptor)

    def make_folder(self, name: str) -> None:
        os.mkdir(self._at(name), dir_fd=self._descriptor)

    def stat(self, name: str) -> os.stat_result:
        """Return the state of what is there itself, without following links."""
        return os.stat(self._at(name), dir_fd=self._descriptor, follow_symlinks=False)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """A descriptor of the file `name`. Raises OSError, also if it is a link."""
        return open_file(self._at(name), flags, mode, self._descriptor)

    def is_writable(self, name: str) -> bool:
        return os.access(self._at(name), os.W_OK, dir_fd=self._descriptor)

    def replace(self, name: str, new: str) -> None:
        """Put the file `new` in the place of `name`."""
        os.replace(self._at(new), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def sync(self) -> None:
        """Write through what was put into it; Windows has no way to do that."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _at(self, name: str) -> str:
        return os.path.join(self._prefix, name)
