"""The user's ■ for one turn: pressed once it cancels, pressed again it ends the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Stop:
    """`scope()` is a stretch of work that a press or the end breaks off at once, even one that came before it began."""

    def __init__(self) -> None:
        self.pressed = self._over = False
        self._once, self._twice = anyio.Event(), anyio.Event()
        self._scopes: set[anyio.CancelScope] = set()

    def press(self) -> None:
        """Break off the open scopes and wake whoever waits for this press."""
        if self.pressed:
            self._twice.set()
        self.pressed = True
        self._once.set()
        self.end()

    def end(self) -> None:
        """The turn is over: break off what still waits in a scope, or will, without a press."""
        self._over = True
        for scope in self._scopes:
            scope.cancel()

    async def wait(self) -> None:
        """Until the first press."""
        await self._once.wait()

    async def wait_again(self) -> None:
        """Until the second press."""
        await self._twice.wait()

    @contextmanager
    def scope(self) -> Iterator[anyio.CancelScope]:
        """Work that ends, without an error, when the stop is pressed."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            if self._over:
                scope.cancel()
            try:
                yield scope
            finally:
                self._scopes.discard(scope)
