"""Runs the chat in a task of its own on the kernel's loop, from the first prompt or before it until the kernel ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from ..acp.messages import Block
    from ..chat import Chat, TurnOutcome, View

T = TypeVar("T")

CLOSE_LIMIT = 3.5
"""Seconds that ending the agent may take when the kernel ends; the wire needs 3 at most."""
BREAK_LIMIT = 1.2
"""Seconds that a turn which is broken off may take until its cell shows what became of its questions."""


class _Life:
    """A chat that is open in a task of its own, until `close`.

    `fits`: whether it may still be used; None once it is in use.
    """

    def __init__(self, make_chat: Callable[[], Chat], fits: Callable[[], bool] | None = None) -> None:
        self.chat: Chat | None = None
        self.fits = fits
        self._opened, self._leaving = asyncio.Event(), asyncio.Event()
        # An empty context: in this cell's context, the agent's messages would be taken for this cell's for ever.
        self.task = asyncio.get_running_loop().create_task(self._run(make_chat), context=Context())
        self.task.add_done_callback(lambda _: self._opened.set())

    async def opened(self) -> Chat:
        """Raises the error of a chat that broke, CancelledError if it was closed."""
        await self._opened.wait()
        if self.task.done():
            _raise_end_of(self.task)
        assert self.chat is not None
        return self.chat

    async def close(self) -> None:
        """End the agent, within `CLOSE_LIMIT` in any case."""
        self._leaving.set()
        try:
            await asyncio.wait({self.task}, timeout=CLOSE_LIMIT)
        finally:
            self.task.cancel()

    async def _run(self, make_chat: Callable[[], Chat]) -> None:
        async with make_chat() as self.chat:
            self._opened.set()
            await self._leaving.wait()


class ChatRunner:
    """Opens the chat when it is first needed, and again if it broke. All methods belong to the loop's thread."""

    def __init__(self, make_chat: Callable[[], Chat]) -> None:
        self._make_chat = make_chat
        self._life: _Life | None = None
        self._opening = asyncio.Lock()
        self._is_closed = False
        self.chat: Chat | None = None
        """The chat; None before it is first needed."""
        self._asking = 0
        self._doing: set[asyncio.Task[Any]] = set()

    async def ask(self, blocks: Sequence[Block], view: View) -> TurnOutcome:
        """Ask as `Chat.ask` does, in the chat's own task."""

        async def ask(chat: Chat) -> TurnOutcome:
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
        chat = await self.opened()
        assert self._life is not None
        life = self._life
        doing = asyncio.create_task(work(chat))
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)
        try:
            await asyncio.wait({doing, life.task}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                _raise_end_of(life.task)
            return doing.result()
        finally:
            await _broken_off(doing)

    async def opened(self) -> Chat:
        """Return the chat, which is opened if need be, for what needs no waiting; see `do` for the rest."""
        async with self._opening:
            if self._is_closed:
                raise asyncio.CancelledError("the kernel is ending")
            if self._life is not None and self._life.fits and not self._life.fits():
                await self.close_reserve()
            if self._life is None or self._life.task.done():
                self._life = _Life(self._make_chat)
            self._life.fits = None
            self.chat = await self._life.opened()
            return self.chat

    async def idle(self) -> None:
        """Wait until nothing is being done with the chat."""
        while self._doing:
            await asyncio.wait(tuple(self._doing))

    def cancel(self, at: float | None = None) -> bool:
        """Cancel the turn; False if none is at the agent. `at`: see `Chat.cancel`."""
        if self._asking and self.chat is not None:
            self.chat.cancel(at)
        return self._asking > 0

    async def reserve(self, make_chat: Callable[[], Chat], fits: Callable[[], bool]) -> Chat | None:
        """Open the chat before it is needed; `chat` stays None until then. None if there is one already.

        It is closed unused, and another one opened, if `fits` returns false when it is needed.
        """
        if self._life is not None or self._is_closed:
            return None
        self._life = _Life(make_chat, fits)
        return await self._life.opened()

    async def close_reserve(self) -> None:
        """Close the chat that was opened before it was needed, unless it is in use; see `close`."""
        if self._life is not None and self._life.fits:
            life, self._life = self._life, None
            await life.close()

    async def close(self) -> None:
        """Break off what is being done, then end the agent; after that within `CLOSE_LIMIT`, in any case."""
        self._is_closed = True
        await self._end()

    async def reopen(self) -> None:
        """End the agent like `close`; the chat is opened again, another one, when it is next needed."""
        await self._end()
        self.chat = self._life = None

    async def _end(self) -> None:
        await _broken_off(*self._doing)
        if self._life is not None:
            await self._life.close()


async def _broken_off(*tasks: asyncio.Task[Any]) -> None:
    """Cancelled, and at their ends if these come soon."""
    running = [task for task in tasks if task.cancel()]
    if running:
        await asyncio.wait(running, timeout=BREAK_LIMIT)


def _raise_end_of(life: asyncio.Task[None]) -> NoReturn:
    life.result()
    raise asyncio.CancelledError("the kernel is ending")
