"""Rules for commands: `Bash(git *)` covers commands that begin with its words.

Without a final `*` the words are exact, with it further words may follow; `git:*` is the same as `git *`, and a `*`
between words stands for exactly one. Every command of a line must be covered by a rule. What a rule does not spell out
itself may still require confirmation: words of the table, protected files, and whatever lies outside the project.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from ..system.drives import spelling_problem
from .paths import Places, ResolvedPath, glob_protection
from .programs import is_filter, only_shows, program_name, questionable, wrapper_length
from .shell import CommandLine, parse_line

# Paths that the words of one command may name; they bound the time of a decision.
MAX_PIECES = 300
# Folders in which one command may run.
MAX_FOLDERS = 4
UNKNOWN_FOLDER = "/\0"

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The words of a rule, None for any one word. With `is_open`, further words may follow."""

    text: str
    words: tuple[str | None, ...]
    is_open: bool

    def spelled(self, words: Words, globs: frozenset[str] = frozenset()) -> frozenset[int] | None:
        """The indexes of the words that the pattern spells out; None if it does not match.

        A glob may become several words, so only the open end covers one.
        """
        if len(words) < len(self.words) or (len(words) > len(self.words) and not self.is_open):
            return None
        if self.words and self.words[0] not in (None, words[0]):  # most rules are about another program
            return None
        pairs = list(zip(self.words, words, strict=False))
        if any(word in globs or wanted not in (None, word) for wanted, word in pairs):
            return None
        return frozenset(index for index, (wanted, _) in enumerate(pairs) if wanted is not None)


def compile_command(text: str) -> CommandPattern:
    """Raises ValueError, with a message for the user, if `text` is not the beginning of one command."""
    if text.strip() == "*":
        return CommandPattern(text, (), True)
    line = parse_line(re.sub(r":\*$", " *", text.strip()))
    if line.unclear or line.writes or len(line.commands) != 1:
        problem = line.unclear or ("It holds several commands or a redirection." if text.strip() else "It is empty.")
        raise ValueError(f"{problem} A rule is the beginning of one command.")
    words = line.commands[0]
    if any(word in line.globs and word != "*" for word in words) or re.search(r"""['"\\]\*['"]?""", text):
        raise ValueError("In a rule, * stands for whole words only; write for example `npm test *`.")
    wanted = tuple(None if word in line.globs else word for word in words)
    return CommandPattern(text, wanted[:-1] if wanted[-1] is None else wanted, wanted[-1] is None)


@dataclass(frozen=True, slots=True)
class CommandVerdict:
    """The `rules` that allow a line; or the `reason` why they do not. `uncovered` are commands without a rule."""

    reason: str | None
    rules: tuple[str, ...] = ()
    uncovered: tuple[Words, ...] = ()


def judge_line(line: CommandLine, allow: Sequence[CommandPattern], places: Places, folder: str) -> CommandVerdict:
    """Every command needs a rule, except harmless ones beside one that has a rule."""
    if line.unclear or not line.commands:
        return CommandVerdict(line.unclear or "The command is empty.")
    rules: dict[str, None] = {}
    uncovered: dict[Words, None] = {}
    reason = None
    for at, (words, folders) in enumerate(zip(line.commands, working_folders(line, places, folder), strict=True)):
        rule, objection = _covering_rule(words, line.globs, allow, places, folders)
        rules |= {rule: None} if rule else {}
        if not rule and not is_free(line, at, places, folders):
            uncovered[words[wrapper_length(words) :]] = None
            reason = reason or objection or f"No rule covers {_shown(words)}."
    if not rules and not uncovered:
        return CommandVerdict(f"No rule covers {_shown(line.commands[0])}.", (), line.commands[:1])
    return CommandVerdict(reason, tuple(rules), tuple(uncovered))


def working_folders(line: CommandLine, places: Places, folder: str) -> Iterator[tuple[str, ...]]:
    """Return the folders in which each command may run; where a `cd` may have failed, also the one before."""
    always_follows = {"&&", "|", "|&"}.issuperset(line.operators[:-1])
    now: tuple[str, ...] = (folder,)
    for at, words in enumerate(line.commands):
        yield now
        if words[0] in ("cd", "pushd", "popd"):
            is_known = words[0] == "cd" and is_free(line, at, places, now)
            after = tuple(places.absolute(words[1], each) if is_known else UNKNOWN_FOLDER for each in now)
            now = after if is_known and always_follows else tuple(dict.fromkeys((*now, *after)))
            now = now if len(now) <= MAX_FOLDERS else (UNKNOWN_FOLDER, folder, now[-1])


def is_free(line: CommandLine, at: int, places: Places, folders: tuple[str, ...]) -> bool:
    """The command needs no rule beside one that has one."""
    words = line.commands[at]
    if words[0] == "cd":
        return _is_known_cd(line, at, places, folders)
    is_harmless = words[0] == "echo" or words in (("true",), ("pwd",))
    return is_harmless or (line.is_piped(at) and is_filter(words, line.globs))


