"""Knowledge about single programs: the table `policy.toml`, and the words of a command that it is about.

The table lists words that require confirmation because they start another program, write elsewhere or change settings.
It is not a sandbox: a rule such as `Bash(git *)` is trust in git, with any arguments but these.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from msgspec import convert

from .paths import policy_data

SPELL_IT_OUT = "only a rule that spells out the whole command allows it."

Effect = Literal["runs", "writes", "settings", "copies"]
Words = Sequence[str]

_EFFECTS: dict[Effect, str] = {
    "runs": "can start another program",
    "writes": "can write files elsewhere",
    "settings": "can change settings or where the command works",
    "copies": "can bring files into the project that no rule covers",
}


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One row of the table; `policy.toml` describes its fields."""

    programs: tuple[str, ...]
    where: str
    effect: Effect
    words: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    # The program's name alone is the form that a rule must spell out.
    form: bool = False

    def matches(self, word: str) -> bool:
        return any(is_option(word, each) for each in self.words) or any(text in word for text in self.contains)


@dataclass(frozen=True, slots=True)
class Table:
    """`policy.toml`. `filters` has for each program its options, those whose value follows, and its operands."""

    by_program: dict[str, tuple[ProgramRow, ...]]
    filters: dict[str, tuple[re.Pattern[str], re.Pattern[str], int]]
    names: dict[str, frozenset[str]]


@cache
def table() -> Table:
    """Read once, when the first command is judged."""
    data = policy_data()
    by_program: dict[str, tuple[ProgramRow, ...]] = {}
    for row in convert(data["row"], list[ProgramRow]):
        by_program |= {program: (*by_program.get(program, ()), row) for program in row.programs}
    names = {name: frozenset(listed.split()) for name, listed in data["names"].items()}
    return Table(by_program, {name: _filter(**each) for name, each in data["filters"].items()}, names)


def _filter(flags: str, valued: str, operands: int, counts: str = "") -> tuple[re.Pattern[str], re.Pattern[str], int]:
    """Build a filter from letters that stand alone, letters that take a value, and a pattern for numbers."""
    value = rf"-[{flags}]*[{valued}]" if valued else "(?!)"
    return re.compile(rf"-[{flags}]+|{value}.+|{counts or '(?!)'}", re.DOTALL), re.compile(value), operands


def program_name(word: str) -> str:
    """The name without its folder, as file systems see it that ignore case."""
    return posixpath.basename(word).lower()


def is_option(word: str, option: str) -> bool:
    """Return True if `word` is `option`, also abbreviated, joined with its value, or in a cluster of letters."""
    if option.endswith("*"):
        return word.startswith(option[:-1])
    if option.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 2 and option.startswith(name)
    if len(option) == 2 and option[0] == "-":
        return word[:1] == "-" and word[1:2] != "-" and option[1] in word[1:]
    return word == option


def questionable(words: Words, spelled: Collection[int], globs: frozenset[str]) -> str | None:
    """Why the command requires confirmation, although a rule covers it that spells out the words at `spelled`."""
    is_exact = len(spelled) == len(words)
    for start in sorted({0, *spelled}):
        for row in table().by_program.get(program_name(words[start]), ()):
            for at in _matches(row, words[start:], globs):
                is_free = not is_exact if row.where == "program" and not row.form else start + at not in spelled
                if is_free:
                    return _reason(row, words[start], words[start + at])
    return None


def only_shows(words: Words, globs: frozenset[str]) -> bool:
    """The program only shows what its words name, and no word of the table is among them."""
    name = program_name(words[0])
    rows = table().by_program.get(name, ())
    return name in table().names["viewers"] and not any(True for row in rows for _ in _matches(row, words, globs))


def starts_programs(words: Words) -> bool:
    """The program starts whatever its words say, as shells and `sudo` do, other than in the plain form of a wrapper."""
    inner = words[wrapper_length(words) :]
    rows = table().by_program.get(program_name(inner[0]), ())
    return any(row.where == "program" and row.effect == "runs" for row in rows)


def _reason(row: ProgramRow, program: str, word: str) -> str:
    if row.where == "program" and not row.form:
        return f"`{program}` {_EFFECTS[row.effect]}; {SPELL_IT_OUT}"
    shown = program if word == program else f"{program} {word if len(word) <= 60 else word[:59] + '…'}"
    return f"`{shown}` {_EFFECTS[row.effect]}; only a rule that spells this out allows it."


def _matches(row: ProgramRow, words: Words, globs: frozenset[str]) -> Iterator[int]:
    """Indexes of the words that the row is about."""
    match row.where:
        case "program":
            yield 0
        case "anywhere":
            yield from _listed(row, words, 1)
        case "global":
            yield from _listed(row, words[: _subcommand_index(row, words) + 1], 1)
        case "glob" | "wildcard":
            find = re.search if row.where == "glob" else re.match  # by its name, a file may be an option
            yield from (at for at, word in enumerate(words) if at and word in globs and find(r"[*?\[]", word))
        case "script":
            yield from _sed_scripts(words, globs)
        case _:
            yield from _of_subcommand(row, words)


def _listed(row: ProgramRow, words: Words, start: int) -> Iterator[int]:
    given = list(words)
    if row.programs[0] == "tar" and words[1:2] and words[1][:1] != "-":
        given[1] = f"-{words[1]}"
    yield from (at for at in range(start, len(words)) if row.matches(given[at]))


