"""Lines of a text, and text that can be appended to without copying it.

Values share the parts that were appended, and each knows how many characters are its own. Appending to the newest is
O(1); older values stay as they were. Parts in large numbers are joined: each would take 50 bytes besides its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

MAX_PARTS = 1024
"""Limit of the parts that are not joined yet."""


class GrowingText:
    """Text that behaves like an immutable value; `parts(start)` yields only what came after `start` characters."""

    __slots__ = ("_length", "_shared", "last")

    def __init__(self, text: str = "") -> None:
        self._shared = _Parts(text)
        self._length = len(text)
        self.last = text
        """The part that was appended last."""

    def append(self, text: str) -> GrowingText:
        """A new value with `text` at its end."""
        grown = GrowingText.__new__(GrowingText)
        shared = self._shared if self._shared.length == self._length else _Parts(str(self))
        shared.append(text)
        grown._shared, grown._length, grown.last = shared, self._length + len(text), text
        return grown

    def parts(self, start: int = 0) -> Iterator[str]:
        """Return the parts after the first `start` characters."""
        at, texts = self._shared.after(min(start, self._length))
        for text in texts:
            if part := text[max(start - at, 0) : self._length - at]:
                yield part
            at += len(text)
            if at >= self._length:
                return

    def __len__(self) -> int:
        return self._length

    def __str__(self) -> str:
        return "".join(self.parts())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GrowingText | str) and str(self) == str(other)

    def __repr__(self) -> str:
        return f"GrowingText({str(self)!r})"


class _Parts:
    """All that was appended to one text."""

    __slots__ = ("_joined", "_texts", "length")

    def __init__(self, text: str) -> None:
        self._texts = [text] if text else []
        # So many texts at the start hold `MAX_PARTS` each.
        self._joined = 0
        self.length = len(text)

    def append(self, text: str) -> None:
        self._texts.append(text)
        self.length += len(text)
        if len(self._texts) - self._joined > MAX_PARTS:
            self._texts[self._joined :] = ["".join(self._texts[self._joined :])]
            self._joined += 1

    def after(self, start: int) -> tuple[int, list[str]]:
        """The texts from the one with character `start` on, and the number of characters before them."""
        index, at = len(self._texts), self.length
        while index and at > start:
            index -= 1
            at -= len(self._texts[index])
        return at, self._texts[index:]


def split_lines(text: str) -> list[str]:
    """Lines with their ends, split at line feeds only (`str.splitlines` knows other ends)."""
    return StringIO(text, newline="\n").readlines()
