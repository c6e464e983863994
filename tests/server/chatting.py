"""Readers of conversations, in memory; and what a chat needs of a server, without one."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from copilot_kernel.config import Settings
from copilot_kernel.server.chat.chat_session import ChatLimits, ChatServices, ChatSession
from copilot_kernel.server.chat.chat_session_manager import ChatSessionManager
from copilot_kernel.server.chat.feed import Update, messages
from copilot_kernel.server.chat.media import MediaStore
from copilot_kernel.server.chat.wire import ApproveTool, compose
from copilot_kernel.server.limits import Limits
from copilot_kernel.server.pool import AgentPool

from .api import LIMIT, Json


class Listener:
    """A reader that keeps what it heard, as the JSON that a socket would send."""

    def __init__(self, with_html: bool = False) -> None:
        self.wants_html = with_html
        self.heard: list[Json] = []
        self._more = asyncio.Event()

    def receive(self, update: Update) -> None:
        self.heard += [json.loads(compose(each, self.wants_html)) for each in messages(update, self.wants_html)]
        self._more.set()

    async def until(self, is_it: Callable[[Json], bool]) -> Json:
        """The first message that is it, heard already or not."""
        async with asyncio.timeout(LIMIT):
            while True:
                for message in self.heard:
                    if is_it(message):
                        return message
                self._more.clear()
                await self._more.wait()

    async def done(self, count: int = 1) -> list[Json]:
        """All that was heard up to this many ends of a response."""
        await self.until(lambda message: len(self.of("done")) >= count)
        return self.heard

    async def event(self, name: str) -> Json:
        return await self.until(lambda message: message.get("event") == name)

    async def nth(self, name: str, number: int) -> Json:
        """The event of this name that comes as number `number`, from 1."""
        await self.until(lambda message: len(self.events(name)) >= number)
        return self.events(name)[number - 1]

    def of(self, kind: str) -> list[Json]:
        return [message for message in self.heard if message["type"] == kind]

    def events(self, name: str) -> list[Json]:
        return [message for message in self.heard if message.get("event") == name]

    @property
    def text(self) -> str:
        return "".join(message["content"] for message in self.of("delta"))


class Speaker(Listener):
    """A reader who has begun a conversation, and speaks in it."""

    session: ChatSession

    async def say(self, text: str) -> list[Json]:
        """What is heard of one message, to its end."""
        before, ends = len(self.heard), len(self.of("done"))
        self.session.prompts.send(text)
        await self.done(ends + 1)
        return self.heard[before:]

    async def ask(self, text: str) -> Json:
        """The first question of the agent."""
        self.session.prompts.send(text)
        return await self.event("tool_approval_request")

    def answer(self, call_id: str, response: object, **more: Any) -> None:
        action = ApproveTool(action="approve_tool", call_id=call_id, response=response, **more)
        self.session.broadcaster.approvals.answer(action)


@asynccontextmanager
async def chat_manager(pool: AgentPool, settings: Settings, **limits: Any) -> AsyncIterator[ChatSessionManager]:
    """Conversations with the agent of `pool`."""
    store = MediaStore("/api/media/")
    services = ChatServices(pool, Limits(0, 0, {}, 0), settings, store.save)
    chats = ChatSessionManager(services, ChatLimits(**limits))
    try:
        yield chats
    finally:
        await chats.close()
