"""The cells of this kernel's life, for front ends that ask for history; nothing is kept on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice

Line = tuple[int, int, str]
"""Session (always 0, "the current one"), execution count, input."""


class History:
    """Answers `history_request` (Jupyter messaging, "History")."""

    def __init__(self) -> None:
        self._lines: list[Line] = []

    def add(self, number: int, code: str) -> None:
        """Remember one cell."""
        self._lines.append((0, number, code))

    def select(
        self,
        access: str,
        *,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
        start: int | None = None,
        stop: int | None = None,
    ) -> list[Line]:
        """The lines that `range` (execution counts from `start` to before `stop`), `tail` or `search` ask for."""
        if access == "range":
            return [line for line in self._lines if (start or 0) <= line[1] and (stop is None or line[1] < stop)]
        newest_first: Iterable[Line] = reversed(self._lines)
        if access == "search":
            newest_first = (line for line in newest_first if fnmatchcase(line[2], pattern or "*"))
        return list(islice(_once(newest_first) if unique else newest_first, n))[::-1]


def _once(lines: Iterable[Line]) -> Iterator[Line]:
    seen: set[str] = set()
    for line in lines:
        if line[2] not in seen:
            seen.add(line[2])
            yield line
