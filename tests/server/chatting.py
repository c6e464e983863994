"""Readers of conversations, in memory; and what a chat needs of a server, without one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from copilot_kernel.chat import Chat
from copilot_kernel.config import Settings
from copilot_kernel.frontend.chat_runner import ChatRunner
from copilot_kernel.frontend.context import CommandContext
from copilot_kernel.server.media import MediaStore
from copilot_kernel.server.talk import ChatSession, Host, Limits
from copilot_kernel.server.talks import ChatSessionManager
from copilot_kernel.server.wire import ApproveTool, Message, compose

LIMIT = 20.0
Told = dict[str, Any]


class Listener:
    """A reader that keeps what it heard, as the JSON that a socket would send."""

    def __init__(self, pictures: bool = False) -> None:
        self.pictures = pictures
        self.heard: list[Told] = []
        self._more = asyncio.Event()

    def hear(self, message: Message) -> None:
        self.heard.append(json.loads(compose(message, self.pictures)))
        self._more.set()

    async def until(self, is_it: Callable[[Told], bool]) -> Told:
        """The first message that is it, heard already or not."""
        async with asyncio.timeout(LIMIT):
            while True:
                for told in self.heard:
                    if is_it(told):
                        return told
                self._more.clear()
                await self._more.wait()

    async def done(self, count: int = 1) -> list[Told]:
        """All that was heard up to this many ends of a response."""
        await self.until(lambda told: len(self.of("done")) >= count)
        return self.heard

    async def event(self, name: str) -> Told:
        return await self.until(lambda told: told.get("event") == name)

    async def nth(self, name: str, number: int) -> Told:
        """The event of this name that comes as number `number`, from 1."""
        await self.until(lambda told: len(self.events(name)) >= number)
        return self.events(name)[number - 1]

    def of(self, kind: str) -> list[Told]:
        return [told for told in self.heard if told["type"] == kind]

    def events(self, name: str) -> list[Told]:
        return [told for told in self.heard if told.get("event") == name]

    @property
    def text(self) -> str:
        return "".join(told["content"] for told in self.of("delta"))


@asynccontextmanager
async def talking(settings: Settings, **limits: Any) -> AsyncIterator[ChatSessionManager]:
    """Conversations, each with an agent of its own."""

    async def make_desk() -> CommandContext:
        return CommandContext(ChatRunner(lambda: Chat(settings)), lambda: settings)

    async def leave(home: ChatRunner) -> None:
        await home.close(5)

    shelf = MediaStore("/api/media/")
    talks = ChatSessionManager(Host(make_desk, Chat.ready, leave, shelf.keep), Limits(**limits))
    try:
        yield talks
    finally:
        await talks.close()
        shelf.close()


async def said(talk: ChatSession, listener: Listener, text: str) -> list[Told]:
    """What is heard of one message, to its end."""
    before, ends = len(listener.heard), len(listener.of("done"))
    talk.send(text)
    await listener.done(ends + 1)
    return listener.heard[before:]


def answered(talk: ChatSession, call_id: str, response: object, option_id: str | None = None, reason: str = "") -> None:
    more = {"response": response, "option_id": option_id, "reason": reason}
    talk.voice.answer(ApproveTool(action="approve_tool", call_id=call_id, **more))
