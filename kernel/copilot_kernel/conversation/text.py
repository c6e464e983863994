"""A text that grows at its end without being copied.

Two texts may share one list of parts; each knows how many of them are its own. Appending to the newest is O(1), and an
older value still reads as it was.
"""

from __future__ import annotations

from collections.abc import Iterator


class Growing:
    """An immutable-looking text. `parts(start)` reads only what came after the first `start` parts."""

    __slots__ = ("_count", "_length", "_parts")

    def __init__(self, text: str = "") -> None:
        self._parts = [text] if text else []
        self._count = len(self._parts)
        self._length = len(text)

    def append(self, text: str) -> Growing:
        """A text with `text` at its end; this one stays as it is."""
        grown = Growing()
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
        """How many parts there are."""
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
        return isinstance(other, Growing | str) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"Growing({str(self)!r})"
