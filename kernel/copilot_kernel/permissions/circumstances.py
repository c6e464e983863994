"""Everything besides the call that a decision depends on, as values: whoever asks has looked at the disk before."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from .rules import Rules
from .sensitive import OURS, plain, why_sensitive

LONGEST = 4096
"""Characters of a path."""


_NOWHERE = PurePosixPath("/")
_NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Spot:
    """A path that a call names, as written and as it really is. `problem` says why nothing can be said about it."""

    text: str
    written: PurePosixPath = _NOWHERE
    real: PurePosixPath = _NOWHERE
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """`root` is the project's folder, `cwd` the one in which relative paths and commands start, `home` the user's.

    `real` has, for each of `policy.paths(…)`, where it leads with all links followed; `protected` are files and folders
    that hold rules and settings of ours. All paths are absolute.
    """

    mode: str = "default"
    rules: Rules = _NO_RULES
    root: str = ""
    cwd: str = ""
    real: Mapping[str, str] = field(default_factory=dict)
    protected: tuple[str, ...] = ()
    home: str = ""

    def spot(self, text: str, folder: str = "") -> Spot:
        """What is known of the path `text`, which begins in `folder` (default: `cwd`) if it is not absolute."""
        if problem := unclear(text):
            return Spot(text, problem=problem)
        path = absolute(text, folder or self.cwd)
        real = self.real.get(path)
        if not path.startswith("/") or real is None:
            return Spot(text, PurePosixPath(posixpath.normpath(path)), problem=f"it is not known where {text} leads")
        return Spot(text, PurePosixPath(posixpath.normpath(path)), PurePosixPath(real))

    def is_inside(self, spot: Spot, *, or_root: bool = False) -> bool:
        """Both the written and the real path are in the project; `or_root`: or are its folder."""
        inside = any(_is_under(spot.written, root, or_root) for root in (self.root, self.real_root))
        return not spot.problem and inside and _is_under(spot.real, self.real_root, or_root)

    def is_ours(self, spot: Spot, *, is_tree: bool = False) -> bool:
        """It is, or with `is_tree` holds, one of our own settings and rule files."""
        names = {*map(plain, spot.written.parts), *map(plain, spot.real.parts)}
        return OURS in names or any(
            _touches(path, PurePosixPath(ours), is_tree)
            for path in (spot.written, spot.real)
            for kept in self.protected
            for ours in (kept, self.real.get(kept, kept))
        )

    def sensitive(self, spot: Spot) -> str:
        """Why no rule may allow it, in words that follow its name. The names above the project do not count."""
        for path in (spot.written, spot.real):
            root = next((root for root in (self.root, self.real_root) if _is_under(path, root, True)), "/")
            if why := why_sensitive(path.relative_to(root).parts):
                return why
        return ""

    @property
    def real_root(self) -> str:
        return self.real.get(self.root, self.root)

    def bases(self, base: str) -> tuple[str, ...]:
        """The folders at which a pattern may begin: as written, and as it really is."""
        if base == "system":
            return ("/",)
        folder = self.root if base == "root" else self.home
        return (folder, self.real.get(folder, folder))


def absolute(text: str, folder: str) -> str:
    """The key of the path in `Circumstances.real`."""
    return posixpath.join(folder, text)


def unclear(text: str) -> str:
    """Why nobody can say where a path leads that is spelled so; empty: its spelling is clear."""
    if not text or len(text) > LONGEST or "\0" in text:
        return f"{text[:100]!r} cannot be a path"
    if "://" in text or text.startswith(("~", "\\")) or text[1:3] == ":\\":
        return f"{text} is no path from the root of the file system or in the project"
    if ".." in PurePosixPath(text).parts:
        return f"{text} has .. in it, and where that leads depends on links"
    return ""


def _is_under(path: PurePosixPath, root: str, or_root: bool) -> bool:
    if not root.startswith("/"):
        return False
    normal = PurePosixPath(posixpath.normpath(root))
    return path.is_relative_to(normal) and (or_root or path != normal)


def _touches(path: PurePosixPath, ours: PurePosixPath, is_tree: bool) -> bool:
    one, other = tuple(map(plain, path.parts)), tuple(map(plain, ours.parts))
    return one[: len(other)] == other or (is_tree and other[: len(one)] == one)
