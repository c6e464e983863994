"""What stands inside `Edit(…)` and `Read(…)`: a path with `*`, `**` and `?`, compared part by part.

As in gitignore, `src/**` starts at the project's root, a name without a slash is found at any depth, and a slash at the
end means all that is in the folder. Unlike there, `/abs/**` is a path of the file system, and `~/x` one of the home
folder. No pattern becomes a regular expression: time grows with the length of both sides and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Literal

from .parts import below, is_huge
from .sensitive import plain
from .unseen import unseen

LONGEST = 500
"""Characters of a pattern."""

Base = Literal["root", "home", "system"]


@dataclass(frozen=True, slots=True)
class Glob:
    """`parts` begin at `base`: the project's root, the home folder, or the root of the file system.

    `wide` are those for denying, `fixed` is a text that is somewhere in whatever these match.
    """

    text: str
    base: Base
    parts: tuple[str, ...]
    wide: tuple[str, ...]
    fixed: str

    @property
    def is_everything(self) -> bool:
        """True if it reaches everything there is, or all that the user has."""
        return self.base != "root" and self.parts[0] in ("*", "**")

    def matches(self, path: str, folder: str, *, with_folder: bool = False) -> bool:
        """For allowing: `path` itself, spelled alike. `folder` is the base's; `with_folder`: `src/**` is also `src`."""
        parts = below(path, folder)
        wanted = self.parts[:-1] if with_folder and self.parts[-2:] == ("**", "*") else self.parts
        return parts is not None and _fits(wanted, parts, "**", _part_fits)

    def touches(self, path: str, folder: str, *, is_tree: bool = False) -> bool:
        """For denying and asking: also what is in a folder that matches, however a disk may spell it.

        With `is_tree`, all that is under `path` counts too.
        """
        if is_tree and below(folder, path) is not None:
            return True
        if not is_tree and self.fixed not in plain(path):
            return False
        parts = below(path, folder)
        if parts is None:
            return False
        return is_huge(parts) or self._touches(tuple(map(plain, parts)), is_tree)

    def _touches(self, named: tuple[str, ...], is_tree: bool) -> bool:
        literal = takewhile(lambda part: "*" not in part and "?" not in part, self.wide)
        if is_tree and named == tuple(literal)[: len(named)]:
            return True
        return _fits((*self.wide, "**"), named, "**", _part_fits)


def compile_glob(text: str) -> Glob:
    """Raises ValueError, in words for the user, if `text` is no pattern for paths."""
    problem = _problem(text)
    if problem:
        raise ValueError(problem)
    base, rest = _based(text)
    parts = PurePosixPath(rest).parts
    if base == "root" and "/" not in text.rstrip("/"):
        parts = ("**", *parts)
    if text.endswith("/") or not parts:
        parts = (*parts, "**")
    if parts[-1] == "**":
        parts = (*parts, "*")
    wide = tuple(map(plain, parts[:-1] if parts[-2:] == ("**", "*") else parts))
    fixed = max(re.split(r"[*?/]+", "/".join(wide)), key=len)
    return Glob(text, base, parts, wide, fixed)


def _problem(text: str) -> str:
    if not text.strip() or text != text.strip():
        return "a path pattern is not empty and has no blanks around it"
    if len(text) > LONGEST or unseen(text) or "\n" in text:
        return f"a path pattern has at most {LONGEST} characters, all of which can be seen"
    if any(char in text for char in "[]{}\\") or text.startswith("!") or "://" in text:
        return "a path pattern knows *, ** and ? only; braces, brackets, backslashes, ! and addresses are unknown"
    if ".." in PurePosixPath(text).parts:
        return "a path pattern has no .. in it; write the path from the root of the file system"
    if text.startswith("~") and text != "~" and not text.startswith("~/"):
        return "a path pattern knows only your own home folder, ~/"
    return ""


def _based(text: str) -> tuple[Base, str]:
    if text.startswith("/"):
        return "system", text.lstrip("/")
    if text.startswith("~"):
        return "home", text[2:]
    return "root", text


def _part_fits(wanted: str, part: str) -> bool:
    if wanted in ("*", part):
        return True
    return ("*" in wanted or "?" in wanted) and _fits(wanted, part, "*", _character_fits)


def _character_fits(wanted: str, given: str) -> bool:
    return wanted in ("?", given)


def _fits(wanted: Sequence[str], given: Sequence[str], star: str, same: Callable[[str, str], bool]) -> bool:
    """`star` stands for any number of items. Only the last one met is ever tried again."""
    at = place = retry = 0
    last = -1
    while place < len(given):
        if at < len(wanted) and wanted[at] == star:
            last, retry, at = at, place, at + 1
        elif at < len(wanted) and same(wanted[at], given[place]):
            at, place = at + 1, place + 1
        elif last >= 0:
            retry += 1
            at, place = last + 1, retry
        else:
            return False
    return all(item == star for item in wanted[at:])
