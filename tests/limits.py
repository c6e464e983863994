"""How long a test waits for an event. Only a hang reaches it, however busy the machine is."""

import asyncio
from collections.abc import Callable

LIMIT = 120.0
"""Seconds."""


async def until(condition: Callable[[], object]) -> None:
    """Let the other tasks of this loop run until a condition holds."""
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0)


async def settled() -> None:
    """Let the other tasks of this loop run as far as they can without an event from outside."""
    for _ in range(30):
        await asyncio.sleep(0)