def _subcommand_index(row: ProgramRow, words: Words) -> int:
    """The first word that is neither an option nor, as far as the row tells, the value of one."""
    found = (at for at in range(1, len(words)) if words[at][:1] != "-" and words[at - 1] not in row.words)
    return next(found, len(words))


def _of_subcommand(row: ProgramRow, words: Words) -> Iterator[int]:
    """Behind global options, which may have values, the subcommand is any word of its name."""
    places = range(1, len(words)) if words[1:2] and words[1][:1] == "-" else range(1, 2)
    start = next((at for at in places if words[at : at + 1] and words[at] == row.where), None)
    if start is None or (not set(row.unless).isdisjoint(words[start + 1 : start + 2]) and "--" not in words):
        return
    if row.words:
        yield from _listed(row, words, start + 1)
    else:
        yield start


# -- sed ------------------------------------------------------------------------------------------------------------


# Printing lines by their numbers. What else a script does is not read.
_PLAIN_SED = re.compile(r"(\d+|\$)(,(\d+|\$))?p", re.ASCII)


def _sed_scripts(words: Words, globs: frozenset[str]) -> Iterator[int]:
    """Scripts that do more than print lines: the word after `-e`, else the first operand."""
    options = [at for at in range(1, len(words)) if re.fullmatch(r"-[^-]*e", words[at])]
    first = next((at for at in range(1, len(words)) if words[at][:1] not in ("-", "")), len(words))
    yield from (at for at in range(1, len(words)) if re.match(r"-[^-]*?e.", words[at], re.DOTALL))
    for at in [*(at + 1 for at in options), *([first] if first < min(options, default=len(words)) else [])]:
        if at < len(words) and (words[at] in globs or not _PLAIN_SED.fullmatch(words[at])):
            yield at


# -- filters and wrappers -------------------------------------------------------------------------------------------


def is_filter(words: Words, globs: frozenset[str]) -> bool:
    """A pure filter: it reads its input, writes its output, and can do nothing else."""
    if words[0] not in table().filters or not globs.isdisjoint(words):
        return False
    options, valued, wanted = table().filters[words[0]]
    rest, operands = iter(words[1:]), 0
    for word in rest:
        if valued.fullmatch(word):
            operands += words[0] == "grep" and word[-1] == "e"
            if next(rest, None) is None:
                return False
        elif not options.fullmatch(word):
            operands += 1 if word[:1] != "-" else len(words)
    return operands == wanted or (words[0], operands) == ("tr", 1)


_TIME, _BUFFER = r"\d+(\.\d+)?[smhd]?", r"-[ioe](0|L|\d+[KMG]?)"
# The plain forms of wrappers, word by word, longer ones first.
_WRAPPERS = [
    *(("time", "-p"), ("time",), ("nice", "-n", r"\d+"), ("nice", r"-\d+"), ("nice",), ("nohup",), ("command",)),
    *(("timeout", "-[ks]", r"\w+", _TIME), ("timeout", _TIME)),
    *(("stdbuf", *[_BUFFER] * count) for count in (3, 2, 1)),
]
_MAX_WRAPPERS = 5


def wrapper_length(words: Words) -> int:
    """The number of words before the command that runs behind plain wrappers such as `timeout 60`."""
    length = 0
    for _ in range(_MAX_WRAPPERS):
        inner = words[length:]
        shapes = (shape for shape in _WRAPPERS if len(inner) > len(shape) and shape[0] == inner[0])
        step = next((len(shape) for shape in shapes if all(map(re.fullmatch, shape, inner))), 0)
        if not step or inner[step].startswith("-"):
            break
        length += step
    return length


# -- warnings -------------------------------------------------------------------------------------------------------

_VALUE = re.compile(r"-.*|\d[\d.]*[smhd]?|\w+=.*", re.DOTALL)


def breadth_warning(words: Sequence[str | None], *, is_open: bool) -> str | None:
    """Why a rule with these words (None: any word) allows much more, or less, than it seems to."""
    if not words or words[0] is None:
        return "This rule allows every program."
    inner = wrapper_length([*(word or "*" for word in words), "program"])
    rows = table().by_program.get(program_name(words[0]), ())
    if is_open and inner in (0, len(words)) and any(row.where == "program" and not row.form for row in rows):
        return f"`{words[0]}` always prompts unless a rule spells out the whole command, so this rule allows nothing."
    kinds = ("interpreters", "open_interpreters") if is_open or None in words else ("interpreters",)
    named = [re.sub(r"(?<=\w)[\d.]+$", "", posixpath.basename(word)) if word else None for word in words[inner:]]
    for length in range(1, len(named) + 1):
        prefix = "+".join(map(str, named[:length]))
        if any(prefix in table().names[kind] for kind in kinds) and _is_left_open(words[inner + length :]):
            shown = " ".join(word or "*" for word in words)
            return f"`{shown}` can run any program or code, so this rule allows everything."
    return None


def _is_left_open(rest: Sequence[str | None]) -> bool:
    """True if what runs is not spelled out: only options and their values stand before the first `*`, or the end."""
    return next((word for word in rest if word is None or not _VALUE.fullmatch(word)), None) is None
