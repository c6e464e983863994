"""Remove and make files where an agent is busy, which may have exchanged folders or taken permissions from them."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_FOLDER = _PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(path: Path) -> bool:
    """Follow no link on the way, since the agent may exchange folders meanwhile. False if that fails.

    It is renamed first: from then on nothing finds it by its name, even if some of it cannot be deleted.
    """
    try:
        with opened(path.parent) as folder:
            aside = _rename(folder, path.name)
            with suppress(OSError, RecursionError):
                mode = os.stat(aside, dir_fd=folder, follow_symlinks=False).st_mode
                (_delete if stat.S_ISDIR(mode) else _unlink)(folder, aside)
    except OSError:
        return False
    return True


def set_aside(path: Path) -> Path | None:
    """Rename it, and follow no link on the way. Returns where it is then; None if that fails."""
    try:
        with opened(path.parent) as folder:
            return path.with_name(_rename(folder, path.name))
    except OSError:
        return None


def _rename(folder: int, name: str) -> str:
    """Returns the new name. Raises OSError."""
    _permit(folder)
    aside = f"removed-{secrets.token_hex(8)}"
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    return aside


def make(folder: Path, names: Sequence[str], *, is_folder: bool) -> None:
    """Have a folder or a file at the path of these names in `folder`, without links on the way. Raises OSError."""
    with ExitStack() as stack:
        place = stack.enter_context(opened(folder))
        for number, name in enumerate(names, 1):
            is_way = is_folder or number < len(names)
            _make(place, name, is_folder=is_way)
            if is_way:
                place = os.open(name, _FOLDER, dir_fd=place)
                stack.callback(os.close, place)


def _make(folder: int, name: str, *, is_folder: bool) -> None:
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) if is_folder else stat.S_ISREG(mode):
            return
        (_delete if stat.S_ISDIR(mode) else _unlink)(folder, name)
    if is_folder:
        os.mkdir(name, mode=0o700, dir_fd=folder)
    else:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode=0o600, dir_fd=folder))


def _unlink(folder: int, name: str) -> None:
    os.unlink(name, dir_fd=folder)


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A descriptor of a path that is opened part by part, without links. Raises OSError."""
    descriptor = os.open("/", _FOLDER)
    try:
        for name in folder.parts[1:]:
            inner = os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _permit(folder: int) -> None:
    """Let us look into the open folder and change it; it may have been opened without that."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        # What is only a path cannot be changed by its descriptor.
        os.chmod(f"/proc/self/fd/{folder}" if sys.platform == "linux" else folder, mode | stat.S_IRWXU)


def _delete(parent: int, name: str) -> None:
    """A folder and all that is in it. Raises OSError."""
    folder = os.open(name, _FOLDER, dir_fd=parent)
    try:
        _permit(folder)
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            for inner in os.listdir(listed):
                try:
                    os.unlink(inner, dir_fd=listed)
                except (IsADirectoryError, PermissionError):  # Linux, others
                    _delete(listed, inner)
        finally:
            os.close(listed)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=parent)
