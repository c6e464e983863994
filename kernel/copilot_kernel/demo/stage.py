"""One running prompt of the demo agent: what it may say, and whom it may ask."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

import anyio

from ..acp.connection import Connection
from ..acp.transport import Transport
from ..errors import AgentExited, AgentRefused
from . import protocol
from .dialects import Dialect
from .options import Menu
from .protocol import Json
from .session import Session

PACE = 0.012
"""Seconds between two words of a streamed text."""


class TurnEnded(Exception):
    """The turn is over now, with this stop reason."""

    def __init__(self, stop_reason: str) -> None:
        super().__init__(stop_reason)
        self.stop_reason = stop_reason


class Rejected(TurnEnded):
    """The person said no: the tool call has failed, and the turn ends."""

    def __init__(self) -> None:
        super().__init__("end_turn")


@dataclass(slots=True)
class Stage:
    """What a directive or a scene acts on. Next questions offer `options`; `late` is sent after the end.

    `client` are the client's capabilities; `said` are the texts of the answer, where the dialect repeats them.
    """

    connection: Connection
    transport: Transport
    session: Session
    blocks: Sequence[Any]
    menu: Menu
    client: Json
    dialect: Dialect
    said: list[str] = field(default_factory=list)
    options: list[Json] = field(default_factory=lambda: protocol.USUAL_OPTIONS)
    late: list[Json] = field(default_factory=list)

    async def send(self, update: Any) -> None:
        """Any `session/update`; it is remembered first."""
        self.session.journal.write(update=update)
        if self._is_kept_back(update) or (spoken := self.dialect.update(update)) is None:
            return
        await self.connection.notify("session/update", {"sessionId": self.session.id, "update": spoken})

    def _is_kept_back(self, update: Any) -> bool:
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(text)}} if self.dialect.repeats:
                self.said.append(text)
                return not self.dialect.streams
        return False

    async def send_quietly(self, update: Any) -> None:
        """The same, though nobody may be listening any more."""
        with suppress(AgentExited):
            await self.send(update)

    async def say(self, text: str) -> None:
        """One piece of the answer."""
        await self.send(protocol.chunk(protocol.text_block(text)))

    async def think(self, text: str) -> None:
        """One piece of a thought."""
        await self.send(protocol.chunk(protocol.text_block(text), "thought"))

    async def stream(self, text: str) -> None:
        """The answer, word by word."""
        for word in re.findall(r"\s*\S+\s*", text):
            await self.say(word)
            await anyio.sleep(PACE)

    async def begin(self, kind: str, title: str, raw_input: Any, **more: Any) -> str:
        """A new tool call; `more` are other members of it. Returns its id."""
        id = f"call_{next(self.session.calls)}"
        call = {"toolCallId": id, "title": title, "kind": kind, "status": "pending", "rawInput": raw_input}
        await self.send({"sessionUpdate": "tool_call", **call, **more})
        return id

    async def change(self, id: str, **members: Any) -> None:
        """What is new about a tool call."""
        await self.send({"sessionUpdate": "tool_call_update", "toolCallId": id, **members})

    async def ask(self, id: str, subject: tuple[str, str], question: Json, *, withdraws: bool = False) -> str:
        """Ask whether tool call `id` may go on, unless `subject` was always allowed. Returns the chosen option's id.

        `withdraws`: when this is cancelled, the question is taken back (`$/cancel_request`). Raises Rejected, and
        TurnEnded when the question was answered with `cancelled`.
        """
        if subject in self.session.allowed:
            return "allow_always"
        option, kind = await self._answer({**question, "toolCallId": id, "status": "pending"}, withdraws)
        if kind == "allow_always":
            self.session.allowed.add(subject)
        elif kind == "cancelled":
            raise TurnEnded("cancelled")
        elif kind != "allow_once":
            await self._reject(id, option)
        return option

    async def _answer(self, tool_call: Json, withdraws: bool) -> tuple[str, str]:
        params = {"sessionId": self.session.id, "toolCall": tool_call, "options": self.options}
        try:
            answer = await self._put(params, withdraws)
        except AgentRefused as error:
            return f"error {error.code}", "invalid"
        if self.dialect.tells:
            await self.say(f"I was answered {json.dumps(answer)}.\n")
        return protocol.chosen(self.dialect.answered(answer), self.options)

    async def _put(self, params: Json, withdraws: bool) -> Any:
        question = self.dialect.question(params)
        return await self.connection.request("session/request_permission", question, cancel=withdraws)

    async def _reject(self, id: str, option: str) -> NoReturn:
        output = {"message": f"This was rejected ({option}).", "code": "rejected"}
        await self.change(id, status="failed", rawOutput=output)
        raise Rejected


Directive = Callable[[Stage, str], Awaitable[None]]
"""What a line of a script does; the text is the line without the directive's name."""


def die(how: int | signal.Signals) -> NoReturn:
    """End this process, after a line on stderr: by a signal, or with an exit code."""
    name = how.name if isinstance(how, signal.Signals) else f"exit code {how}"
    sys.stderr.write(f"demo agent: ending now, as I was asked to ({name})\n")
    sys.stderr.flush()
    if isinstance(how, signal.Signals):
        os.kill(os.getpid(), how)
    os._exit(how)
