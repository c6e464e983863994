"""What hides in a text that a person decides about, counted and named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .plain import visible

_MOST = 6
"""Kinds that are named; the text itself marks every one."""


def hidden_characters(texts: Iterable[str]) -> Counter[str]:
    """How often each hidden character, by its name, and each long gap of empty lines is in `texts`."""
    return Counter(name for text in texts for _, name in visible(text) if name)


def warning(texts: Iterable[str]) -> str:
    """One sentence about what hides in `texts`; nothing if nothing does."""
    found = hidden_characters(texts)
    if not found:
        return ""
    names = [f"{name} (×{count})" if count > 1 else name for name, count in found.most_common(_MOST)]
    more = [f"{len(found) - _MOST} other kinds"] if len(found) > _MOST else []
    return f"Hidden characters, each shown as a code in ⟨⟩: {', '.join(names + more)}."
