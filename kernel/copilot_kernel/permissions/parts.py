"""Paths as tuples of their parts: compared so, and never as texts."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from functools import lru_cache

LONGEST = 4096
"""Characters of a path."""
DEEPEST = 100
"""Folders in a path."""
LONGEST_NAME = 255
"""Characters of a name in it; no usual disk takes more."""


@lru_cache(maxsize=4096)
def parts_of(path: str) -> tuple[str, ...]:
    """The parts of an absolute path, which may hold no `..` of which it matters where a link leads."""
    return tuple(part for part in posixpath.normpath(path).split("/") if part)


def below(path: str, folder: str) -> tuple[str, ...] | None:
    """The parts of `path` under `folder`, none for the folder itself; None if it is elsewhere, or not absolute."""
    if not (path.startswith("/") and folder.startswith("/")):
        return None
    parts, start = parts_of(path), parts_of(folder)
    return parts[len(start) :] if parts[: len(start)] == start else None


def absolute(text: str, folder: str, home: str = "") -> str:
    """Where a path leads that an agent wrote: as well as can be guessed, where that is unclear."""
    path = text.removeprefix("file://")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return posixpath.join(folder, path)


def unclear(text: str) -> str:
    """Why nobody can say where a path leads that is spelled so; empty: its spelling is clear."""
    if not text or len(text) > LONGEST or is_huge(text.split("/")) or "\0" in text:
        return f"{text[:100]!r} cannot be a path"
    if "://" in text or text.startswith(("~", "\\")) or text[1:3] == ":\\":
        return f"{text} is no path from the root of the file system or in the project"
    if ".." in text.split("/"):
        return f"{text} has .. in it, and where that leads depends on links"
    return ""


def is_huge(parts: Sequence[str]) -> bool:
    """No disk has such a path, and comparing it would take long."""
    return len(parts) > DEEPEST or any(len(part) > LONGEST_NAME for part in parts)
