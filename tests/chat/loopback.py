"""A chat with an agent that is scripted in the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskStatus
from copilot_kernel.acp.locate import Launch
from copilot_kernel.agentd.client import local_agent
from copilot_kernel.agentd.hub import Hub
from copilot_kernel.chat import Chat
from copilot_kernel.chat.agent_start import Connect, run_agent
from copilot_kernel.config import Settings

from ..acp.scripted import OPTIONS, Script, listening
from .conftest import Open


@asynccontextmanager
async def met(opened: Open, more: dict[str, Any] | None = None, **answers: Any) -> AsyncIterator[tuple[Script, Chat]]:
    async with listening(**answers) as (script, launch), opened(agent=address(launch), **more or {}) as chat:
        yield script, chat


@asynccontextmanager
async def connecting(settings: Settings) -> AsyncIterator[Connect]:
    """What several chats are made with to share this agent."""

    async def run(*, task_status: TaskStatus[Hub]) -> None:
        await run_agent(settings, 900, task_status.started)

    async with anyio.create_task_group() as tasks:
        hub = await tasks.start(run)
        yield lambda settings, *_: local_agent(hub, settings)
        hub.end("the test is over")


def address(launch: Launch) -> str:
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
