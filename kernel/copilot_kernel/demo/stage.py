"""Stage of a scene: one running prompt, with all that it may send to the client and ask."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from ..acp.connection import RpcConnection
from ..errors import AgentRefused
from .demo_session import DemoSession, Json

WORD_SECONDS = 0.012
"""Seconds between two words of a streamed text; the environment variable `COPILOT_DEMO_PACE` overrides it."""
CONTEXT_TOKENS = 32_000

OPTIONS: list[Json] = [
    {"optionId": kind, "kind": kind, "name": name}
    for kind, name in (("allow_once", "Allow once"), ("allow_always", "Always allow"), ("reject_once", "Deny"))
]


class TurnEnded(Exception):
    """The turn is over now, with this stop reason."""

    def __init__(self, stop_reason: str) -> None:
        super().__init__(stop_reason)
        self.stop_reason = stop_reason


class Rejected(TurnEnded):
    """The user said no: the tool call has failed, and the turn ends."""


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def chunk(block: Json, speaker: str = "message") -> Json:
    """The update with a piece of the agent's `message` or `thought`."""
    return {"sessionUpdate": f"agent_{speaker}_chunk", "content": block}


def content(text: str) -> list[Json]:
    """The content of a tool call that is one text."""
    return [{"type": "content", "content": text_block(text)}]


def chosen(answer: Any, offered: Sequence[Json]) -> tuple[str, str]:
    """Id and kind of the option that was chosen; the kind may be `cancelled`, or `invalid` for what was not offered."""
    match answer:
        case {"outcome": {"outcome": "cancelled"}}:
            return "", "cancelled"
        case {"outcome": {"outcome": "selected", "optionId": str(id)}}:
            return id, next((str(option["kind"]) for option in offered if option["optionId"] == id), "invalid")
    return "no option", "invalid"


@dataclass(slots=True)
class Stage:
    """One running prompt. Questions offer `options`; the updates in `afterwards` are sent after the prompt's answer."""

    client: RpcConnection
    session: DemoSession
    blocks: Sequence[Any]
    options: list[Json] = field(default_factory=lambda: OPTIONS)
    afterwards: list[Json] = field(default_factory=list)

    async def send(self, update: Any) -> None:
        """Send any `session/update`, after it was recorded."""
        self.session.record(update=update)
        await self.client.notify("session/update", {"sessionId": self.session.id, "update": update})

    async def say(self, text: str) -> None:
        """Send one piece of the answer."""
        await self.send(chunk(text_block(text)))

    async def think(self, text: str) -> None:
        """Send one piece of a thought."""
        await self.send(chunk(text_block(text), "thought"))

    async def stream(self, text: str) -> None:
        """Send the answer word by word."""
        seconds = float(os.environ.get("COPILOT_DEMO_PACE") or WORD_SECONDS)
        for word in re.findall(r"\s*\S+\s*", text):
            await self.say(word)
            await anyio.sleep(seconds)

    async def plan(self, done: int, *steps: str) -> None:
        """Send a plan of which the first `done` steps are completed and the next is in progress."""
        statuses = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
        entries = [
            {"content": step, "priority": "medium", "status": status}
            for step, status in zip(steps, statuses, strict=False)
        ]
        await self.send({"sessionUpdate": "plan", "entries": entries})

    async def usage(self, used: int) -> None:
        """Send how much of the context is used, in tokens."""
        await self.send({"sessionUpdate": "usage_update", "used": used, "size": CONTEXT_TOKENS})

    async def begin(self, kind: str, title: str, raw_input: Any, **more: Any) -> str:
        """Begin a tool call; `more` are other members of it. Returns its id."""
        id = f"call_{next(self.session.calls)}"
        call = {"toolCallId": id, "title": title, "kind": kind, "status": "pending", "rawInput": raw_input}
        await self.send({"sessionUpdate": "tool_call", **call, **more})
        return id

    async def change(self, id: str, **members: Any) -> None:
        """Send what is new about a tool call."""
        await self.send({"sessionUpdate": "tool_call_update", "toolCallId": id, **members})

    async def ask(self, id: str, subject: tuple[str, str], question: Json, *, withdraws: bool = False) -> str:
        """Ask whether tool call `id` may proceed, unless `subject` is always allowed. Returns the chosen option's id.

        `withdraws`: when this is cancelled, the question is taken back (`$/cancel_request`). Raises Rejected, and
        TurnEnded when the question was answered with `cancelled`.
        """
        if subject in self.session.allowed:
            return "allow_always"
        tool_call = {**question, "toolCallId": id, "status": "pending"}
        params = {"sessionId": self.session.id, "toolCall": tool_call, "options": self.options}
        try:
            answer = await self.client.request("session/request_permission", params, cancel=withdraws)
            option, kind = chosen(answer, self.options)
        except AgentRefused as error:
            option, kind = f"error {error.code}", "invalid"
        if kind == "allow_always":
            self.session.allowed.add(subject)
        elif kind == "cancelled":
            raise TurnEnded("cancelled")
        elif kind != "allow_once":
            output = {"message": f"This was rejected ({option}).", "code": "rejected"}
            await self.change(id, status="failed", rawOutput=output)
            raise Rejected("end_turn")
        return option
