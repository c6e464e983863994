"""Whoever came first goes through first, however long each takes to get ready."""

from __future__ import annotations

from typing import Self

import anyio


class GateTicket:
    """One place in the row."""

    def __init__(self, before: anyio.Event) -> None:
        self._before, self.passed = before, anyio.Event()

    async def wait(self) -> None:
        """Until everybody before has gone through; going through twice is going through once."""
        await self._before.wait()
        self.passed.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Whoever leaves holds up nobody any more."""
        self.passed.set()


class OrderedGate:
    """Takes tickets in order."""

    def __init__(self) -> None:
        self._last = anyio.Event()
        self._last.set()

    def ticket(self) -> GateTicket:
        """The next place in the row."""
        ticket = GateTicket(self._last)
        self._last = ticket.passed
        return ticket
