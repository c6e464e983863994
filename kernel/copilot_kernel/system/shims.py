"""Batch files on Windows: what npm's start, and what cannot be passed to any other. Pure.

Windows runs them with `cmd.exe`, which takes the arguments apart once more: a quote in one of them can begin another
command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SUFFIXES = (".cmd", ".bat")
UNSAFE_ARGUMENT = "a batch file cannot be given the argument {!r}: cmd.exe would run a part of it"
_UNSAFE = frozenset('"%!^&|<>\r\n\0')
# The last line of what npm writes: `"%_prog%"  "%dp0%\node_modules\…\index.js" %*`, or older forms of it.
_SCRIPT = re.compile(r'"%(?:~dp0|dp0%)\\([^"%<>|&^!\r\n]+\.[cm]?js)"\s+%\*', re.IGNORECASE)


def is_batch_file(program: str) -> bool:
    return program.lower().endswith(SUFFIXES)


def script_of(shim: str) -> str | None:
    """The script that a `.cmd` of npm's runs with Node, relative to the folder of the `.cmd`; None for any other."""
    found = {match[1] for match in _SCRIPT.finditer(shim)}
    return found.pop() if len(found) == 1 else None


def check_arguments(arguments: Iterable[str]) -> None:
    """Raises ValueError if `cmd.exe` would not pass them on as they are."""
    if unsafe := next((each for each in arguments if not _UNSAFE.isdisjoint(each)), None):
        raise ValueError(UNSAFE_ARGUMENT.format(unsafe[:100]))
