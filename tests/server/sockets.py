"""Clients of the chat's WebSocket, on a server that runs in the same loop."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection

from ..limits import LIMIT

Json = dict[str, Any]


class Client:
    """One connection; `heard` is all that came."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.heard = socket, list[Json]()

    async def act(self, action: str, **more: Any) -> None:
        await self.socket.send(json.dumps({"action": action, **more}))

    async def raw(self, text: str | bytes) -> None:
        await self.socket.send(text)

    async def next(self) -> Json:
        async with asyncio.timeout(LIMIT):
            message: Json = json.loads(await self.socket.recv())
        self.heard.append(message)
        return message

    async def until(self, is_it: Callable[[Json], bool]) -> Json:
        """Read on to the first that is it."""
        while not is_it(message := await self.next()):
            pass
        return message

    async def kind(self, kind: str) -> Json:
        return await self.until(lambda message: message["type"] == kind)

    async def event(self, name: str) -> Json:
        return await self.until(lambda message: message.get("event") == name)

    async def begin(self) -> str:
        """A new session's id."""
        await self.act("new_session")
        return str((await self.kind("session_created"))["session_id"])

    async def say(self, text: str) -> list[Json]:
        """What came of it, to its end."""
        before = len(self.heard)
        await self.act("send", text=text)
        await self.kind("done")
        return self.heard[before:]


def text_of(messages: list[Json]) -> str:
    """What the agent said."""
    return "".join(each["content"] for each in messages if each["type"] == "delta")
