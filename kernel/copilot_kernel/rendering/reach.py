"""Where a call works and what it touches: whole paths, each with a remark if it lies outside the project.

Paths are compared as they are written, without looking at the disk; what cannot be told that way is called unclear.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import PurePosixPath

OUTSIDE = "outside the project"
INSIDE = "inside the project"
UNCLEAR = "its end depends on links"


@dataclass(frozen=True, slots=True)
class Reached:
    """A path, whole if the folder that it starts from is known, and a remark about where it lies, or nothing."""

    path: str
    remark: str = ""

    @property
    def text(self) -> str:
        """Both, for a terminal."""
        return f"{self.path} ({self.remark})" if self.remark else self.path


def reached(path: str, folder: str, root: str) -> Reached:
    """`path` as the call means it, which works in `folder`; `root` is the project's folder. Both may be empty."""
    whole = path if _is_whole(path) else posixpath.join(folder or root, path)
    return Reached(whole, _remark(whole, root))


def working(folder: str, root: str) -> Reached:
    """The folder in which a command runs, with a remark if it is not the project's."""
    place = reached(folder, root, root)
    if place.remark or not root or posixpath.normpath(place.path) == posixpath.normpath(root):
        return place
    return Reached(place.path, f"{INSIDE}, but not its folder")


def _is_whole(path: str) -> bool:
    return path.startswith(("/", "~")) or "://" in path


def _remark(path: str, root: str) -> str:
    if not root or "://" in path:
        return ""
    if path.startswith("~"):
        return OUTSIDE
    if not PurePosixPath(posixpath.normpath(path)).is_relative_to(posixpath.normpath(root)):
        return OUTSIDE
    return UNCLEAR if ".." in PurePosixPath(path).parts else ""
