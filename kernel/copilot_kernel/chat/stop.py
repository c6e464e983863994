"""The user's ■ for one turn: pressed once it cancels, pressed again it ends the agent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

DOUBLE_CLICK = 0.3
"""Seconds after the first press in which another one counts as part of it."""


class Stop:
    """`scope()` is a stretch of work that a press or the end breaks off at once, even one that came before it began."""

    def __init__(self) -> None:
        self.pressed = self._over = False
        self._pressed_at = 0.0
        self._once, self._twice = anyio.Event(), anyio.Event()
        self._scopes: set[anyio.CancelScope] = set()

    def press(self, at: float | None = None) -> None:
        """Break off the open scopes and wake whoever waits for this press.

        `at` is when the user pressed (`time.monotonic()`, by default now): a busy event loop may hear of it later.
        """
        at = time.monotonic() if at is None else at
        if not self.pressed:
            self.pressed, self._pressed_at = True, at
            self._once.set()
            self.end()
        elif at - self._pressed_at > DOUBLE_CLICK:
            self._twice.set()

    def end(self) -> None:
        """The turn is over: break off what still waits in a scope, or will, without a press."""
        self._over = True
        for scope in self._scopes:
            scope.cancel()

    async def wait(self) -> None:
        """Until the first press."""
        await self._once.wait()

    async def wait_again(self) -> None:
        """Until a second press that is no double click."""
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
