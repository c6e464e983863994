"""Hardening: why the words of one command may run or write more than its first word says.

A rule such as `Bash(git *)` stands for ordinary work with git. What the rule spells out itself is not questioned, only
what its `*` stands for. Where knowledge is impossible (`npm run`, `make`, `pytest` run what the project's own files
say) nothing is held back: such a rule is trust in the project.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import pairwise

from .git import git_hides
from .options import ALIASES, options_of, refused_of
from .projects import FROM_FILE, PASS_ON
from .remotes import USUAL
from .scripts import awk_hides, is_display, jq_hides, sed_hides
from .shell import odd_target

_REPLACES = "runs its words as commands of the shell itself"
_CHANGES = "changes what later commands mean"
_BUILTINS = (
    dict.fromkeys((".", "source", "eval", "exec", "command", "builtin", "trap", "bind", "fc", "coproc"), _REPLACES)
    | dict.fromkeys(("export", "declare", "typeset", "local", "readonly", "read", "mapfile", "readarray"), _CHANGES)
    | dict.fromkeys(
        ("unset", "let", "getopts", "alias", "unalias", "set", "shopt", "enable", "hash", "umask"), _CHANGES
    )
    | dict.fromkeys(("ulimit", "shift", "history", "complete", "compgen", "compopt", "return", "logout"), _CHANGES)
    | dict.fromkeys(("cd", "pushd", "popd"), "lets the rest run in another folder")
)

_WRAPPERS = """
    env xargs sudo doas su timeout time nice nohup stdbuf setsid watch flock parallel ionice chrt taskset chroot unshare
    nsenter strace ltrace gdb valgrind script entr unbuffer systemd-run busybox npx uvx command builtin exec
"""
WRAPPERS = frozenset(_WRAPPERS.split())
"""Programs that start the program that their words name."""
_RUN_IN = frozenset({"uv", "poetry", "pdm", "hatch", "pixi", "conda", "mamba", "rye"})
"""These start one in the project's own environment."""


def hidden(
    words: Sequence[str],
    spelled: Collection[int] = frozenset({0}),
    globs: frozenset[str] = frozenset(),
    remotes: frozenset[str] = USUAL,
) -> str:
    """In words, what else than `words[0]` may run or be written; empty: nothing that is known.

    `spelled` are the words that a rule itself spells out, by index. `globs` are those that bash may replace by names.
    `remotes`: the names of Git's remotes that stand for addresses.
    """
    free = frozenset(range(len(words))) - frozenset(spelled)
    if not free:
        return ""
    program = posixpath.basename(words[0])
    if words[0] in _BUILTINS and tuple(words[:2]) not in (("command", "-v"), ("command", "-V")):
        return f"{words[0]} {_BUILTINS[words[0]]}"
    if program in WRAPPERS and words[0] != "command":
        return _wrapped(words, free, globs, remotes)
    if program == "git":
        return git_hides(words, free, globs, remotes)
    if at := inner_at(words, free):
        return hidden(words[at:], frozenset(i - at for i in range(at, len(words)) if i not in free), globs, remotes)
    return (
        _options_hide(program, words, free, globs)
        or _words_hide(program, words, free, globs)
        or _refused_hide(words, free, globs)
    )


def inner_at(words: Sequence[str], free: Collection[int]) -> int:
    """Where the program stands that a rule spells out behind another, as in `python -m pytest *`; 0: nowhere."""
    program = posixpath.basename(words[0])
    if program in _RUN_IN:
        known = (at for at in reversed(range(1, len(words))) if at not in free and options_of(words[at]))
        return next(known, 0)
    if not re.fullmatch(r"(python|pypy)[\d.]*", program):
        return 0
    flag = next((at for at, word in enumerate(words) if at in free or word == "-m"), len(words))
    return flag + 1 if flag + 1 < len(words) and not {flag, flag + 1}.intersection(free) else 0


