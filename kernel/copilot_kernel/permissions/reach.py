"""Where the free words of a command lead: out of the project, or to files that are more than text.

Most programs run or change what their words name: `pytest /tmp/x` runs code that nobody has seen, `cp x .git/hooks`
puts a program where the next command starts it. So only of a closed list of programs, which show what they are given, a
word may lead elsewhere. Words are judged by their spelling; links in the project count as the project.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from .options import ALIASES, options_of
from .parts import below
from .programs import WRAPPERS, inner_at
from .remotes import USUAL
from .sensitive import is_never_written, names_secret, why_sensitive

_NAMES = "echo printf true false test [ pwd type command which basename dirname date tee cd wait"
_SAYING = frozenset(_NAMES.split())
"""Their words name no file of which anything is shown; those of `tee` are judged as edits."""
_VIEWERS = """
    ls cat head tail wc grep egrep fgrep rg ag ack find fd sort uniq cut tr diff cmp comm jq sed awk file stat du df
    tree less man xxd od strings hexdump bat column nl tac rev fold paste join md5sum sha1sum sha256sum realpath
    readlink curl git iconv zcat zgrep
    """
_SHOWING = frozenset(_VIEWERS.split())
"""They show what their words name, in the forms that are not held back."""
_LISTING = frozenset({"ls", "find", "fd", "tree", "stat", "du", "df", "file", "realpath", "readlink"})
"""Of these, they show names and sizes only."""
_SCRIPTED = re.compile(r"(python|pypy|node|ruby|perl|php|lua|Rscript|julia|bash|sh|deno|bun|java)[\d.]*")
"""What a rule spells out behind these is a program of the project, and the further words are its own matter."""

_FLAGS = frozenset({"-u", "-B", "-O", "-I", "-P", "-s", "-E", "-x", "--vanilla"})
"""They take no value, so that the script stands behind them."""
_ADDRESS = re.compile(r"(?:[^=]*=)?(?:\w+\+)?(?:https?|ssh|git)://")
_BETWEEN = re.compile(r"[=:,@]")
_TELLING = re.compile(r"[./~]|jupyter|venv|head|[^\x00-\x7f]", re.IGNORECASE)
"""Without any of these, a part of a word leads nowhere: most of a long message is so."""
_HIDDEN_GLOB = re.compile(r"(.*/)?\.[^/]*[*?\[]", re.DOTALL)
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "git"})
"""They show what is in all files of a folder."""
_PLAIN = re.compile(r"(?!jupyter)[\w+%-]*", re.ASCII)
_LIVING = re.compile(r"/proc/(?:\Z|[^/]*[\d*?\[]|self|thread-self)")
_DETOUR = re.compile(r"(.*?(?:\A|/)(?!\.{0,2}(?:/|\Z))[^/]+)/+(?:\./+)*\.\.(?:/|\Z)", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")
_NAMING = re.compile(r"--(?:i?glob|inc\w*)(?:=(?P<long>.*))?|-[A-Za-z.]*?g=?(?P<short>.*)", re.DOTALL)
"""How a search is told the names of the files in which it looks."""
_TAKING = frozenset({"rm", "rmdir", "mv", "chmod", "chown"})
_CHANGING = frozenset({"mv", "checkout", "restore", "rm", "clone"})
"""With these, git changes what its words name."""
_PLACING = frozenset({"cp", "mv", "ln", "rsync", "install", "rm", "rmdir", "chmod", "tar", "unzip"})
"""With a folder, these reach what is in it."""


@dataclass(frozen=True, slots=True)
class Around:
    """`folder` is where commands start, `roots` are the names of the project's folder, `home` is the user's.

    All are absolute. Without roots the folder is the project; empty: not known. `remotes` are names of Git's remotes.
    """

    folder: str = ""
    roots: tuple[str, ...] = ()
    home: str = ""
    remotes: frozenset[str] = USUAL

    def inner(self, path: str) -> tuple[str, ...] | None:
        """The parts of `path` in the project; None if it is outside, or nobody knows."""
        whole = self.whole(path)
        roots = self.roots or (self.folder or _NOWHERE,)
        return next((parts for root in roots if (parts := below(whole, root)) is not None), None)

    def whole(self, path: str) -> str:
        """Absolute, without `..`."""
        if path.startswith("~"):
            path = (self.home or _HOME) + path[1:] if path[1:2] in ("", "/") else f"/{path}"
        whole = posixpath.normpath(posixpath.join(self.folder or _NOWHERE, path))
        return "/" + whole.lstrip("/")

    def holds_home(self, whole: str) -> bool:
        """Whether it is the user's home, or a folder above."""
        return below(self.home or _HOME, whole) is not None


