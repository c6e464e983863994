"""Small languages inside a word: which scripts of sed and awk only print."""

from __future__ import annotations

import re


def _regex(ends: str) -> str:
    """A regular expression up to what `ends` stands for, that every sed ends at the same place.

    Some look for the end inside of a set (`[/]`) too, and some do not: so a set is one piece, in which neither the end
    nor a bracket stands, and no other `[` is taken. `\\c` may take the next character, whatever it is.
    """
    plain = rf"(?!{ends})[^\\\n\[\]]"
    inner = rf"(?:\[(?!{ends}):\w+:\]|\\?{plain})"
    return rf"(?:{plain}|\]|\\[^c\n]|\[\^?+\]?+{inner}*+\])*+"


_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/(?!/){_regex('/')}/I?)"
_TEXT = r"(?:(?!(?P=mark))[^\\\n]|\\[^c\n])*+"
_SUBSTITUTE = rf"s(?P<mark>[/|,:@%#!]){_regex('(?P=mark)')}(?P=mark){_TEXT}(?P=mark)[gpIi0-9]*"
_SED = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,[+]?{_ADDRESS})?)?\s*!?\s*(?:[pdq=DPhHgGxnNl]|{_SUBSTITUTE})?\s*(?:[;\n]|\Z)", re.ASCII
)

_AWK = re.compile(r"\b(?:\d\w*)?system\b|system\s*\(|getline|@|ARGV|ARGC|ENVIRON|SYMTAB|FUNCTAB|PROCINFO", re.ASCII)
"""What begins with a digit is a number, behind which a name may follow without a blank."""
_AWK_OUTPUT = re.compile(r">|(?<!\|)\|(?!\|)|\|{3}")

_AWK_REGEX = re.compile(r"(?:^|(?<=[~!(,;{&|\n]))\s*/(?:\\.|[^/\\\n\[])*/")
_PIPE = re.compile(r"(?<!\|)\|(?!\|)")

_JQ = re.compile(r"\b(?:import|include|input_filename|get_search_list)\b|(?<!(?<!\.)\.)\benv\b|\$\s*(?:ENV\b|__prog)")

_LONGEST = 1_000


def sed_hides(script: str) -> str:
    """Printing, deleting, quitting and substituting only; everything else may run commands (e) or write files (w)."""
    at = 0
    if len(script) > _LONGEST:
        return "this script of sed is too long to be looked through"
    while at < len(script):
        command = _SED.match(script, at)
        if not command:
            return "this script of sed may run commands or write files"
        at = command.end()
    return ""


def awk_hides(program: str) -> str:
    """Awk leaves itself by `system`, `getline`, what @ loads or calls, and by `>` and `|` behind a print.

    Its tables of arguments and of the environment lead to other files and to secrets. A `|` outside of a regular
    expression is for nothing else, whatever may stand behind it.
    """
    is_output = _AWK_OUTPUT.search(program.partition("print")[2]) or _PIPE.search(_AWK_REGEX.sub("", program))
    if is_output or _AWK.search(program):
        return "this program of awk may run commands, or read or write other files"
    return ""


def jq_hides(program: str) -> str:
    """Jq reads modules, which may be any JSON file, and the environment; a key of that name behind a dot is another."""
    return "this program of jq may show other files or the environment" if _JQ.search(program) else ""


def is_display(option: str, value: str = "") -> bool:
    """Whether an option of curl only throws the output away, or prints what was measured.

    The value must stand in the next word: `%output{file}` and `@file` in it would write and read files.
    """
    if option == "--output" or re.fullmatch(r"-[sSfLIikvg46]*o", option):
        return value == "/dev/null"
    if option == "--write-out" or re.fullmatch(r"-[sSfLIikvg46]*w", option):
        return re.fullmatch(r"(?:[^@%-]|%\{\w+\}|%%)(?:[^%]|%\{\w+\}|%%)*", value) is not None
    return False
