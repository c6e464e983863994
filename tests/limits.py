"""How long a test waits for an event, which only a hang reaches, however busy the machine is; and how much it tries."""

import asyncio
import os
from collections.abc import Callable

LIMIT = 120.0
"""Seconds."""


def examples(number: int) -> int:
    """Return how many examples hypothesis tries: so many in CI, a quarter elsewhere."""
    return number if os.environ.get("CI") else -(-number // 4)


async def until(condition: Callable[[], object]) -> None:
    """Let the other tasks of this loop run until a condition holds."""
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0)


async def settled() -> None:
    """Let the other tasks of this loop run as far as they can without an event from outside."""
    for _ in range(30):
        await asyncio.sleep(0)
