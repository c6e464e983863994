"""What went over the wire last, for whoever wants to see it."""

from __future__ import annotations

from collections import deque


class WireLog:
    """The last lines of the wire as `(direction, line)`, oldest first; `"<"` came, `">"` went."""

    def __init__(self, max_lines: int = 1_000, max_bytes: int = 4 * 1024 * 1024) -> None:
        self.lines: deque[tuple[str, bytes]] = deque()
        self.count = 0
        """Lines that were ever added."""
        self._max_lines, self._max_bytes, self._size = max_lines, max_bytes, 0

    def add(self, direction: str, line: bytes) -> None:
        line = line if len(line) <= self._max_bytes else line[: self._max_bytes]
        self.lines.append((direction, line))
        self.count += 1
        self._size += len(line)
        while len(self.lines) > self._max_lines or self._size > self._max_bytes:
            self._size -= len(self.lines.popleft()[1])

    def since(self, count: int) -> list[tuple[str, bytes]]:
        """The lines that were added after the first `count`, as far as they are kept."""
        missing = self.count - len(self.lines)
        return list(self.lines)[max(0, count - missing) :]
