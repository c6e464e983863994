"""The cells of this kernel's life, for front ends that ask for history; nothing is kept on disk."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

Line = tuple[int, int, str]
"""Session (always 0, "the current one"), execution count, input."""


def select(
    lines: Iterable[Line],
    access: str,
    *,
    n: int | None = None,
    pattern: str | None = None,
    unique: bool = False,
    start: int | None = None,
    stop: int | None = None,
) -> list[Line]:
    """Return the entries that a `history_request` asks for (Jupyter messaging, "History"), oldest first.

    `access` is `range` (execution counts from `start` to before `stop`), `tail` or `search`.
    """
    if access == "range":
        return [line for line in lines if (start or 0) <= line[1] and (stop is None or line[1] < stop)]
    found = [line for line in lines if access != "search" or fnmatchcase(line[2], pattern or "*")]
    if unique:
        newest = {line[2]: line for line in found}
        found = sorted(newest.values())
    return found if n is None else found[max(0, len(found) - n) :]
