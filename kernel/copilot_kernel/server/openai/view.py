"""View of one turn as pieces of text for a client over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from ...chat import Unattended
from ...conversation.model import Entry, Message

NO_ONE = "no one can answer over HTTP"
PARAGRAPH = "\n\n"


class TextView(Unattended):
    """A view of one turn: the agent's text goes to `pieces`, its questions are rejected.

    `on_text` is called once, with the first text.
    """

    def __init__(self, on_text: Callable[[], None] = lambda: None) -> None:
        super().__init__(NO_ONE)
        self._on_text: Callable[[], None] | None = on_text
        self._read: dict[int, int] = {}
        self._waiting: list[str] = []
        self._changed = asyncio.Event()
        self._ended = False

    def show(self, entry: Entry) -> None:
        """Take what is new of the agent's messages."""
        if not isinstance(entry, Message) or entry.speaker != "agent" or self._ended:
            return
        if entry.id not in self._read and self._read:
            self._waiting.append(PARAGRAPH)
        text = list(entry.text.parts(self._read.get(entry.id, 0)))
        self._waiting += text
        self._read[entry.id] = len(entry.text)
        self._changed.set()
        if self._on_text is not None and any(text):
            self._on_text()
            self._on_text = None

    # -- for the client -----------------------------------------------------------------------------------------------

    def end(self) -> None:
        """End the stream."""
        self._ended = True
        self._changed.set()

    async def pieces(self, timeout: float) -> AsyncIterator[str]:
        """Yield what came since the last piece; an empty string after `timeout` seconds of silence."""
        while True:
            await self.wait(timeout)
            text, self._waiting = "".join(self._waiting), []
            if self._ended and not text:
                return
            yield text

    async def wait(self, timeout: float) -> None:
        """Wait until there is text, or the end, or `timeout` seconds have passed."""
        if not self._waiting and not self._ended:
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), timeout)
