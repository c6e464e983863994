"""The messages that subscribers of one conversation send: one runs at a time, the others wait for it in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from ...errors import UsageError
from .wire import SocketMessage, done, event, notice

MAX_WAITING = 20
"""Messages behind the one that runs."""


class PromptQueue:
    """`respond` runs one message; its result ends the response. `cancel` cancels the turn, False if there is none."""

    def __init__(
        self,
        respond: Callable[[str], Awaitable[SocketMessage]],
        cancel: Callable[[], bool],
        publish: Callable[[SocketMessage], None],
    ) -> None:
        self._respond, self._cancel, self._publish = respond, cancel, publish
        # None takes the place of a message that was dropped: it gets its `done`, in its turn.
        self._waiting: deque[str | None] = deque()
        self._work: asyncio.Task[None] | None = None
        self.is_stopped = False
        """The message that runs was stopped before it had reached the agent."""

    @property
    def is_running(self) -> bool:
        """A message runs, or waits."""
        return self._work is not None and not self._work.done()

    def send(self, text: str) -> None:
        """Queue a prompt or a command. Raises UsageError when too many wait."""
        if not text.strip():
            raise UsageError("The prompt is empty.", "Write a prompt, or /help.")
        if self._count >= MAX_WAITING:
            raise UsageError(f"{MAX_WAITING} messages are already waiting.", "Wait for the turn to end, or stop it.")
        self._waiting.append(text)
        if self.is_running:
            self._publish(event("queued", waiting=self._count))
        else:
            self._work = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Cancel the turn that runs, and drop what waits."""
        if self._count:
            self._publish(notice("warning", f"Not sent because the turn was stopped: {self._count} waiting"))
            self._waiting = deque([None] * len(self._waiting))
        if not self._cancel():
            self.is_stopped = True
            asyncio.get_running_loop().call_soon(self._stop_again)

    def close(self) -> None:
        """Break off what runs."""
        if self._work is not None:
            self._work.cancel()

    def _stop_again(self) -> None:
        """Cancel a prompt that was on its way to the agent."""
        if self.is_stopped and self._cancel():
            self.is_stopped = False

    @property
    def _count(self) -> int:
        return sum(text is not None for text in self._waiting)

    async def _run(self) -> None:
        if not self._count:  # it was stopped before it could begin
            self._publish(event("running", running=False))
        while self._waiting:
            text = self._waiting.popleft()
            if text is None:
                self._publish(done("cancelled"))
                continue
            self.is_stopped = False
            self._publish(event("running", running=True))
            await self._handle(text)

    async def _handle(self, text: str) -> None:
        end = done("error")
        try:
            end = await self._respond(text)
        finally:
            if not self._count:
                self._publish(event("running", running=False))
            self._publish(end)