def _is_known_cd(line: CommandLine, at: int, places: Places, folders: tuple[str, ...]) -> bool:
    """`cd` into one literal folder of the project, in the shell itself."""
    words = line.commands[at]
    is_literal = len(words) == 2 and words[1] not in line.globs and words[1][:1] != "-"
    if not is_literal or line.is_piped(at) or line.operators[at] in ("|", "|&", "&"):
        return False
    found = [places.resolve(words[1], folder) for folder in folders]
    return all(places.is_inside(path, or_root=True) and not places.protection(path, changes=True) for path in found)


def _covering_rule(
    words: Words, globs: frozenset[str], allow: Sequence[CommandPattern], places: Places, folders: tuple[str, ...]
) -> tuple[str | None, str | None]:
    """The rule that allows the command; or None and why the rules that cover it do not."""
    wrapper = wrapper_length(words)
    inner, reason = words[wrapper:], None
    for pattern in allow:
        spelled = pattern.spelled(inner, globs)
        if spelled is None and wrapper:
            outer = pattern.spelled(words, globs) or frozenset()
            spelled = frozenset(at - wrapper for at in outer if at >= wrapper) or None
        if spelled is None:
            continue
        objection = _objection(inner, spelled, globs, places, folders)
        if objection is None:
            return pattern.text, None
        reason = reason or objection
    return None, reason


def _objection(
    words: Words, spelled: frozenset[int], globs: frozenset[str], places: Places, folders: tuple[str, ...]
) -> str | None:
    """Why the words that the rule does not spell out require confirmation."""
    free = [at for at in range(len(words)) if at not in spelled]
    if not free:
        return None
    if reason := questionable(words, spelled, globs):
        return reason
    shows = only_shows(words, globs)
    named = [(piece, at) for at in free if not _is_text(words, at, globs) for piece in path_pieces(words[at])]
    if len(named) > MAX_PIECES:
        return f"`{words[0]}` has too many words to check where each of them leads."
    for piece, at in named:
        if spelling := spelling_problem(piece):
            return f"`{_short(words[at])}` {spelling}."
        if why := _protected(piece, words, at, globs, places, folders, shows=shows):
            return f"`{_short(words[at])}` {why}. To allow it, write it out in a rule for `{words[0]}`."
        if not shows and _leads_out(piece, places, folders):
            return f"`{_short(words[at])}` leads out of the project."
    return None


# Options of find whose values are compared with names, and options of git for a message.
_NAME_TESTS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_MESSAGE = re.compile(r"-\w*m|--message")


def _is_text(words: Words, at: int, globs: frozenset[str]) -> bool:
    """The word is a pattern or a message, not a path."""
    if at == 0 or words[at] in globs:
        return False
    program, option = program_name(words[0]), words[at - 1]
    is_message = program == "git" and " " in words[at] and bool(_MESSAGE.fullmatch(option))
    return is_message or (program == "find" and option in _NAME_TESTS)


_URL = re.compile(r"(?!file:)(?:\w+\+)?\w+://", re.IGNORECASE)
_GLOB_OPTIONS = frozenset({"-g", "--glob", "--iglob", "--include"})


@lru_cache(maxsize=2048)
def path_pieces(word: str) -> tuple[str, ...]:
    """Whatever in the word may be a path: also what is glued to an option, or follows `=`, `:`, `,` or `@`."""
    if _URL.match(word) and ".." not in word.split("/"):
        return (unquote(re.split(r"[?#]", word)[0].rpartition("/")[2]),)
    found = [] if word[:1] == "-" else [word]
    if word[:1] == "-" and word[1:2] != "-":
        letters = re.match(r"-\w*", word)
        end = letters.end() if letters else 0
        found += [word[at:] for at in (*range(2, min(end, 20) + 1), *range(max(21, end - 20), end + 1))]
    separators = "=" if re.search(r"\s", word) else "[=:,@]"
    found += re.split(separators, word)[1:]
    return tuple(dict.fromkeys(filter(None, found)))


def _protected(
    piece: str, words: Words, at: int, globs: frozenset[str], places: Places, folders: tuple[str, ...], *, shows: bool
) -> str | None:
    word = words[at]
    if re.search(r"[*?\[]", piece) and (word in globs or word[:1] == "-" or words[at - 1] in _GLOB_OPTIONS):
        return glob_protection(piece, changes=not shows)
    if piece == "head" or (program_name(words[0]) == "git" and posixpath.basename(piece).lower() == "head"):
        return None  # a program or a revision
    named = (ResolvedPath(piece, _normal(places, piece, folder), None) for folder in folders)
    return next((why for path in named if (why := places.protection(path, changes=not shows))), None)


def _leads_out(piece: str, places: Places, folders: tuple[str, ...]) -> bool:
    is_elsewhere = ".." in piece.split("/") or (piece[:1] == "~" and piece[1:2] not in ("", "/"))
    return is_elsewhere or any(places.inner(_normal(places, piece, folder)) is None for folder in folders)


def _normal(places: Places, piece: str, folder: str) -> str:
    return "/" + posixpath.normpath(places.absolute(piece, folder)).lstrip("/")


def _shown(words: Words) -> str:
    return f"`{_short(shlex.join(words))}`"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
