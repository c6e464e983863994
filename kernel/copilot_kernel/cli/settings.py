"""Which of the words after `serve` are ours, and which are settings for the server. Pure.

By hand: only who knows the names of all settings could tell a setting's value from an action, and nobody does before
Jupyter Server is loaded, which takes seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

ACTIONS = ("start", "stop", "status")
_OURS = ("-h", "--help", "--json", "--port")
_NUMBER = re.compile(r"-\d*\.?\d+")


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Ours, and the settings; a value that stands after a blank, as Jupyter takes it too, is joined to its name."""
    ours: list[str] = []
    settings: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or _name(word) in _OURS:
            ours.append(word)
            ours += [rest.pop(0)] if word == "--port" and rest else []
        else:
            settings.append(f"{word}={rest.pop(0)}" if rest and _takes(word, rest[0]) else word)
    return ours, settings


def names(settings: Iterable[str]) -> str:
    """Without their values, which may be secret."""
    return ", ".join(map(_name, settings))


def _takes(setting: str, word: str) -> bool:
    """`word` is the value of `setting`. An action may stand behind a switch (`--debug`), which has no dot."""
    is_value = not word.startswith("-") or _NUMBER.fullmatch(word) is not None
    return "=" not in setting and is_value and ("." in setting or word not in ACTIONS)


def _name(word: str) -> str:
    return word.partition("=")[0]
