"""A chat with an agent that is scripted in the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from copilot_kernel.acp.locate import Launch
from copilot_kernel.chat import Chat

from ..acp.scripted import Script, listening
from .conftest import Open


@asynccontextmanager
async def met(opened: Open, more: dict[str, Any] | None = None, **answers: Any) -> AsyncIterator[tuple[Script, Chat]]:
    async with listening(**answers) as (script, launch), opened(agent=address(launch), **more or {}) as chat:
        yield script, chat


def address(launch: Launch) -> str:
    assert launch.address is not None
    return "tcp://{}:{}".format(*launch.address)
