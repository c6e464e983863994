"""Everything besides the call that a decision depends on, as values: whoever asks has looked at the disk before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from .parts import absolute, below, parts_of, unclear
from .remotes import USUAL
from .rules import Rules
from .sensitive import OURS, plain, why_sensitive

_NO_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Spot:
    """A path that a call names: its text, made absolute, and with all links followed (empty: that is not known).

    `problem` says why no rule can allow it.
    """

    text: str
    written: str
    real: str
    problem: str = ""

    @property
    def places(self) -> tuple[str, ...]:
        """Where it may lead."""
        return (self.written, self.real) if self.real else (self.written,)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """`root` is the project's folder, `cwd` the one in which relative paths and commands start, `home` the user's.

    `real` has, for each of `policy.paths(…)`, where it leads with all links followed; `protected` are files and folders
    that hold rules and settings of ours. All paths are absolute. `remotes` are those of Git that stand for addresses.
    """

    mode: str = "default"
    rules: Rules = _NO_RULES
    root: str = ""
    cwd: str = ""
    real: Mapping[str, str] = field(default_factory=dict)
    protected: tuple[str, ...] = ()
    home: str = ""
    remotes: frozenset[str] = USUAL

    def spot(self, text: str, folder: str = "") -> Spot:
        """What is known of the path `text`, which begins in `folder` (default: `cwd`) if it is not absolute."""
        path = self.key(text, folder)
        real = self.real.get(path, "")
        unknown = "" if real else f"it is not known where {text} leads"
        return Spot(text, path, real, unclear(text) or unknown)

    def key(self, text: str, folder: str = "") -> str:
        """What `real` calls the path."""
        return absolute(text, folder or self.cwd, self.home)

    def is_inside(self, spot: Spot, *, or_root: bool = False) -> bool:
        """Both the written and the real path are in the project; `or_root`: or are its folder."""
        written = any(_is_under(spot.written, root, or_root) for root in (self.root, self.real_root))
        return not spot.problem and written and _is_under(spot.real, self.real_root, or_root)

    def is_ours(self, spot: Spot, *, is_tree: bool = False) -> bool:
        """It is, or with `is_tree` holds, one of our own settings and rule files."""
        ours = {*self.protected, *(self.real.get(path, path) for path in self.protected)}
        named = any(OURS in _plain_parts(path) for path in spot.places)
        return named or any(_touches(path, each, is_tree) for path in spot.places for each in ours)

    def sensitive(self, spot: Spot, *, changes: bool) -> str:
        """Why no rule may allow it, in words that follow its name. The names above the project do not count."""
        roots = (self.root, self.real_root, "/")
        inner = (
            next((found for root in roots if (found := below(path, root)) is not None), ()) for path in spot.places
        )
        return next((why for names in inner if (why := why_sensitive(names, changes=changes))), "")

    @property
    def real_root(self) -> str:
        return self.real.get(self.root, self.root)

    def bases(self, base: str) -> tuple[str, ...]:
        """The folders at which a pattern may begin: as written, and as it really is."""
        if base == "system":
            return ("/",)
        folder = self.root if base == "root" else self.home
        return (folder, self.real.get(folder, folder))


def _is_under(path: str, root: str, or_root: bool) -> bool:
    inner = below(path, root)
    return inner is not None and (or_root or bool(inner))


def _touches(path: str, ours: str, is_tree: bool) -> bool:
    one, other = _plain_parts(path), _plain_parts(ours)
    return one[: len(other)] == other or (is_tree and other[: len(one)] == one)


@lru_cache(maxsize=4096)
def _plain_parts(path: str) -> tuple[str, ...]:
    return tuple(map(plain, parts_of(path)))
