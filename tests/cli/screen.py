"""A terminal in memory, and its clock."""

from __future__ import annotations

import io


class Screen(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, *, tty: bool = True) -> None:
        super().__init__()
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


class Clock:
    """Time that passes only when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now