def unwrap(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without the wrappers in front that only measure, limit or delay, in their plain forms."""
    for _ in range(_DEEPEST):
        length = _wrapper_length(words)
        if not length or words[length].startswith("-"):
            break
        words = words[length:]
    return words


def written(words: tuple[str, ...], spelled: Collection[int] = frozenset({0})) -> tuple[str, ...]:
    """The files that a command writes besides what redirections say, where its words tell: to be judged as edits.

    Also of `tee` behind a wrapper, whether that is looked through or a rule spells it out.
    """
    if posixpath.basename(words[0]) in WRAPPERS:
        at = next((at for at, word in enumerate(words) if posixpath.basename(word) == "tee"), len(words))
        return written(words[at:], {0, *(index - at for index in spelled)}) if at < len(words) else ()
    if posixpath.basename(words[0]) == "tee":
        return tuple(word for at, word in enumerate(words) if at not in spelled and not word.startswith("-"))
    return ()


_DEEPEST = 5
"""Wrappers in a row."""
_TIME, _BUFFER = r"\d+(\.\d+)?[smhd]?", r"-[ioe](0|L|\d+[KMG]?)"
_PLAIN = [
    *(("time", "-p"), ("time",), ("nice", "-n", r"\d+"), ("nice",), ("nohup",)),
    *(("timeout", "-[ks]", r"\w+", _TIME), ("timeout", _TIME)),
    *(("stdbuf", *[_BUFFER] * count) for count in (3, 2, 1)),
]
"""The plain forms of wrappers, word by word, longer ones first."""


def _wrapper_length(words: tuple[str, ...]) -> int:
    shapes = (shape for shape in _PLAIN if len(words) > len(shape))
    return next((len(shape) for shape in shapes if all(map(re.fullmatch, shape, words))), 0)


def _wrapped(words: Sequence[str], free: frozenset[int], globs: frozenset[str], remotes: frozenset[str]) -> str:
    """A rule for a wrapper means everything, but what is held back from a program is held back behind it too."""
    for at, word in enumerate(words[1:], 1):
        name = posixpath.basename(word)
        if name == "git" or name in _BUILTINS or name in _WORDS or options_of(name) or refused_of(name):
            return hidden(words[at:], frozenset(i - at for i in range(at, len(words)) if i not in free), globs, remotes)
    return ""


def _options_hide(program: str, words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    options = options_of(program)
    if not options:
        return ""
    end = words.index("--") if "--" in words and program in PASS_ON else len(words)
    for at, word in ((index, words[index]) for index in sorted(free) if index < end):
        if not options.covers(word) and not _is_tame(program, word, *words[at + 1 : at + 2]):
            return f"{program} {word} may start other programs or write files"
        if word in globs and word[0] in "*?[":
            return f"{word} may become an option of {program}, by the name of a file; write ./{word}"
    return ""


def _is_tame(program: str, option: str, value: str = "") -> bool:
    """Whether an option that is not on the list is harmless with this value in the next word."""
    if program == "pytest":
        return option == "-p" and value.startswith("no:")
    return program == "curl" and is_display(option, value)


def _refused_hide(words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    """Of the program and of those that a rule spells out behind it, as in `python -m pytest *`."""
    for at, program in enumerate(words):
        refused = refused_of(posixpath.basename(program)) if at == 0 or at not in free else None
        for word, after in pairwise([*(words[index] for index in sorted(free) if index > at), ""] if refused else []):
            if refused and refused.covers(word) and not _is_tame("pytest", word, after):
                return f"{program} {word} may start other programs or write files"
            if word in globs and word[0] in "*?[":
                return f"{word} may become an option of {program}, by the name of a file; write ./{word}"
    return ""


def _words_hide(program: str, words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    name = ALIASES.get(program, program)
    if name in FROM_FILE and (file := next((words[at] for at in sorted(free) if words[at].startswith("@")), "")):
        return f"{program} {file} takes further options from a file"
    if name in _WHOLE:
        return _WHOLE[name](words, free, globs)
    check = _WORDS.get(name)
    return check([words[index] for index in sorted(free)], globs) if check else ""


def _sed(words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    """The script is what follows each -e, also attached, else the first word that is no option.

    Where options end at the first other word, or at --, this word is the script even if an -e follows.
    """
    if attached := next((words[at] for at in sorted(free) if re.match(r"-[^-]*?e.", words[at], re.DOTALL)), ""):
        return f"sed {attached} holds a script that is not looked through; write -e before it"
    named = [at for at in range(1, len(words)) if re.fullmatch(r"-[^-i]*e.*", words[at], re.DOTALL)]
    first = next((at for at in range(1, len(words)) if words[at][:1] not in ("-", "")), len(words))
    places = [at + 1 for at in named] + ([first] if first < min(named, default=len(words)) else [])
    scripts = [words[at] for at in places if at in free]
    if globs.intersection(scripts):
        return "a script of sed may become another, by the name of a file"
    return next(filter(None, map(sed_hides, scripts)), "")


def _awk(words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    """Past the values of -F and -v at the beginning, each word may be the program; after --, also one with a dash.

    The name of a function in a variable is what `@f()` calls.
    """
    if named := next((words[at] for at in sorted(free) if _AWK_RUNS.search(words[at])), ""):
        return f"awk {named} may run commands"
    at = 1
    while at < len(words) and words[at] in ("-F", "-v"):
        at += 2
    programs = [words[place] for place in sorted(free) if place >= at]
    if globs.intersection(programs[:1]):
        return "a program of awk may become another, by the name of a file"
    is_over = "--" in words[at:]
    return next(filter(None, (awk_hides(word) for word in programs if is_over or not word.startswith("-"))), "")


_AWK_RUNS = re.compile(r"\b(?:\d\w*)?system\b|system\s*\(|getline", re.ASCII)


def _jq(words: list[str], globs: frozenset[str]) -> str:
    return next(filter(None, map(jq_hides, words)), "")


def _patch(words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    """Only in front is it sure that `--dry-run` is no option's value."""
    is_dry = words[1] == "--dry-run" and all(re.fullmatch(r"-p\d+|-[RNsuli]|[^-].*", word) for word in words[2:])
    return "" if is_dry else "a patch may change every file"


def _listed(words: list[str], globs: frozenset[str]) -> str:
    """Of du and wc: the names in the file are shown where there are no such files."""
    return "the names come from a file, which is shown" if any(word.startswith("--f") for word in words) else ""


def _tar(words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    """The first word may be letters without a dash; an archive `host:file` is fetched by another program."""
    loose = [words[at] for at in sorted(free)]
    if any(word in globs and "/" not in re.split(r"[*?\[]", word)[0] for word in loose):
        return "an archive may become another, by the name of a file; write ./ before it"
    letters = words[1] if 1 in free and not re.match("-.", words[1]) else ""
    if letters and not re.fullmatch(r"[cxtvzjJkpmahruf]+", letters):
        return f"tar {letters} may start other programs or write files"
    return "tar reaches for another machine" if any(":" in word for word in loose) else ""


def _curl(words: Sequence[str], free: frozenset[int], globs: frozenset[str]) -> str:
    """Read as curl reads it, up to its addresses: it replaces braces and brackets in them, also those in `f{i}le:`."""
    at = 1
    while at < len(words):
        if _TAKES_VALUE.fullmatch(words[at]) and "--" not in words:
            at += 2
            continue
        if at in free and (words[at].lower().startswith(("file:", "--url=")) or re.search(r"[{\[]", words[at])):
            return f"curl {words[at]} may read files of this machine"
        at += 1
    return ""


_TAKES_VALUE = re.compile(
    r"-[sSfLIivkgNG46#]*[HXdAemruFow]|--(header|request|data|data-raw|data-urlencode|data-binary|json|user-agent|referer|max-time"
    r"|connect-timeout|retry|retry-delay|range|user|form|write-out|output)"
)
"""Of curl. A letter that takes a value ends its word, or has the value in it."""


def _make(words: list[str], globs: frozenset[str]) -> str:
    setting = next((word for word in words if ("=" in word and word[0] != "-") or word in globs), "")
    return f"make {setting} sets what the Makefile runs" if setting else ""


def _one_file(
    words: Sequence[str], free: frozenset[int], globs: frozenset[str], valued: frozenset[str] = frozenset()
) -> str:
    """Options end at the first other word; `-` is a file too, so that what follows it would be written."""
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        at += 2 if words[at] in valued else 1
    files = range(at + (list(words[at : at + 1]) == ["--"]), len(words))
    if any(place in free for place in files[1:]) or globs.intersection(words[place] for place in files):
        return "a second file would be written"
    return ""


def _less(words: list[str], globs: frozenset[str]) -> str:
    return "a word with + is a command for the pager" if any(word[:1] in "+*?[" for word in words) else ""


def _date(words: list[str], globs: frozenset[str]) -> str:
    return "it may set the clock" if any(re.match(r"\d|[*?[]", word) for word in words) else ""


def _tee(words: list[str], globs: frozenset[str]) -> str:
    odd = next((word for word in words if word in globs or (word[:1] == "-" and word not in ("-a", "-i"))), "")
    return f"what tee {odd} writes is not written out" if odd else next(filter(None, map(odd_target, words)), "")


_WHOLE: dict[str, Callable[[Sequence[str], frozenset[int], frozenset[str]], str]] = {
    "sed": _sed,
    "awk": _awk,
    "patch": _patch,
    "tar": _tar,
    "curl": _curl,
    "uniq": partial(_one_file, valued=frozenset({"-f", "-s", "-w"})),
    "xxd": partial(_one_file, valued=frozenset({"-c", "-g", "-l", "-s"})),
}
"""Those for which it matters where a word stands, also among what the rule spells out."""
_WORDS: dict[str, Callable[[list[str], frozenset[str]], str]] = {
    "jq": _jq,
    "du": _listed,
    "wc": _listed,
    "make": _make,
    "date": _date,
    "less": _less,
    "man": _less,
    "tee": _tee,
}
