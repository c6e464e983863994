"""Text that can be appended to without copying it.

Values share one list of parts, and each knows how many of them are its own. Appending to the newest is O(1); older
values stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator


class GrowingText:
    """Text that behaves like an immutable value; `parts(start)` yields only what came after the first `start` parts."""

    __slots__ = ("_count", "_length", "_parts")

    def __init__(self, text: str = "") -> None:
        self._parts = [text] if text else []
        self._count = len(self._parts)
        self._length = len(text)

    def append(self, text: str) -> GrowingText:
        """A new value with `text` at its end."""
        grown = GrowingText()
        shared = self._parts if len(self._parts) == self._count else self._parts[: self._count]
        shared.append(text)
        grown._parts, grown._count, grown._length = shared, self._count + 1, self._length + len(text)
        return grown

    def parts(self, start: int = 0) -> Iterator[str]:
        """The parts from number `start` on."""
        for index in range(start, self._count):
            yield self._parts[index]

    @property
    def count(self) -> int:
        """Number of parts."""
        return self._count

    @property
    def last(self) -> str:
        """The newest part; empty if there is none."""
        return self._parts[self._count - 1] if self._count else ""

    def __len__(self) -> int:
        return self._length

    def __str__(self) -> str:
        return "".join(self._parts[: self._count])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GrowingText | str) and str(self) == str(other)

    def __repr__(self) -> str:
        return f"GrowingText({str(self)!r})"
