"""What stands inside `Bash(…)`: words, matched with words, never text with text.

`git *` is git with any words after it, or none; `git:*` is the same. `npm test` is these two words and nothing else. A
`*` between words stands for exactly one. A `*` inside a word is an error: whether `npm test*` means `npm testall` is
anybody's guess. A program given by its path matches only a pattern that gives the same path.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .everything import runs_anything
from .shell import read


@dataclass(frozen=True, slots=True)
class Pattern:
    """`words`: what must stand where, None for any one word. `is_open`: any further words may follow."""

    text: str
    words: tuple[str | None, ...]
    is_open: bool

    @property
    def is_exact(self) -> bool:
        """True if it spells out every word of the command."""
        return not self.is_open and None not in self.words

    def spelled(self, words: Sequence[str], globs: Collection[str] = ()) -> frozenset[int] | None:
        """Which of `words` the pattern spells out, by index; None: it does not match.

        One of `globs` may become several words, so that only an open end covers it.
        """
        if len(words) < len(self.words) or (len(words) > len(self.words) and not self.is_open):
            return None
        pairs = list(zip(self.words, words, strict=False))
        if any(word in globs or wanted not in (None, word) for wanted, word in pairs):
            return None
        return frozenset(index for index, (wanted, _) in enumerate(pairs) if wanted is not None)


def compile_pattern(text: str) -> Pattern:
    """Raises ValueError, in words for the user, if `text` is no pattern for one command."""
    if text.strip() == "*":
        return Pattern(text, (), True)
    line = read(re.sub(r":\*$", " *", text.strip()))
    if line.unclear or line.writes or len(line.parts) != 1:
        raise ValueError(f"Bash({text}): {line.unclear or _not_one(text)}; a rule is the words of one command")
    words = line.parts[0]
    part = next((word for word in words if word in line.globs and word != "*"), None)
    if part or re.search(r"""['"\\]\*['"]?""", text):
        raise ValueError(f"Bash({text}): in a rule, * stands for whole words only; write for example `npm test *`")
    wanted = tuple(None if word in line.globs else word for word in words)
    return Pattern(text, wanted[:-1] if wanted[-1] is None else wanted, wanted[-1] is None)


def warning(pattern: Pattern) -> str:
    """In words, why the pattern allows much more than it seems to; empty: it does not."""
    return runs_anything(pattern.words, pattern.is_open)


def _not_one(text: str) -> str:
    return "it holds several commands or a redirection" if text.strip() else "it is empty"
