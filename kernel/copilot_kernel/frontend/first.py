"""Several ways to one answer: the first that decides wins, the others are cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import anyio

T = TypeVar("T")


async def first(*ways: Awaitable[T], decides: Callable[[T], bool]) -> T:
    """The first answer that decides; the other ways are withdrawn. A way that gives up leaves it to the others."""
    import anyio

    answers: list[T] = []

    async def go(way: Awaitable[T], rivals: anyio.CancelScope) -> None:
        answer = await way
        if not rivals.cancel_called:
            answers.append(answer)
        if decides(answer):
            rivals.cancel()

    async with anyio.create_task_group() as tasks:
        for way in ways:
            tasks.start_soon(go, way, tasks.cancel_scope)
    return answers[-1]
