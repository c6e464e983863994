"""What a search may read that a rule keeps back, or that is secret: it names a folder, and shows all that is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile

from .globs import Glob
from .parts import below
from .request import Request
from .rules import Rule
from .sensitive import names_secret, plain


def held_back(rules: Iterable[Rule], request: Request) -> str:
    """The first of the rules about files of which a search may read one; empty: none, or no search."""
    if request.call.kind != "search":
        return ""
    about = (rule for rule in rules if rule.path is not None and rule.tool in ("Read", "Grep"))
    return next((rule.text for rule in about if rule.path and _may_read(rule.path, request)), "")


def secret(request: Request) -> str:
    """The name pattern of a search that is after secrets; empty: none is."""
    patterns = request.seen.searched if request.call.kind == "search" else ()
    return next(filter(names_secret, patterns), "")


def _may_read(glob: Glob, request: Request) -> bool:
    if not _may_be_named(glob, request.seen.searched):
        return False
    spots = request.spots if request.seen.paths else (request.place,)
    folders = {path for spot in spots for path in spot.places}
    bases = request.circumstances.bases(glob.base)
    return any(_may_hold(glob, base, folder) for base in bases for folder in folders)


def _may_hold(glob: Glob, base: str, folder: str) -> bool:
    """Something that matches may be in `folder`: where the pattern has its first `*`, it may go on in any way."""
    named = below(folder, base)
    if named is None:
        return below(base, folder) is not None
    literal = tuple(takewhile(lambda part: "*" not in part and "?" not in part, glob.wide))
    length = min(len(named), len(literal))
    return tuple(map(plain, named[:length])) == literal[:length] and (
        len(named) <= len(literal) or len(literal) < len(glob.wide)
    )


def _may_be_named(glob: Glob, patterns: Sequence[str]) -> bool:
    """Whether a search for files with such names reaches it. A name without a dot may be a folder, with any in it."""
    last = glob.wide[-1]
    names = [name for pattern in patterns if not pattern.startswith("!") for name in _names(pattern)[-1:]]
    is_narrow = bool(names) and not any(set(pattern) & set("{},[]\\") for pattern in patterns)
    if not is_narrow or "." not in last:
        return True
    return any(name == "**" or _overlap(name, last) for name in names)


def _overlap(one: str, other: str) -> bool:
    both = all(set(name) & set("*?") for name in (one, other))
    return both or fnmatchcase(one, other) or fnmatchcase(other, one)


def _names(pattern: str) -> list[str]:
    """The parts of a path pattern, also of several in braces or with commas between; not what is left out."""
    if pattern.startswith("!"):
        return []
    return [plain(name) for name in re.split(r"[{},/\\\s]+", pattern) if name]
