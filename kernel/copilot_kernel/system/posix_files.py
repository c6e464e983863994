"""POSIX: folders by descriptor, rights of files, accounts."""

from __future__ import annotations

import fcntl
import os
import pwd
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

assert sys.platform != "win32"

READING = os.O_RDONLY | os.O_NONBLOCK
"""Flags that open a file for reading without waiting for what is no regular one."""
MIN_PERSON_UID = 500 if sys.platform == "darwin" else 1000
"""Accounts of people have this uid or a higher one."""
_NOBODY = 65534
_NO_LOGIN = frozenset({"nologin", "false"})


def open_folder(path: str, within: int | None) -> int | None:
    """Open a folder, relative to the open folder `within`. Raises OSError, also if it is a link."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)


def open_file(path: str, flags: int, mode: int, within: int | None) -> int:
    """Open a file, relative to the open folder `within`. Raises OSError, also if it is a link."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, mode, dir_fd=within)


def lock(descriptor: int) -> None:
    """Lock an open file until it is closed. Raises BlockingIOError if it is locked already, OSError if it cannot be."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def keep_rights(descriptor: int, before: os.stat_result) -> None:
    """Keep owner, group and mode as far as possible, without adding a permission."""
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with suppress(PermissionError):
            os.fchown(descriptor, owner, group)
    mode = stat.S_IMODE(before.st_mode) & 0o777
    same_group = os.fstat(descriptor).st_gid == before.st_gid
    os.fchmod(descriptor, mode if same_group else mode & ~0o070)


def remove_tree(folder: Path) -> None:
    """Remove the folder with all that is in it, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)


# -- accounts -------------------------------------------------------------------------------------------------------


def account_home() -> Path | None:
    """The home folder of this user's account, whatever the environment says, without links; None if it has none."""
    with suppress(KeyError):
        return Path(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    return None


def account_path() -> str:
    """PATH, whatever the environment says."""
    return f"/usr/local/bin:{os.defpath}"


def user_ids() -> tuple[int, int]:
    """Return user and group of this process."""
    return os.getuid(), os.getgid()


def other_users() -> Iterator[str]:
    """Names of other people's accounts: those that can log in here, and those that run a process now.

    Containers have no logins, whatever accounts their images have. Directories such as LDAP may not list their
    accounts, but know whose processes run.
    """
    if _has_logins():
        yield from (account.pw_name for account in pwd.getpwall() if _is_other_person(account))
    for uid in {each for each in _owners(Path("/proc")) if each >= MIN_PERSON_UID}:
        with suppress(KeyError):
            if _is_other_person(account := pwd.getpwuid(uid)):
                yield account.pw_name


def _has_logins() -> bool:
    """Return True if this is an operating system rather than a container; see `sd_booted` for the path."""
    return os.path.isdir("/run/systemd/system") or sys.platform == "darwin"


def _is_other_person(account: pwd.struct_passwd) -> bool:
    is_person = account.pw_uid >= MIN_PERSON_UID and account.pw_uid not in (_NOBODY, os.getuid())
    return is_person and os.path.basename(account.pw_shell) not in _NO_LOGIN


def _owners(proc: Path) -> Iterator[int]:
    """The uid of each process; nothing if there is no such folder."""
    for process in proc.glob("[0-9]*"):
        with suppress(OSError):
            yield process.stat().st_uid


# -- programs -------------------------------------------------------------------------------------------------------

which = shutil.which
split_command = shlex.split


def direct_command(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """`argv` without a shell between: here there is none."""
    return tuple(argv)
