"""Rules that deny or ask, read as widely as they can be meant; also on a line that is not understood."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from .patterns import Pattern
from .programs import WRAPPERS
from .shell import Line
from .unseen import LONGEST

_PIECE = re.compile(r"[^;|&\n(){}<>`!]+")
_MARKS = str.maketrans("", "", "'\"\\$")
_BEFORE = re.compile(r"\w+\+?=.*|if|then|else|elif|while|until|do|!|time|\d+", re.DOTALL)
_STARTERS = WRAPPERS | {"bash", "sh", "zsh", "dash", "ksh", "fish", "eval", "find", "fd", "rg", "git", "tar"}
_MOST = 600
"""Words to look through, in all commands of a line together."""

Commands = tuple[tuple[str, ...], ...]


def commands_in(text: str, line: Line, patterns: Sequence[Pattern]) -> tuple[Commands, bool]:
    """The commands that the line may run, as far as they can be guessed; False: there are too many to look at."""
    names = frozenset(_name(pattern.words[0]) for pattern in patterns if pattern.words and pattern.words[0])
    parts = _guessed(text[:LONGEST]) if line.unclear else iter(line.parts)
    found: dict[tuple[str, ...], None] = {}
    size = 0
    for words in (words for part in parts for words in _started(part, names, depth=2)):
        size += len(words)
        if size > _MOST:
            return tuple(found), False
        found[words] = None
    return tuple(found), True


def named_by(patterns: Sequence[Pattern], commands: Commands) -> Pattern | None:
    """The first pattern that one of the commands may be meant by."""
    return next((pattern for pattern in patterns if any(_names(pattern, words) for words in commands)), None)


def _guessed(text: str) -> Iterator[tuple[str, ...]]:
    """Cut at everything at which a shell might begin a command; quotes and variables' signs left out."""
    for piece in _PIECE.findall(text):
        words = piece.translate(_MARKS).split()
        begin = next((at for at, word in enumerate(words) if not _BEFORE.fullmatch(word)), len(words))
        if words[begin:]:
            yield tuple(words[begin:])


def _started(words: tuple[str, ...], names: frozenset[str], depth: int) -> Iterator[tuple[str, ...]]:
    """The command, and those that it starts if it is a program that starts others."""
    yield words
    if _name(words[0]) not in _STARTERS:
        return
    for at, word in enumerate(words[1:], 1):
        if _name(word) in names:
            yield words[at:]
        if depth and re.search(r"[\s;|&`!]", word):
            yield from (deep for part in _guessed(word) for deep in _started(part, names, depth - 1))


def _names(pattern: Pattern, words: tuple[str, ...]) -> bool:
    """The program, its options in whatever order and form, and its other words in their order."""
    if not pattern.words:
        return True
    program, *rest = pattern.words
    if program is not None and _name(program) != _name(words[0]):
        return False
    wanted = [word for word in rest if word is not None and word.startswith("-")]
    named = [word for word in rest if word is None or not word.startswith("-")]
    return all(_has_option(word, words) for word in wanted) and _follow(named, words[1:])


def _name(word: str) -> str:
    """As it is called: without its path, and as file systems see it that do not tell `RM` from `rm`."""
    return posixpath.basename(word).lower()


def _has_option(wanted: str, words: Sequence[str]) -> bool:
    if wanted in words:
        return True
    if wanted.startswith("--"):
        given = (word.split("=")[0] for word in words if word.startswith("--") and len(word) > 3)
        return any(wanted.split("=")[0].startswith(name) for name in given)
    letters = {letter for word in words if re.fullmatch(r"-\w{1,6}", word) for letter in word[1:]}
    return len(wanted) <= 5 and letters.issuperset(wanted[1:])


def _follow(wanted: Sequence[str | None], words: Sequence[str]) -> bool:
    """In this order, with nothing between them but options and their values."""
    reached = {0}
    for want in wanted:
        reached = set(_next(want, words, reached))
    return bool(reached)


def _next(want: str | None, words: Sequence[str], starts: set[int]) -> Iterator[int]:
    walked: set[int] = set()
    for start in sorted(starts):
        at = start
        while at < len(words) and at not in walked:
            walked.add(at)
            if want is None or posixpath.normpath(words[at]) == posixpath.normpath(want):
                yield at + 1
            if not words[at].startswith("-") and not (at and words[at - 1].startswith("-")):
                break
            at += 1
