"""Runs the chat in a task of its own on the kernel's loop, from the first prompt until the kernel ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..errors import CopilotError

if TYPE_CHECKING:
    from ..acp.messages import Block
    from ..chat import Chat, Turn, View

T = TypeVar("T")

CLOSE_LIMIT = 3.5
"""Seconds that ending the agent may take when the kernel ends; the wire needs 3 at most."""
BREAK_LIMIT = 1.2
"""Seconds that a turn which is broken off may take until its cell shows what became of its questions."""


class ChatRunner:
    """Opens the chat when it is first needed, and again if it broke. All methods belong to the loop's thread."""

    def __init__(self, make_chat: Callable[[], Chat]) -> None:
        self._make_chat = make_chat
        self._life: asyncio.Task[None] | None = None
        self._leaving = asyncio.Event()
        self.chat: Chat | None = None
        """None before it is first needed."""
        self._asking = 0
        self._doing: set[asyncio.Task[Any]] = set()

    async def ask(self, blocks: Sequence[Block], view: View) -> Turn:
        """See `Chat.ask` and `do`."""

        async def ask(chat: Chat) -> Turn:
            self._asking += 1
            try:
                return await chat.ask(blocks, view)
            finally:
                self._asking -= 1

        return await self.do(ask)

    async def do(self, work: Callable[[Chat], Coroutine[Any, Any, T]]) -> T:
        """Do something with the chat. If that breaks (a bug of ours) while we wait, its error is raised here.

        Cancelled, it breaks off the work, and waits a moment for its end.
        """
        life = await self._open()
        assert self.chat is not None
        doing = asyncio.create_task(work(self.chat))
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)
        try:
            await asyncio.wait({doing, life}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                _raise_end_of(life)
            return doing.result()
        except CopilotError as error:
            from .gateway import explain

            explain(error, os.environ)
            raise
        finally:
            await _broken_off(doing)

    async def idle(self) -> None:
        """Wait until nothing is being done with the chat."""
        while self._doing:
            await asyncio.wait(tuple(self._doing))

    def cancel(self, at: float | None = None) -> bool:
        """Cancel the turn; False if none is at the agent. `at`: see `Chat.cancel`."""
        if self._asking and self.chat is not None:
            self.chat.cancel(at)
        return self._asking > 0

    async def close(self, limit: float) -> None:
        """Break off what is being done, then end the agent; after that within `limit` seconds, in any case."""
        await _broken_off(*self._doing)
        self._leaving.set()
        if self._life is not None and not self._life.done():
            await asyncio.wait({self._life}, timeout=limit)
            self._life.cancel()

    async def reopen(self, limit: float) -> None:
        """End the agent like `close`; the chat is opened again, another one, when it is next needed."""
        await self.close(limit)
        self.chat, self._leaving = None, asyncio.Event()

    async def _open(self) -> asyncio.Task[None]:
        if self._life is None or self._life.done():
            opened = asyncio.Event()
            # An empty context: in this cell's context, the agent's messages would be taken for this cell's for ever.
            self._life = asyncio.get_running_loop().create_task(self._live(opened), context=Context())
            self._life.add_done_callback(lambda life: opened.set())
            await opened.wait()
        if self._life.done():
            _raise_end_of(self._life)
        return self._life

    async def _live(self, opened: asyncio.Event) -> None:
        async with self._make_chat() as self.chat:
            opened.set()
            await self._leaving.wait()


async def _broken_off(*tasks: asyncio.Task[Any]) -> None:
    """Cancelled, and at their ends if these come soon."""
    running = [task for task in tasks if task.cancel()]
    if running:
        await asyncio.wait(running, timeout=BREAK_LIMIT)


def _raise_end_of(life: asyncio.Task[None]) -> NoReturn:
    life.result()
    raise asyncio.CancelledError("the kernel is ending")
