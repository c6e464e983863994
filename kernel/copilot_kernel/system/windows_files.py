"""Windows: folders by path, rights of files, accounts. See `posix_files.py` for the interface.

A file's rights are those of the folder that it is in: mode bits mean nothing here. A folder made with the mode 0700 is
its user's alone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shlex
import shutil
import stat
import sys
import winreg
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor

from .shims import check_arguments, is_batch_file, script_of

assert sys.platform == "win32"

READING = os.O_RDONLY | os.O_BINARY
_ENDINGS = ".COM;.EXE;.BAT;.CMD"
_MAX_PATH, _PROFILE = 260, 0x28
_ENVIRONMENTS = (
    (winreg.HKEY_LOCAL_MACHINE, r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"),
    (winreg.HKEY_CURRENT_USER, "Environment"),
)


def open_folder(path: str, within: int | None) -> int | None:
    """Open nothing: folders are known by their paths. Raises OSError if it is no folder, or a link."""
    if not stat.S_ISDIR(_not_link(path).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return None


def open_file(path: str, flags: int, mode: int, within: int | None) -> int:
    """Open a file. Raises OSError, also if it is a link."""
    if os.path.lexists(path):
        _not_link(path)
    return os.open(path, flags | os.O_BINARY, mode)


def _not_link(path: str) -> os.stat_result:
    """Return the state. Raises OSError if it is a link of any kind, junctions included."""
    found = os.lstat(path)
    if found.st_file_attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return found


def lock(descriptor: int) -> None:
    """Lock an open file until it is closed; nobody else can read its first byte meanwhile.

    Raises BlockingIOError if it is locked already, OSError if it cannot be.
    """
    if not lock_descriptor(descriptor, blocking=False):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def keep_rights(descriptor: int, before: os.stat_result) -> None:
    """Do nothing."""


def remove_tree(folder: Path) -> None:
    """Remove the folder with all that is in it, also read-only files, as far as that is possible."""
    for file in folder.rglob("*"):
        with suppress(OSError):
            file.chmod(stat.S_IWRITE)
    shutil.rmtree(folder, ignore_errors=True)


def account_home() -> Path | None:
    """The profile of this user's account, whatever the environment says; None if it has none."""
    buffer = ctypes.create_unicode_buffer(_MAX_PATH)
    failed = ctypes.windll.shell32.SHGetFolderPathW(None, _PROFILE, None, 0, buffer)
    return None if failed else Path(os.path.realpath(buffer.value))


def account_path() -> str:
    """PATH as the registry has it, whatever the environment says."""
    found = []
    for root, key in _ENVIRONMENTS:
        with suppress(OSError), winreg.OpenKey(root, key) as opened:
            found.append(winreg.ExpandEnvironmentStrings(winreg.QueryValueEx(opened, "Path")[0]))
    return os.pathsep.join(found)


def user_ids() -> tuple[int, int]:
    """There are none."""
    return 0, 0


def other_users() -> Iterator[str]:
    """Return nothing: accounts are not looked for."""
    return iter(())


# -- programs -------------------------------------------------------------------------------------------------------


def direct_command(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """`argv` without a shell between: of a `.cmd` that npm has written, Node with its script.

    Any other batch file is given no argument that `cmd.exe` may run. Raises FileNotFoundError, ValueError.
    """
    name, *arguments = argv
    program = which(name, environ.get("PATH"))
    if program is None:
        raise FileNotFoundError(name)
    if not is_batch_file(program):
        return (program, *arguments)
    folder = Path(program).parent
    script = script_of(Path(program).read_text("utf-8", "replace"))
    beside = which(str(folder / "node.exe"))
    node = beside or which("node", environ.get("PATH"))
    if script and node and not is_batch_file(node) and (folder / script).is_file():
        return (node, str(folder / script), *arguments)
    check_arguments(argv)
    return (program, *arguments)


def which(name: str, path: str | None = None) -> str | None:
    """Like `shutil.which`, but never in the current folder, which user code or an agent may have filled."""
    endings = os.environ.get("PATHEXT", _ENDINGS).lower().split(os.pathsep)
    has_ending = os.path.splitext(name)[1].lower() in endings
    places = (os.environ.get("PATH", "") if path is None else path).split(os.pathsep)
    folders = [""] if os.path.dirname(name) else [place for place in places if os.path.isabs(place)]
    tried = (os.path.join(folder, name + end) for folder in folders for end in (("",) if has_ending else endings))
    return next((file for file in tried if os.path.isfile(file)), None)


def split_command(text: str) -> list[str]:
    """The words of a command line, in which backslashes stand for themselves. Raises ValueError."""
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters, words.escape, words.quotes = True, "", "", '"'
    return list(words)
