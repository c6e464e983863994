"""Which files a command line may name: its words as bash would unquote them, and what their wildcards may become.

This is for rules that deny or ask and for our own settings: read as widely as a word can be meant, but by its spelling.
What a program only works out when it runs (`python -c`, `eval`, the value of a variable) is not seen. A path that
begins with such a value is also taken for one that begins in the folder, or at home.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

from .overlap import Place, plain_parts
from .parts import absolute, is_huge, parts_of
from .programs import WRAPPERS
from .sensitive import plain
from .shell import read
from .unseen import LONGEST
from .whole import RESTORING, is_whole

MOST = 200
"""Words of a line in which the names of files are looked for; one with more may name any."""
_MOST_GLOBS = 40
_MOST_FOLDERS = 4
_MOST_PLACES = 300

_AROUND = re.compile(r"[\s;|&<>(){}'\"=,:@]+")
_CUT = re.compile(r"[;|&\n()<>`!]+")
_MARKS = str.maketrans("", "", "'\"\\")
_VALUE = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+|\$[@*#?!-]")
_HERE = re.compile(
    r"""(?:(?<![^\s'"=:(])/++)?\$(?:\{(?:OLD)?PWD\}|(?:OLD)?PWD(?!\w))|(?<![^\s'"=:(])~(?:[+-]\d*|\d+)(?![\w.+-])"""
)
"""The folder, or one from which the line went away."""
_BRACES = re.compile(r"\{[^{}\s]*\}")
_UNKNOWN = "\0"
"""The value of a variable, or what a command says."""

_NAMES = "rm rmdir unlink shred trash rename chmod chown chgrp clean -delete --delete"
_REMOVE = frozenset(_NAMES.split())
_SHOW = frozenset({"tar", "zip", "7z", "scp"})
_COPY = frozenset({"cp", "mv", "rsync", "install", "ln", "ditto"})
_FILL = frozenset({"tar", "unzip", "7z", "scp", "sftp", "wget", "curl", "patch"}) | _COPY
_SEARCH, _GREP = frozenset({"rg", "ag", "ack"}), frozenset({"grep", "egrep", "fgrep", "zgrep"})
_HANDED_ON = frozenset({"-exec", "-execdir", "-ok", "-okdir", "xargs"})
"""What is found goes to another program, which may show it."""
_WITH_FOLDER = 3
"""Words of a search that say where: the program, the pattern, the folder."""
_STARTERS = WRAPPERS | {"bash", "sh", "zsh", "dash", "ksh", "fish", "eval", "ssh"}
_FOLDERS = frozenset({"cd", "pushd", "-C", "--directory"})
_TARGETS = frozenset({"-t", "--target-directory"})
_NOTHING: frozenset[str] = frozenset()
_READ, _EDIT = frozenset({"Read"}), frozenset({"Edit"})


@dataclass(frozen=True, slots=True)
class Named:
    """`texts` are the line as it is and without its quotes, as a disk may see it.

    Not `is_complete`: there is more than can be looked at.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...]
    places: tuple[Place, ...]
    is_complete: bool


class _Word(NamedTuple):
    text: str
    is_glob: bool = False
    trees: frozenset[str] = _NOTHING
    is_filled: bool = False


def named(line: str, folder: str, home: str) -> Named:
    """What a command line that starts in `folder` names; `home` is the user's folder. Never raises."""
    text = _HERE.sub(".", line[:LONGEST]).replace("${HOME}", home).replace("$HOME", home)
    texts = tuple(dict.fromkeys((plain(line), plain(line.translate(_MARKS)))))
    parts, globs = _parts(text)
    if len(line) > LONGEST or sum(map(len, parts)) > MOST:
        return Named(texts, (), (), is_complete=False)
    flat = list(chain(*map(_pieces, chain(*parts))))
    folders = _folders(flat, folder, home)
    if len(flat) > MOST or len(folders) > _MOST_FOLDERS:
        return Named(texts, tuple(flat), (), is_complete=False)
    words = dict.fromkeys(each for part in parts for word in _words(part, flat, globs) for each in _readings(word))
    if len(words) * len(folders) > _MOST_PLACES:
        return Named(texts, tuple(flat), (), is_complete=False)
    places = tuple(dict.fromkeys(_place(word, start, home) for word in words for start in folders))
    is_few = sum(place.is_glob for place in places) <= _MOST_GLOBS
    is_huge_one = any(is_huge(place.parts) for place in places)
    return Named(texts, tuple(flat), places, is_complete=is_few and not is_huge_one)


def _parts(text: str) -> tuple[list[Sequence[str]], frozenset[str]]:
    """The words of the commands, and those that may become names of files; of a line that is not clear, guessed."""
    line = read(text)
    if line.unclear:
        guessed = _guessed(text)
        return guessed, frozenset(chain(*guessed))
    started = [_guessed(word) for part in line.parts if _STARTERS.intersection(part) for word in part if " " in word]
    within = list(chain(*started))
    return [*line.parts, *([path] for path in line.writes), *within], line.globs | frozenset(chain(*within))


def _guessed(text: str) -> list[Sequence[str]]:
    """Cut at everything at which a shell might begin a command, with choices in braces as wildcards."""
    cut = chain(*(_CUT.split(_BRACES.sub(_choice, each).translate(_MARKS)) for each in _opened(text)))
    return [words for piece in cut if (words := piece.split())]


def _choice(braces: re.Match[str]) -> str:
    return "*" if "," in braces[0] or ".." in braces[0] else braces[0]


def _opened(text: str) -> list[str]:
    """The line, and the commands inside it, from the innermost outwards."""
    inner: list[str] = []
    for _ in range(5):
        found = [value.strip("$()`{}") for value in _VALUE.findall(text)]
        if not found:
            break
        inner += found
        text = _VALUE.sub(_UNKNOWN, text)
    return [text, *inner]


def _pieces(word: str) -> Iterator[str]:
    """The word, and whatever in it may be a path: behind an option's letter, between other signs, in a script."""
    yield word
    if not word.isalnum():
        yield from (piece for piece in _AROUND.split(word.translate(_MARKS)) if piece and piece != word)
    if word[:1] == "-" and word[1:2] not in ("", "-") and len(word) > 2:
        yield word[2:]


def _folders(flat: Sequence[str], folder: str, home: str) -> list[str]:
    """Where relative words may begin."""
    given = [_rest(flat[at + 1]) or flat[at + 1] for at, word in enumerate(flat[:-1]) if word in _FOLDERS]
    return list(dict.fromkeys([folder, *(absolute(each, folder, home) for each in given)]))


def _readings(word: _Word) -> Iterator[_Word]:
    """As it is; and what follows a value at its start as from the folder, and if it is spelled out, as from home."""
    yield word
    rest = _rest(word.text)
    starts = () if not rest else ("",) if rest[0] in "*?[" else ("", "~/")
    yield from (word._replace(text=start + rest) for start in starts)


def _rest(word: str) -> str:
    """What follows a value at the start; empty: nothing, or the word begins otherwise."""
    return word.lstrip(f"{_UNKNOWN}/") if word[:1] == _UNKNOWN else ""


def _words(part: Sequence[str], flat: Sequence[str], globs: frozenset[str]) -> Iterator[_Word]:
    names = frozenset(posixpath.basename(word).lower() for word in (flat if "xargs" in flat else part))
    searches = _is_search(names, part)
    restores = "git" in names and bool(names & RESTORING)
    removes = restores or bool(names & _REMOVE)
    shows = searches or bool(names & _SHOW) or ("find" in names and bool(names & _HANDED_ON))
    trees = (_EDIT if removes else _NOTHING) | (_READ if shows else _NOTHING)
    fills = bool(names & _FILL)
    for word in part:
        is_glob = word in globs or (removes and "git" in names)
        yield from (_Word(piece, is_glob=is_glob, trees=trees, is_filled=fills) for piece in _pieces(word))
    if is_whole(part):
        yield _Word(".", trees=trees)
    if fills or (searches and sum(word[:1] != "-" for word in part) < _WITH_FOLDER):
        yield _Word(".", trees=_READ if searches else _NOTHING, is_filled=fills)
    if names & _COPY:
        yield from _copied([_Word(word, is_glob=word in globs) for word in part])


def _is_search(names: frozenset[str], part: Sequence[str]) -> bool:
    """It shows what is in all files of a folder."""
    goes_down = any(re.fullmatch(r"-\w*[rR]\w*|--(dereference-)?recursive", word) for word in part)
    return bool(names & _SEARCH) or (bool(names & _GREP) and goes_down)


def _copied(words: Sequence[_Word]) -> Iterator[_Word]:
    """What comes to be in the last of the words, or in that of `-t`, under the names of the others."""
    at = next((at for at, word in enumerate(words) if posixpath.basename(word.text).lower() in _COPY), 0)
    is_move = posixpath.basename(words[at].text).lower() == "mv"
    said = next((each for before, each in pairwise(words) if before.text in _TARGETS), None)
    free = [word for word in words[at + 1 :] if word.text[:1] != "-" and word is not said]
    target = said or (free.pop() if free else None)
    if target is None:
        return
    for word in free:
        name = posixpath.basename(word.text)
        inner = "" if name in (".", "..") else name
        is_glob = word.is_glob or target.is_glob
        yield _Word(posixpath.join(target.text, inner), is_glob=is_glob, trees=_EDIT)
        yield word._replace(trees=_READ | (_EDIT if is_move else _NOTHING))


def _place(word: _Word, folder: str, home: str) -> Place:
    path = absolute(word.text, folder, home)
    wide = tuple(plain(_widened(part)) for part in parts_of(path)) if word.is_glob else plain_parts(path)
    is_glob = word.is_glob and any("*" in part or "?" in part for part in wide)
    return Place(wide, is_glob=is_glob, trees=word.trees, is_filled=word.is_filled)


def _widened(part: str) -> str:
    """A part that is nothing but a value is left alone: it could be anything."""
    begin, end = part.find("["), part.rfind("]")
    part = f"{part[:begin]}*{part[end + 1 :]}" if 0 <= begin < end else part
    return part if part.strip(_UNKNOWN) == "" else part.replace(_UNKNOWN, "*")
