"""Files for completion: what is in a folder, and what is anywhere below one, as far as a bounded look goes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from itertools import islice

from ..environment import environment_of

MAX_FOLDER_ENTRIES = 5_000
"""Entries of folders that are looked at for one completion."""
SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


def beneath(folder: str, typed: str) -> list[str]:
    """Paths that begin as typed, relative to `folder` unless they are absolute or begin with `~`; folders end in /."""
    parent, slash, begun = typed.rpartition("/")
    place = os.path.join(folder, environment_of(folder).expanded(parent + slash))
    wanted = (each for each in _entries(place) if each.name.startswith(begun) and _is_wanted(each.name, begun))
    return sorted(parent + slash + _ended(each) for each in wanted)


def everywhere(folder: str, typed: str) -> list[str]:
    """Paths in `folder` that begin as typed, and files at any depth whose name does; nothing outside."""
    if typed.startswith(("/", "~")) or ".." in typed.split("/"):
        return []
    near, far = beneath(folder, typed), list[str]()
    if typed and "/" not in typed:
        far = [path for path in _below(folder) if os.path.basename(path).lower().startswith(typed.lower())]
    nearest_first = sorted(far, key=lambda path: (path.count("/"), path))
    return list(dict.fromkeys((*near, *nearest_first)))


def _below(folder: str) -> Iterator[str]:
    """Files, those of one folder before those of the folders in it; links to folders are not followed."""
    waiting, left = deque([""]), MAX_FOLDER_ENTRIES
    while waiting and left > 0:
        inside = waiting.popleft()
        for entry in _entries(os.path.join(folder, inside))[:left]:
            left -= 1
            path = inside + entry.name
            if not _is_wanted(entry.name, ""):
                continue
            if _is_folder(entry, follow=False):
                waiting.append(path + "/")
            elif not _is_folder(entry, follow=True):
                yield path


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return at most so many entries, and none of a folder that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, MAX_FOLDER_ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []


def _is_wanted(name: str, begun: str) -> bool:
    """Hidden files only if a dot was typed; what others have installed, never."""
    return name not in SKIPPED and (begun.startswith(".") or not name.startswith(".")) and name != ".git"


def _ended(entry: os.DirEntry[str]) -> str:
    return f"{entry.name}/" if _is_folder(entry, follow=True) else entry.name


def _is_folder(entry: os.DirEntry[str], *, follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False
