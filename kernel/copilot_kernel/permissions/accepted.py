"""Closed lists of options: those of which it is known that they neither start a program nor write elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accepted:
    """`flags` may stand together (`-am`), `valued` letters take the rest of their word, `names` stand as they are.

    Abbreviations of long options are not accepted: what a program takes them for depends on its version. A name with
    its value (`--report=term`) stands for just that.
    """

    flags: frozenset[str]
    valued: frozenset[str]
    names: frozenset[str]
    numbers: bool

    def covers(self, word: str) -> bool:
        """True for what is no option. Also words after `--` are looked at: it may be the value of an option."""
        if word in ("-", "--") or not word.startswith("-") or self.names.intersection((word, word.split("=")[0])):
            return True
        if self.numbers and re.fullmatch(r"-\d+", word):
            return True
        return not word.startswith("--") and self._covers_letters(word[1:])

    def _covers_letters(self, letters: str) -> bool:
        for letter in letters:
            if letter in self.valued:
                return True
            if letter not in self.flags:
                return False
        return True


def accepted(listed: str) -> Accepted:
    """From a list such as `-a -m: --all -name -#`: a flag, a letter with a value, two names, numbers as in `-5`."""
    words = listed.split()
    return Accepted(
        flags=frozenset(word[1] for word in words if len(word) == 2),
        valued=frozenset(word[1] for word in words if len(word) == 3 and word.endswith(":")),
        names=frozenset(word for word in words if len(word) > 2 and not word.endswith(":")),
        numbers="-#" in words,
    )
