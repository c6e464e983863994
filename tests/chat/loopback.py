"""A chat with an agent that is scripted in the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from copilot_kernel.acp.locate import Launch
from copilot_kernel.chat import Chat

from ..acp.scripted import OPTIONS, Script, listening
from .conftest import Open


@asynccontextmanager
async def met(opened: Open, more: dict[str, Any] | None = None, **answers: Any) -> AsyncIterator[tuple[Script, Chat]]:
    async with listening(**answers) as (script, launch), opened(agent=address(launch), **more or {}) as chat:
        yield script, chat


def address(launch: Launch) -> str:
    assert launch.address is not None
    return "tcp://{}:{}".format(*launch.address)


def playing(*steps: Any, stop_reason: str = "end_turn") -> Any:
    """A turn: a string is said, an update is sent, what has options is asked; `script.answers["given"]` the answers."""

    async def prompt(script: Script, params: Any) -> Any:
        for step in steps:
            if isinstance(step, str):
                await script.say(step)
            elif "options" in step:
                script.answers.setdefault("given", []).append(await script.ask(**step))
            else:
                await script.update(step)
        return {"stopReason": stop_reason}

    return prompt


def asking(**call: Any) -> dict[str, Any]:
    """A permission request about a tool call, for `playing`."""
    return {"sessionId": "s1", "toolCall": call, "options": OPTIONS}
