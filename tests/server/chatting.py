"""Readers of conversations, in memory; and what a chat needs of a server, without one."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from copilot_kernel.config import Settings
from copilot_kernel.server.catalogue import ModelCatalogue
from copilot_kernel.server.chat.media import MediaStore
from copilot_kernel.server.chat.session import ChatLimits, ChatServices, ChatSession
from copilot_kernel.server.chat.sessions import ChatSessionManager
from copilot_kernel.server.chat.wire import ApproveTool, Message, compose
from copilot_kernel.server.limits import Activity, Limits
from copilot_kernel.server.pool import AgentPool

from .api import LIMIT, Json


class Listener:
    """A reader that keeps what it heard, as the JSON that a socket would send."""

    def __init__(self, with_html: bool = False) -> None:
        self.wants_html = with_html
        self.heard: list[Json] = []
        self._more = asyncio.Event()

    def receive(self, message: Message) -> None:
        self.heard.append(json.loads(compose(message, self.wants_html)))
        self._more.set()

    async def until(self, is_it: Callable[[Json], bool]) -> Json:
        """The first message that is it, heard already or not."""
        async with asyncio.timeout(LIMIT):
            while True:
                for told in self.heard:
                    if is_it(told):
                        return told
                self._more.clear()
                await self._more.wait()

    async def done(self, count: int = 1) -> list[Json]:
        """All that was heard up to this many ends of a response."""
        await self.until(lambda told: len(self.of("done")) >= count)
        return self.heard

    async def event(self, name: str) -> Json:
        return await self.until(lambda told: told.get("event") == name)

    async def nth(self, name: str, number: int) -> Json:
        """The event of this name that comes as number `number`, from 1."""
        await self.until(lambda told: len(self.events(name)) >= number)
        return self.events(name)[number - 1]

    def of(self, kind: str) -> list[Json]:
        return [told for told in self.heard if told["type"] == kind]

    def events(self, name: str) -> list[Json]:
        return [told for told in self.heard if told.get("event") == name]

    @property
    def text(self) -> str:
        return "".join(told["content"] for told in self.of("delta"))


@asynccontextmanager
async def chat_manager(settings: Settings, **limits: Any) -> AsyncIterator[ChatSessionManager]:
    """Conversations, with one agent."""

    store, pool = MediaStore("/api/media/"), AgentPool(settings, 1, ModelCatalogue())
    services = ChatServices(pool, Limits(0, 0, Activity({}, 0)), settings, store.save)
    chats = ChatSessionManager(services, ChatLimits(**limits))
    try:
        yield chats
    finally:
        await chats.close()
        await pool.close()
        store.close()


@asynccontextmanager
async def conversation(settings: Settings, **limits: Any) -> AsyncIterator[tuple[ChatSession, Listener]]:
    """A new one, and who has begun it."""
    async with chat_manager(settings, **limits) as chats:
        listener = Listener()
        yield await chats.new(listener), listener


async def said(session: ChatSession, listener: Listener, text: str) -> list[Json]:
    """What is heard of one message, to its end."""
    before, ends = len(listener.heard), len(listener.of("done"))
    session.send(text)
    await listener.done(ends + 1)
    return listener.heard[before:]


def answered(
    session: ChatSession,
    call_id: str,
    response: object,
    option_id: str | None = None,
    reason: str = "",
    rule: str = "",
) -> None:
    more = {"response": response, "option_id": option_id, "reason": reason, "rule": rule}
    session.broadcaster.approvals.answer(ApproveTool(action="approve_tool", call_id=call_id, **more))