_NOWHERE, _HOME = "/\0", "/~"
_MOST, _DEEPEST = 300, 200
"""Paths in the words of one command, and folders in a word; they bound the time that one takes."""


def leads(words: Sequence[str], spelled: Collection[int], globs: frozenset[str], around: Around) -> str:
    """In words, why no rule allows what the words lead to; empty: nothing speaks against them."""
    program, free = _acting(words, spelled)
    if not free or program in _SAYING:
        return ""
    is_shown = program in _SHOWING and _is_as_listed(program, words, spelled)
    if is_shown and program in _LISTING:
        return ""
    odd = [words[at] for at in free if words[at][:1] == "-" or not _PLAIN.fullmatch(words[at])]
    if sum(len(tuple(_paths(word, program in _PLACING))) for word in odd) > _MOST or any(
        word.count("/") > _DEEPEST for word in odd
    ):
        return f"{program} gets too many words to look where each of them leads"
    reasons = (_reason(program, words[at], words[at] in globs, is_shown, around) for at in free)
    return (
        next(filter(None, reasons), "")
        or _sought(program, words, free)
        or _whole(program, words, free, around)
        or _unpacked(program, words, free, around)
    )


def _acting(words: Sequence[str], spelled: Collection[int]) -> tuple[str, list[int]]:
    """The program that gets the free words, and which these are; none for a script of the project."""
    free = [at for at in range(1, len(words)) if at not in spelled]
    begin = inner_at(words, free)
    if not begin and posixpath.basename(words[0]) in WRAPPERS:
        plain = (at for at, word in enumerate(words) if at and not re.fullmatch(r"-.*|[\d.]+[smhd]?|\w+=.*", word))
        begin = next(plain, 0)
    name = posixpath.basename(words[begin])
    before = [words[at] for at in range(begin + 1, min(free, default=0))]
    is_script = begin in spelled and _is_script(words[begin], name, before)
    return ALIASES.get(name, name), [] if is_script else free


def _is_script(program: str, name: str, before: list[str]) -> bool:
    """A program that lies in the project, or one behind its interpreter; none that was installed there."""
    if _SCRIPTED.fullmatch(name):
        script = next((word for word in before if word not in _FLAGS), "-")
        return not script.startswith("-")
    is_own = "/" in program and program[:1] != "/" and not {"bin", ".bin"}.intersection(program.split("/"))
    return is_own and options_of(name) is None


def _is_as_listed(program: str, words: Sequence[str], spelled: Collection[int]) -> bool:
    """Whether what the rule itself spells out leaves the program one that only shows, unlike `sed -i`."""
    options = options_of(program)
    if program == "git":
        return _CHANGING.isdisjoint(words)
    return not options or all(options.covers(words[at]) for at in spelled if at < len(words))


@lru_cache(maxsize=1024)
def _reason(program: str, word: str, is_glob: bool, is_shown: bool, around: Around) -> str:
    if (_PLAIN.fullmatch(word) and program not in _PLACING) or _is_left_out(program, word):
        return ""
    if is_glob and _HIDDEN_GLOB.match(word):
        return f"{program} {word} may become a hidden file, by the names of files"
    if is_glob and _GLOB.search(word) and names_secret(word):
        return f"{program} {word} may become a file with secrets, by the names of files"
    if program == "wget" and (name := _fetched(word)) and (why := why_sensitive((name,), changes=True)):
        return f"wget writes {name}, which {why}"
    if program == "ln" and ".." in word:
        return f"what {word} leads to depends on where the link is"
    for path in _paths(word, program in _PLACING):
        if (detour := _DETOUR.match(path)) and around.inner(detour[1]) is None:
            return f"{path} has .. behind a folder outside of the project, and where that leads depends on links"
        parts = around.inner(path)
        if parts is None and not is_shown:
            return f"{program} may run or change what {path} leads to, which is outside of the project"
        why = _outside(program, path, is_glob, around) if parts is None else _inside(program, parts, is_shown)
        if why:
            return f"{path} {why}, and no rule allows that for {program}"
    return ""


def _sought(program: str, words: Sequence[str], free: list[int]) -> str:
    """Of patterns for names that the program itself expands."""
    patterns = (_name_pattern(program, words, at) for at in free) if program in _SEARCHING else ()
    found = next((pattern for pattern in patterns if re.search(r"[*?\[{\\]", pattern) and names_secret(pattern)), "")
    return f"{program} looks for {found}, which may be files with secrets" if found else ""


def _name_pattern(program: str, words: Sequence[str], at: int) -> str:
    if program == "git":
        return "" if re.match(r"-|.*\s", words[at], re.DOTALL) else re.split("[:)]", words[at])[-1]
    found = _NAMING.fullmatch(words[at])
    if not found:
        return ""
    return found["long"] or found["short"] or " ".join(words[at + 1 : at + 2])


