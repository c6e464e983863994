"""What a command line could hide from its reader: length, controls, invisible and reordering characters."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 10_000
"""Characters. Nobody reads a longer command to its end."""

_NO_INK = re.compile(
    "[\u034f"  # combining grapheme joiner
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\u17b4\u17b5"  # Khmer inherent vowels
    "\u180b-\u180f\ufe00-\ufe0f"  # variation selectors
    "\u2800"  # Braille blank
    "\U0001d159"  # null notehead
    "\U000e0000-\U000e0fff]"  # tags, more variation selectors
)
"""Drawn as nothing, although the category of some does not say so."""


def unseen(text: str) -> str:
    """In words, what a reader of `text` would not see; empty: nothing. At once for what is too long, else linear."""
    if len(text) > LONGEST:
        return f"the command is longer than {LONGEST:,} characters"
    found = _NO_INK.search(text)
    hidden = found[0] if found else _unprintable(text)
    return f"the command holds a character that cannot be seen ({_name(hidden)})" if hidden else ""


def _unprintable(text: str) -> str:
    """The first control, format (bidi, zero width, tag), surrogate, private or unassigned character, or blank at which
    bash does not split. These are the categories that Python does not call printable."""
    plain = text.replace("\n", " ").replace("\t", " ")
    return "" if plain.isprintable() else next(char for char in plain if not char.isprintable())


def _name(char: str) -> str:
    return f"U+{ord(char):04X}, {unicodedata.name(char, 'a control character').lower()}"
