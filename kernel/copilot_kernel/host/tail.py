"""The last bytes of a command's output, always whole characters."""

from __future__ import annotations

import codecs


class Tail:
    """Keeps at most `limit` bytes of text; what is no UTF-8 counts as it is shown."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.truncated = False
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def text(self) -> str:
        return self._kept.decode()

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Take a piece, cut anywhere; returns the text that it completed. `final` gives up what is incomplete."""
        text = self._decoder.decode(data, final)
        self._kept += text.encode()
        if len(self._kept) > self.limit:
            self._cut()
        return text

    def _cut(self) -> None:
        self.truncated = True
        start = len(self._kept) - self.limit
        while start < len(self._kept) and self._kept[start] & 0xC0 == 0x80:
            start += 1
        del self._kept[:start]
