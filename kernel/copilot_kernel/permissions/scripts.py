"""Small languages inside a word: which scripts of sed and awk only print."""

from __future__ import annotations

import re

_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\[^\n])*+/I?)"
_TEXT = r"(?:(?!(?P=mark))[^\\\n]|\\[^\n])*+"
_SUBSTITUTE = rf"s(?P<mark>[/|,:@%#!])(?P<regex>{_TEXT})(?P=mark){_TEXT}(?P=mark)[gpIi0-9]*"
_SED = re.compile(rf"\s*(?:{_ADDRESS}(?:,[+]?{_ADDRESS})?)?\s*!?\s*(?:[pdq=DPhHgGxnNl]|{_SUBSTITUTE})?\s*(?:[;\n]|\Z)")

_AWK = re.compile(r"system|getline|@|(?<!\|)\|(?!\|)")


_LONGEST = 1_000


def sed_hides(script: str) -> str:
    """Printing, deleting, quitting and substituting only; everything else may run commands (e) or write files (w)."""
    at = 0
    if len(script) > _LONGEST:
        return "this script of sed is too long to be looked through"
    while at < len(script):
        command = _SED.match(script, at)
        if not command or not _is_closed(command["regex"] or ""):
            return "this script of sed may run commands or write files"
        at = command.end()
    return ""


def _is_closed(regex: str) -> bool:
    """Versions of sed differ about where a set such as `[/]` ends the expression."""
    return regex.count("[") == regex.count("]")


def awk_hides(program: str) -> str:
    """Awk leaves itself by `system`, pipes, `getline`, `>` after a print, and what @ loads or calls."""
    if _AWK.search(program) or (">" in program and "print" in program):
        return "this program of awk may run commands or write files"
    return ""


def is_display(option: str, value: str = "") -> bool:
    """Whether an option of curl only throws the output away, or prints what was measured.

    The value must stand in the next word: `%output{file}` and `@file` in it would write and read files.
    """
    if option == "--output" or re.fullmatch(r"-[sSfLIikvg46]*o", option):
        return value == "/dev/null"
    if option == "--write-out" or re.fullmatch(r"-[sSfLIikvg46]*w", option):
        return re.fullmatch(r"(?:[^@%-]|%\{\w+\}|%%)(?:[^%]|%\{\w+\}|%%)*", value) is not None
    return False
