"""Whether a word of a command may be a file that a rule names, or one of ours: also by wildcards on both sides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from .domains import Domain
from .globs import Glob
from .parts import parts_of
from .sensitive import OURS, plain

_MOST = 4_000
"""Pairs of characters or parts that are compared; two patterns with more may have anything in common."""
_ANY = "x.json"
"""What no pattern for names fits that is about our settings' own."""


class Place(NamedTuple):
    """`parts` are those of an absolute path as a disk may see them, with `*` and `?` if `is_glob`.

    `trees` are the names of the rules for which all that is under it counts. `is_filled`: files may be put into it.
    """

    parts: tuple[str, ...]
    is_glob: bool = False
    trees: frozenset[str] = frozenset()
    is_filled: bool = False


def may_touch(glob: Glob, tool: str, place: Place, base: str) -> bool:
    """Whether a rule for `tool` may mean what is at `place`; its pattern begins at the folder `base`."""
    is_tree, start = tool in place.trees, plain_parts(base)
    if not base.startswith("/") or not _begin_alike(start, place.parts):
        return False
    inner = place.parts[len(start) :]
    if len(place.parts) < len(start):
        return is_tree
    literal = tuple(takewhile(lambda part: "*" not in part and "?" not in part, glob.wide))
    if is_tree and len(inner) <= len(literal) and _begin_alike(literal, inner):
        return True
    if not place.is_glob and glob.fixed not in "/".join(inner):
        return False
    return paths_meet((*glob.wide, "**"), inner)


def may_be_ours(place: Place, ours: Iterable[str]) -> str:
    """Which of our own files and folders, all absolute, it may be, hold or fill; empty: none."""
    if place.is_glob and any(may_be(OURS, part) and not may_be(_ANY, part) for part in place.parts):
        return OURS
    return next((path for path in ours if _reaches(place, plain_parts(path))), "")


def _reaches(place: Place, ours: tuple[str, ...]) -> bool:
    missing = len(ours) - len(place.parts)
    counts = missing <= 0 or "Edit" in place.trees or (missing == 1 and place.is_filled)
    return counts and _begin_alike(ours, place.parts)


def _begin_alike(names: Sequence[str], words: Sequence[str]) -> bool:
    """As far as both go."""
    return all(name == word or may_be(name, word) for name, word in zip(names, words, strict=False))


@lru_cache(maxsize=4096)
def plain_parts(path: str) -> tuple[str, ...]:
    """The parts of an absolute path, as a disk may see them."""
    return tuple(map(plain, parts_of(path)))


def may_be(name: str, word: str) -> bool:
    """Whether `word` with its `*` and `?` may become `name`; as in bash, a wildcard at its start is no leading dot."""
    return not (name[:1] == "." and word[:1] in "*?") and _names_meet(name, word)


def paths_meet(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Both are parts with `*` and `?`; in `pattern`, a part `**` is any number of parts."""
    return _meet(pattern, parts, "**", may_be)


@lru_cache(maxsize=4096)
def _names_meet(one: str, other: str) -> bool:
    return one == other or _meet(one, other, "*", lambda a, b: a == b or "?" in (a, b))


def _meet(one: Sequence[str], other: Sequence[str], star: str, same: Callable[[str, str], bool]) -> bool:
    if len(one) * len(other) > _MOST:
        return True
    reached = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        steps = _steps(*todo.pop(), one, other, star, same)
        todo += (new := set(steps) - reached)
        reached |= new
    return (len(one), len(other)) in reached


def _steps(
    i: int, j: int, one: Sequence[str], other: Sequence[str], star: str, same: Callable[[str, str], bool]
) -> list[tuple[int, int]]:
    """From here, with `i` and `j` items behind; a star ends, or takes one more item of the other side."""
    a, b = (one[i] if i < len(one) else None), (other[j] if j < len(other) else None)
    steps = []
    if a == star:
        steps += [(i + 1, j), *([(i, j + 1)] if b is not None else [])]
    if b == star:
        steps += [(i, j + 1), *([(i + 1, j)] if a is not None else [])]
    if a is not None and b is not None and star not in (a, b) and same(a, b):
        steps.append((i + 1, j + 1))
    return steps


def may_name_host(domain: Domain, word: str) -> bool:
    """Whether a word of a command may be an address at the host, also if its wildcards are replaced."""
    if "://" in word and (host := re.split(r"[/:@]", word.split("://", 1)[1])[0]) and re.search(r"[*?\[{\0]", host):
        pattern = re.sub(r"\[[^]]*\]|\{[^}]*\}|\0", "*", plain(host))
        return any(_names_meet(name, pattern) for name in (domain.host, f"*.{domain.host}"))
    return ("://" in word or word[:1].isdigit()) and domain.touches(word)
