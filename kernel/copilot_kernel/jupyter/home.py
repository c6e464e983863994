"""Where the chat lives: in a task of its own on the kernel's loop, from the first prompt until the kernel ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from ..acp.messages import Block
    from ..chat import Chat, Turn, View
    from ..conversation.model import Conversation


class Home:
    """Opens the chat when it is first needed, and again if it broke. All methods belong to the loop's thread."""

    def __init__(self, make_chat: Callable[[], Chat]) -> None:
        self._make_chat = make_chat
        self._life: asyncio.Task[None] | None = None
        self._leaving = asyncio.Event()
        self._chat: Chat | None = None
        self._asking = False

    @property
    def conversation(self) -> Conversation | None:
        """What was said so far; None before the first prompt."""
        return self._chat.conversation if self._chat else None

    async def ask(self, blocks: Sequence[Block], view: View) -> Turn:
        """See `Chat.ask`. If the chat breaks (a bug of ours) while we wait, its error is raised here."""
        life = await self._open()
        assert self._chat is not None
        turn = asyncio.create_task(self._chat.ask(blocks, view))
        self._asking = True
        try:
            await asyncio.wait({turn, life}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._asking = False
            turn.cancel()  # nothing, if it is done
        if not turn.done():
            _raise_end_of(life)
        return turn.result()

    def cancel(self) -> bool:
        """Cancel the turn; False if none is at the agent."""
        if self._asking and self._chat is not None:
            self._chat.cancel()
        return self._asking

    async def close(self, limit: float) -> None:
        """End the agent; within `limit` seconds, in any case."""
        self._leaving.set()
        if self._life is not None and not self._life.done():
            await asyncio.wait({self._life}, timeout=limit)
            self._life.cancel()

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
        async with self._make_chat() as self._chat:
            opened.set()
            await self._leaving.wait()


def _raise_end_of(life: asyncio.Task[None]) -> NoReturn:
    life.result()
    raise asyncio.CancelledError("the kernel is ending")
