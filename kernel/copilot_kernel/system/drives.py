"""Paths of Windows, as the policy knows them: `C:\\a\\b` is `/c:/a/b`. Pure.

`WINDOWS` says whether paths mean that here; the functions below it are the same everywhere.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from functools import lru_cache
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from types import ModuleType

WINDOWS = os.name == "nt"
_DRIVE = re.compile(r"/?([A-Za-z]):(?=[/\\])")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(?:[.:]|\Z)", re.IGNORECASE)
_SHORT = re.compile(r"~\d")
_IMPOSSIBLE = re.compile(r'[:*?"<>|\x00-\x1f]')


def policy_path(path: str) -> str:
    """A path of this machine, or as an agent wrote it, in the form of the policy."""
    return inward(path) if WINDOWS else path


def disk_path(path: str) -> str:
    """A path in the form of the policy, as this machine knows it."""
    return outward(path) if WINDOWS else path


def spelling_problem(text: str) -> str | None:
    """Why it is uncertain which file `text` names here."""
    return problem(text) if WINDOWS else None


# -- the same everywhere --------------------------------------------------------------------------------------------


def inward(path: str) -> str:
    """`C:\\a\\b` as `/c:/a/b`; relative paths with slashes."""
    drive = _DRIVE.match(path)
    rest = (path[drive.end() :] if drive else path).replace("\\", "/")
    return f"/{drive[1].lower()}:{rest}" if drive else rest


def outward(path: str) -> str:
    """`/c:/a/b` as `C:\\a\\b`; any other path as it is."""
    drive = _DRIVE.match(path)
    return f"{drive[1].upper()}:{path[drive.end() :]}".replace("/", "\\") if drive else path


def in_rule(path: str) -> str:
    """`/c:/a/b` as `C:/a/b`; any other path as it is."""
    return outward(path).replace("\\", "/") if _DRIVE.match(path) else path


def has_drive(path: str) -> bool:
    """Return True if a path is absolute as Windows has it."""
    return bool(_DRIVE.match(path))


def problem(text: str) -> str | None:
    """Why it is uncertain which file `text` names on Windows, in words that follow it."""
    path = inward(text.removeprefix("file://"))
    drive = _DRIVE.match(path)
    rest = path[drive.end() :] if drive else path
    parts = [part for part in rest.split("/") if part not in ("", ".", "..")]
    problems = (
        (path.startswith("//"), "names a device or another computer"),
        (not drive and path.startswith("/"), "depends on the current drive"),
        (_IMPOSSIBLE.search(rest), "is not a plain path (an alternate stream, or relative to a drive)"),
        (any(part[-1] in ". " for part in parts), "ends in dots or blanks, which Windows leaves out"),
        (any(map(_DEVICE.match, parts)), "names a device"),
        (any(map(_SHORT.search, parts)), "may be the short name of another file"),
    )
    return next((words for is_problem, words in problems if is_problem), None)


def shown_path(path: str, folder: str) -> str:
    """`path` relative to `folder`, with slashes, if it lies inside as it is written; any other, also one with `..`,
    stays whole.
    """
    rules, _ = rules_of(folder)
    start = folder.rstrip("/\\") + rules.sep
    is_below = bool(folder) and path.startswith(start) and rules.normpath(path) == path
    return path[len(start) :].replace(rules.sep, "/") if is_below else path


@lru_cache(maxsize=256)
def rules_of(path: str) -> tuple[ModuleType, type[PurePath]]:
    """Return the rules by which paths are joined and compared where `path`, an absolute one, comes from."""
    return (ntpath, PureWindowsPath) if has_drive(path) or path.startswith("\\\\") else (posixpath, PurePosixPath)