def _whole(program: str, words: Sequence[str], free: list[int], around: Around) -> str:
    """Whether the project's own folder would be deleted, moved or emptied, and with it what belongs to Git."""
    named = [words[at] for at in free if not words[at].startswith("-")]
    options = [word for word in words if word.startswith("-")]
    if program == "mv" and not any(word.startswith(("-t", "--t")) for word in options):
        named = named[:-1]
    is_meant = program in _TAKING or (program == "rsync" and any(word.startswith("--del") for word in options))
    found = next((word for word in named if is_meant and around.inner(word) == ()), "")
    return f"{program} {found} takes the whole project, with what belongs to Git" if found else ""


def _unpacked(program: str, words: Sequence[str], free: list[int], around: Around) -> str:
    """Whether an archive would be unpacked where what is in it may belong to Git, or steer agents."""
    if program not in ("tar", "unzip") or words[0].rpartition("/")[2] in WRAPPERS:
        return ""
    modes = [words[at] for at in free if _is_taking_out(program, at, words[at])]
    if not modes or _is_into_own_folder(program, words, around):
        return ""
    return (
        f"{program} may write whatever is in the archive, also what belongs to Git; unpack it into a folder of its own"
    )


def _is_taking_out(program: str, at: int, word: str) -> bool:
    """Unless what is in it is listed or printed. Of tar, each word that may say so counts."""
    if program == "unzip":
        return at == 1 and re.fullmatch(r"-q*[lptv]q*", word) is None
    letters = re.match(r"-?([A-Za-z]*?)(?:[fCb]|\Z)", word) if at == 1 or word[:1] == "-" else None
    is_short = letters is not None and "x" in letters[1] and "O" not in letters[1]
    return word in ("--extract", "--get") or is_short


def _is_into_own_folder(program: str, words: Sequence[str], around: Around) -> bool:
    """One folder, in the next word or attached, and no option before it that may take this one for its value."""
    option = "-d" if program == "unzip" else "-C"
    places = [at for at, word in enumerate(words) if word.startswith((option, "--directory"))]
    if len(places) != 1 or re.fullmatch(r"-?[A-Za-z]*[fbC]|--[\w-]+", words[places[0] - 1]):
        return False
    word = words[places[0]]
    value = word.partition("=")[2] if "=" in word else word[2:] if word[1] != "-" else ""
    value = value or "".join(words[places[0] + 1 : places[0] + 2])
    return bool(around.inner(value)) and ".." not in value


def _is_left_out(program: str, word: str) -> bool:
    return word.startswith(("--exclude=", "--ignore=")) and options_of(program) is not None


def _inside(program: str, names: tuple[str, ...], is_shown: bool) -> str:
    if is_shown:
        return why if "secrets" in (why := why_sensitive(names)) else ""
    if is_never_written(names):
        return "belongs to Git itself, or holds the rules for agents"
    tail = () if program in _PLACING else ("",)
    return why_sensitive((*names, *tail), changes=True)


def _outside(program: str, path: str, is_glob: bool, around: Around) -> str:
    """Of what a program only shows: everything else may not lead there."""
    whole = around.whole(path)
    if _LIVING.match(f"{whole}/"):
        return "shows what a running program holds"
    if is_glob and "/" in "".join(re.split(r"[*?\[]", path, maxsplit=1)[1:]):
        return "may become another folder, by the names of files"
    if program in _SEARCHING and (around.holds_home(whole) or "/." in whole):
        return "is searched with all that is hidden in it"
    return "may hold secrets" if why_sensitive(whole.split("/")) else ""


def _fetched(word: str) -> str:
    """The name of the file in which wget keeps what an address gives; empty: it is none, or gives no name."""
    return unquote(re.split(r"[?#;]", word)[0]).rpartition("/")[2] if _ADDRESS.match(word) else ""


def _paths(word: str, is_placing: bool = False) -> Iterator[str]:
    """Whatever in the word may be a path: all of it, and what stands behind an option's letter, =, :, a comma or @."""
    if _ADDRESS.match(word) and ".." not in word.split("/"):
        return
    if "file:" in word.lower():
        yield "/" + re.split(r"file:/*", word, maxsplit=1, flags=re.IGNORECASE)[1]
    if not word.startswith("-"):
        yield word
    elif not word.startswith("--") and (begin := re.search(r"[./~]", word)):
        yield word[2:]
        yield word[begin.start() :]
    if is_placing and re.match("-[^-]", word):
        letters = re.match(r"-[^./~=:,@]*", word)
        yield from (word[at:] for at in range(2, letters.end() if letters else 2))
    yield from (part for part in _BETWEEN.split(word)[1:] if is_placing or _TELLING.search(part))
